# The pages of runs in the console.
console-runs = Runs
console-run = Run
console-runs-engine = { $engine }
console-runs-engine-away = The program that runs this is not here. Nothing is lost: when it is back, everything goes on by itself.
console-runs-status = { $status ->
    [running] running
    [waiting] waiting
    [paused] paused
    [done] done
    [failed] failed
    [cancelled] cancelled
   *[other] { $status }
  }
console-runs-state = { $state ->
    [done] done
    [running] running
    [waiting] waiting
    [failed] failed
    [skipped] skipped
   *[other] { $state }
  }
console-runs-kind = { $kind ->
    [say] Message
    [model] Question to the model
    [effect] Action
    [input] Question to a person
    [turn] Turn of the assistant
    [timer] Wait for a time
    [run] Run inside
   *[other] Work of the program
  }
console-runs-origin = { $origin ->
    [definition] the author of the definition
    [person] words of a person
    [label] names in the CRM
    [prose] texts in the CRM, which anybody may have written
    [model] an answer of the model
    [document] documents of the company
    [web] the web
    [database] a foreign database
   *[other] the program itself
  }
console-runs-role = { $role ->
    [system] Instructions
    [user] Question
    [assistant] Answer of the model
    [tool] Answer of a tool
   *[other] { $role }
  }
console-runs-mode-of = { $mode ->
    [full] usual
    [shadow] without actions
    [confirm] all by cards
    [readonly] read only
   *[other] { $mode }
  }
console-runs-streaming = { $status ->
    [Streaming] text is coming
    [Complete] text is complete
    [Error] text broke off
   *[other] { $status }
  }
console-runs-record = { $kind ->
    [deal] Deal
    [lead] Lead
    [contact] Contact
    [company] Company
    [activity] Activity
    [task] Task
   *[other] { $kind }
  } # { $number }
console-runs-filters = Filter of runs
console-runs-any-engine = Everything
console-runs-any-status = Any status
console-runs-what = What runs
console-runs-state-title = Status
console-runs-mine = Only mine
console-runs-none = There are no such runs.
console-runs-pages = Pages of the list
console-runs-first = ← To the first
console-runs-next = Next →
console-runs-start = Start
console-runs-start-title = New run
console-runs-start-what = What to start
console-runs-start-choose = Choose what to start.
console-runs-start-text = Text for the scenario, if it needs one
console-runs-start-asks = The run asks for its values itself, in the chat and here.
console-runs-start-record = { $kind ->
    [deal] Number of the deal
    [lead] Number of the lead
    [contact] Number of the contact
    [company] Number of the company
    [activity] Number of the activity
    [task] Number of the task
   *[other] Number of the record
  }
console-runs-default = If it is left empty: { $value }
console-runs-lines = One a line.
console-runs-json = A JSON object, such as {"{"}"a": 1{"}"}
console-runs-optional = optional
console-runs-field = { $problem ->
    [missing] Fill in this field
    [type] This value does not fit
    [choice] Choose from the list
   *[other] Does not fit
  }
console-runs-version = { $engine } “{ $key }”, version { $number }
console-runs-by = started by { $name }
console-runs-started = begun { $at }
console-runs-updated = changed { $at }
console-runs-cost = Cost
console-runs-no-price = no price in the policy
console-runs-tokens-title = Tokens
console-runs-thinking = Model took
console-runs-nodes-done = Nodes done
console-runs-mode = Mode
console-runs-open-parent = Open the run that waits for this one
console-runs-pause = Pause
console-runs-resume = Resume
console-runs-retry = Retry
console-runs-cancel = Cancel
console-runs-retry-here = Retry from here
console-runs-pause-ask = Pause the run? What was sent already is completed.
console-runs-resume-ask = Resume the run where it stopped?
console-runs-retry-ask = Retry from the node that failed? Nothing that is done is done again.
console-runs-cancel-ask = Cancel the run? Its cards and questions are closed, and it cannot go on.
console-runs-done = Done.
console-runs-stored = Stored, and done soon.
console-runs-answered = The answer is taken.
console-runs-not-yours = Only its owner, leads and administrators may do this.
console-runs-went-on = The run was retried since and has stopped again: look why, and decide once more.
console-runs-left = { $made ->
    [0] The changes were not made
   *[other] Changes made: { $made }, not made: { $left }
}
console-runs-failed = The run has stopped because of an error.
console-runs-failed-step = The step “{ $step }” failed.
console-runs-late = Too late: the run is in another status by now.
console-runs-question-closed = The question was answered already, or is not needed any more.
console-runs-not-your-question = The question is for somebody else.
console-runs-is-paused = The run is paused. To answer, resume it first.
console-runs-answer-unfit = This answer does not fit: choose a button, or write a text of at most 4000 characters.
console-runs-no-definition = This cannot be started any more: no version is published.
console-runs-not-allowed = You may not start this.
console-runs-not-from-here = Its author does not let people start this.
console-runs-definition-off = This is switched off now.
console-runs-definition-damaged = Its text is damaged: publish it anew.
console-runs-refused = It did not work: { $why }
console-runs-waits = Waits for
console-runs-waits-card = Waits for the decision about a card.
console-runs-open-card = Open the card
console-runs-waits-timer = Goes on at { $at }.
console-runs-waits-other = Waits for the end of another run.
console-runs-open-other = Open that run
console-runs-waits-answer = Waits for an answer.
console-runs-waits-of = Waits for the answer of: { $names }
console-runs-waits-until = Waits for the answer until { $at }.
console-runs-answer = Your answer
console-runs-send = Answer
console-runs-answer-telegram = Send files, photos and contacts in the Telegram chat.
console-runs-graph = How it goes
console-runs-steps = Steps
console-runs-whole = The run as a whole
console-runs-nodes = The step in detail
console-runs-choose-step = Choose a step in the picture or in the list.
console-runs-no-nodes = This step has done nothing yet, or leaves no trace.
console-runs-no-words = The words of this run are for its owner and administrators.
console-runs-left-out = { $count } earlier ones are not shown here.
console-runs-use = { $tokens ->
    [one] { $tokens } token
   *[other] { $tokens } tokens
  }{ $spent ->
    [none] {""}
   *[other] {", "}{ $spent }
  }
console-runs-attempt = attempt { $number }
console-runs-taint = Where the values come from
console-runs-error = Error
console-runs-used = Used
console-runs-tokens = { $read } tokens read, { $written } written
console-runs-prompt = What the model was given, messages: { $count }
console-runs-no-inputs = With what this node was begun cannot be found out.
console-runs-call = What was proposed
console-runs-answer-of = Answer of the model
console-runs-output = Result
console-runs-load = Load the large value
console-runs-shown = Shows
console-runs-incomplete = shown incompletely
console-runs-request = request { $id }
console-runs-draft = The model writes
console-runs-failure = Last error
console-runs-result = Result
console-runs-data = All data of the result
console-runs-way = { $way ->
    [else] else
    [if] if
    [default] otherwise
    [refused] refused
    [invalid] unfit answer
    [timeout] no answer
    [onFailure] after a failure
    [onFailure-fail] after a failure, then it fails
   *[other] { $way }
  }
console-runs-only = Only “{ $key }”
console-editor-never-run = This was never run, or its runs are not yours to see.
console-editor-last-run = Last run: { $at }, version { $number }
console-editor-not-reached = The last run did not reach this step.
console-editor-run = Last run
