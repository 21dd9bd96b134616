# The search of the audit in the console, and the page that tells why a call was made.
console-audit = Audit
console-why = Why it is so
console-audit-person = Person
console-audit-record = Record: a title, a number or a link
console-audit-method = Action: “change deal” or a code
console-audit-how = How it ended
console-audit-from = From the day
console-audit-to = To the day
console-audit-find = Search
console-audit-reset = Reset
console-audit-save = Save what is shown:
console-audit-more = Show more
console-audit-none = Nothing was found.
console-audit-none-yet = Nothing was found so far, but only a part of the journal was looked through.
console-audit-problem = { $about ->
    [record] It is not clear which record this is. Write a part of its title, the number of a deal, a kind with a number (“contact 43”), or paste a link to the card in Bitrix24.
   *[method] There is no action with these words. Write “change deal”, for example, or a code such as crm.deal.update.
  }
console-audit-titled = Calls about records that were called “{ $words }” then, or alike
console-audit-actions = Actions that fit: { $named }{ $count ->
    [0] {""}
   *[other] {" "}and { $count } more
  }
console-audit-outcome = { $outcome ->
    [waiting] waits for a decision
    [requested] waits for a decision
    [approved] approved
    [denied] denied
    [expired] nobody decided
    [superseded] outdated
    [started] running
    [succeeded] done
    [refused] not done
    [unknown] outcome unknown
   *[other] only planned
  }
console-audit-decision = { $decision ->
    [approved] Approved
    [denied] Denied
    [expired] Nobody decided in time
   *[superseded] The card was closed, it does not fit any more
  }
console-audit-column = { $column ->
    [at] Time (UTC)
    [person] Asked by
    [what] What
    [method] Method
    [records] Records
    [changes] Changes
    [outcome] Outcome
    [decision] Decision
    [decided_by] Decided by
    [via] How
    [run] Run
   *[id] Number of the call
  }
console-audit-damaged = The journal is not as it was written: { $count ->
    [one] { $count } fault
   *[other] { $count } faults
  } (checked { $checked }). For the administrator: freeze writing and run sdelka journal verify.
console-audit-health = { $state ->
    [whole] The journal was checked at { $checked } and is whole: { $records ->
        [one] { $records } record
       *[other] { $records } records
      }.
    [cannot] The journal cannot be checked from here.
   *[running] The journal is being checked…
  }
console-why-record = all calls about this record
console-why-erased = A part of the data was erased on the person's wish.
console-why-unreadable = Some records of the journal cannot be read: an administrator should run sdelka journal verify.
console-why-part = { $part ->
    [asked] Who asked
    [proposed] What the model proposed
    [judged] What the rules decided
    [decided] Who approved
    [sent] What was sent
    [answered] What came back
    [doubt] The outcome was unknown
   *[later] What happened to these fields later
  }
console-why-column = { $column ->
    [field] Field
    [before] Before
   *[after] After
  }
console-why-nobody = The journal does not say who asked.
console-why-run = Run “{ $name }”
console-why-private = Only the person and administrators see the words of the conversation.
console-why-foreign = The message contained text of somebody else, too: forwarded or pasted.
console-why-talk = The whole conversation
console-why-verdict = { $decision ->
    [refused] Refused, nothing was sent
    [asked] Ask a person
    [allowed] Allowed without a question
    [withdrawn] The model withdrew it
   *[planned] Only recorded: nothing is sent in this mode
  }
console-why-waits = The card waits for a decision.
console-why-attempt = { $time }, { $name }: did not count
console-why-waited = Waited { $waited }
console-why-superseded = Not carried out after the approval: { $reason }
console-why-not-sent = Nothing was sent.
console-why-read = A read: nothing was changed in Bitrix24.
console-why-command = { $status ->
    [success] done
    [error] error
    [not_run] not run
   *[unknown] outcome unknown
  }
console-why-nothing-later = Nobody has changed these fields since.
console-why-undo = takes this call back
console-why-id = Number of the call: { $number }
