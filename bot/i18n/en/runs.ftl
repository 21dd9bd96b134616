# Runs: what is under way, what it waits for, how it ended. In the words of a sales manager.
menu-run = What can be started
menu-flow = Start a flow of agents
menu-runs = Which runs are under way
menu-cancel = Cancel a run
run-option = { $label }
run-leave = ✖ Cancel
run-retry = ↻ Try again
run-resume = ▶ Continue
run-retry-one = ↻ Try “{ $definition }” again{ $id ->
    [none] {""}
   *[other] {" "}· { $id }
}
run-cancel-one = ✖ Cancel “{ $definition }”{ $id ->
    [none] {""}
   *[other] {" "}· { $id }
}
runs-go-on = { $count ->
    [one] The run that you started here goes on.
   *[other] The runs that you started here go on.
} See them with /runs, cancel with /cancel.
runs-listed = { $count ->
    [0] No run is under way.
   *[other] Runs:
}
run-line = • “{ $definition }”{ $id ->
    [none] {""}
   *[other] {" "}· { $id }
} — { $what }. Started { $on }
run-does-work = at work
run-does-pause = paused
run-does-fail = not completed
run-waits-effect = waits for a decision on its card
run-waits-input = waits for an answer
run-waits-input-until = waits for an answer until { $at }
run-waits-timer = goes on { $on }
run-waits-run = waits for another run
run-ended = { $status ->
    [cancelled] The run “{ $definition }” is cancelled.
   *[failed] ⚠️ The run “{ $definition }” was not completed.
}
run-changes-left = ⚠️ { $made ->
    [0] The changes were not made
   *[other] Changes made: { $made }, not made: { $left }
}{ $why ->
    [denied] : denied.
    [expired] : nobody decided in time.
   *[other] .
}
run-ended-outside = Sorry, this could not be completed. Begin again, or write to us directly.
run-not-for-customers = The step answers from all that the company knows, so it is not carried out for customers.
run-was-cancelled = { $who } cancelled it. What was done before stays, and the cards that waited are withdrawn.
run-not-begun = The record of the start was not found. Start it again; if that does not help, tell the administrator.
run-owner-gone = The person who started this has no access any more, so nothing further is done.
run-engine-gone = This is not run here any more. If it is still needed, tell the administrator.
run-engine-away = { $definition ->
    [none] This cannot go on now: the program that runs it was taken out.
   *[other] The run “{ $definition }” waits: the program that runs it was taken out.
} Nothing is lost: once it is back, everything goes on by itself.
run-definition-gone = There is no “{ $definition }” here: it may have been renamed or deleted.
run-definition-off = “{ $definition }” is switched off, so it cannot be started now. Ask a head of sales or the administrator.
run-definition-unpublished = “{ $definition }” is not published yet. Ask the person who makes it.
run-definition-changed = Version { $version } of “{ $definition }” is not the one that is used any more, so nothing was started. Please start it again.
run-definition-damaged = What is stored of “{ $definition }” is damaged, so it stops here and nothing more is sent. Please start it again; if that does not help, tell the administrator.
run-not-allowed = You may not start “{ $definition }”. Ask your head of sales.
run-not-allowed-now = The person who started “{ $definition }” may not run it any more, so it stops here. Please ask a lead.
run-version-gone = The bot was updated and cannot go on with this run. Nothing further was sent; start it anew.
run-too-long = It has more than { $most } steps, which is too many. Tell the person who made it.
run-too-deep = Runs start one another more than { $most } times in a row, which looks like a circle. Tell the person who made this.
run-large-value = The step “{ $node }” gave too much data. Tell the person who made this.
run-bad-value = The step “{ $node }” gave something that cannot be stored. Tell the person who made this.
run-stuck = The run waits for nothing and does not go on. Tell the person who made this.
run-value-gone = It used the words of a person whose data was erased. Without them it would take another way, so nothing more is done.
run-value-lost = What step “{ $node }” gave is lost or damaged, and the run cannot go on without it. Please start it again and tell the administrator.
run-turn-asked = I could not tell which record is meant: “{ $text }”. Name it more exactly and start it again.
run-step-refused = The step “{ $step }” was declined or is not allowed.
run-step-failed = The run inside was not completed, step “{ $step }”.
run-step-unknown = It is not clear what to do at the step “{ $step }”. Tell the person who made this.
run-paused = The run is paused: it takes the answer when it is continued
run-is-paused = ⏸ The run “{ $definition }” is paused.
run-restored = ⏸ The bot was restored from a backup made { $at }. The run “{ $definition }” may have gone on since then, so it is paused. Please look in Bitrix24 what was done already, then resume or cancel it.
run-not-yours = The person who started this run controls it, or a head of sales
run-order-late = { $status ->
    [done] The run is already done
    [failed] The run has already stopped
    [cancelled] The run is already cancelled
    [paused] The run is paused
    [waiting] The run is under way and waits
   *[running] The run is already under way
}
run-offers = What shall be started?
run-offers-none = There is nothing to start yet: nothing is published.
scenario-offer = ▶ Start “{ $title }”
run-offer-unknown = There is no such thing here.
run-offer-line = • { $title }{ $summary ->
    [none] {""}
   *[other] {" "}— { $summary }
}
run-offer = ▶ { $title }
run-cancel-which = Which run shall be cancelled?
run-cancel-none = { $wanted ->
    [none] There is nothing to cancel: none of your runs is under way here.
   *[other] You have no run “{ $wanted }”. /runs shows what is under way.
}
run-question-late = ⌛ There was no answer, the run went on.
run-question-left = ✖ No answer is needed any more.
run-went-back = ← Back to the question before.
run-no-way-back = There is no way back: no question came before this one, or something was done since. Answer this one, or type “cancel” to leave.
run-doubt = Is this the answer to the question, or a new request?
    “{ $text }”
run-doubt-answer = It is the answer
run-doubt-request = A new request
run-question-below = ↓ The question is asked again below.
run-how-to-leave = To leave, press “✖ Cancel” or type “cancel”.
run-answer-photo = ✓ Photo received
run-answer-document = ✓ File received: { $name }
run-answer-contact = ✓ Contact received: { $name }
run-file-too-large = The file is larger than { $limit } MB, which is more than I can take. Send a smaller one; the run waits.
run-file-unread = Telegram did not give the file. Send it again; the run waits.
run-sent-file = 📎 { $name }
run-file-size = The file “{ $name }” is empty or larger than { $most } MB and cannot be sent. Tell whoever made this.
run-file-gone = The file that is needed here is gone. Start it anew and send the file again.
run-started = Starting “{ $definition }”, the number of the run is { $run }.
run-passed = Passed on.
run-chosen = Your answer went to “{ $taken }”, which asked last. “{ $waiting }” waits for an answer, too{ $count ->
    [one] {""}
   *[other] {" "}– { $count } runs in all
}.
run-album = One file of the album was taken, the others are not needed. If it was the wrong one, send the right one by itself when you are asked.
run-buttons-elsewhere = This button works in the chat where the run is under way
run-plan-more = …and { $count ->
    [one] { $count } more action
   *[other] { $count } more actions
 } of the same run.
run-reminder = ⏰ The run “{ $definition }” has waited for you for more than a day:
run-reminder-cards = The cards are under /pending.
definition-published = 📄 { $door ->
    [cli] The account { $who } in a terminal
    [http] The program { $who }
   *[other] { $who }
} published version { NUMBER($version, useGrouping: 0) } of the { $kind_of } “{ $definition }”. New starts follow it, those under way go on as they began.{ $given ->
    [yes] {" "}What has changed: { $note }
   *[no] {""}
}
# A kind of definitions behind "of the".
kind-of = scenario
run-left-out = Not written: { gate-field }. There is no value for it.
run-left-out-more = Further fields that were not written: { $count }.
run-call-left-out = The step “{ $step }” was not done: there is no value for what it writes.
