card-batch = { $count ->
    [one] { $count } change
   *[other] { $count } changes
  }
card-read-key = {" "}(command { $key })
card-more = … and { $count } more
# A card that has no room for everything.
card-cut = ✂️ Not everything is shown: press “Details” and read the rest. The button to approve appears here after that.
card-cut-opened = ✂️ The rest is in the messages above.
card-group-before = { $value } ({ $count })
card-group-rest = { $kinds } other { $kinds ->
    [one] value
   *[other] values
  } ({ $count })
details-why = Why I ask
details-asked = Asked by { $who }
card-asked-by = Asked by { $who } · answer by { $until }, then the card closes
# In the list of open cards.
pending-asked-by = Asked by { $who } · answer by { $until }
card-waits-for-lead = Waiting for the lead ({ $who }) until { $until }, then the card closes
card-risk = { $level ->
    [high] 🔴 Dangerous.
    [mid] 🟠 Careful.
   *[low] 🟡
  }
card-mode = { $mode ->
    [shadow] Shadow mode: nothing is sent to Bitrix24
   *[canary] Careful mode: new records are made with your consent, existing ones are not changed
  }
card-sum = In total { $sum }
card-took = {" "}in { $seconds } s
card-number = { $entity ->
    [deal] Deal
    [lead] Lead
    [contact] Contact
    [company] Company
    [task] Task
    [activity] Activity
    [todo] To-do
    [meeting] Meeting
    [phonecall] Call
    [plannedcall] Call
    [event] Event
    [item] Item
    [invoice] Invoice
    [quote] Quote
    [comment] Comment
   *[other] Record
  } #{ $number }
card-undo-until = Can be taken back until { $until }
card-undo-ask-until = Only a lead can take it back, until { $until }
card-failed-one = ⚠️ { $what }: { $text }
card-moved = ↓ This card is below now
card-file = What will change
card-file-caption = The full list: what it was and what it will be
card-file-record = Record
card-file-number = #
card-file-action = Action
card-file-field = Field
card-file-before = Before
card-file-after = After
cards-again = I was away for a while, and presses may have been lost. { $count ->
    [one] The card that waits for a decision is below: if you have pressed already, please press again.
   *[other] The cards that wait for a decision are below: if you have pressed already, please press again.
  }
edit-which = What is to be changed?
edit-new-value = New value: { $field }
edit-now = On the card now: { $value }
edit-how = { $kind ->
    [money] Reply to this message, for example: 150,000. Changed your mind? Reply “leave it”.
    [number] Reply to this message with a number. Changed your mind? Reply “leave it”.
    [date] Reply to this message, for example: Friday or 30 November. Changed your mind? Reply “leave it”.
    [datetime] Reply to this message, for example: tomorrow at 15:00. Changed your mind? Reply “leave it”.
    [user] Reply to this message with the name of an employee. Changed your mind? Reply “leave it”.
    [flag] Reply to this message: yes or no. Changed your mind? Reply “leave it”.
    [choice] Reply to this message with the name of the value. Changed your mind? Reply “leave it”.
   *[other] Reply to this message. Changed your mind? Reply “leave it”.
  }
edit-how-options = Press the right one, or reply to this message in words.
edit-how-again = Reply to this message once more, or press “Leave as it is”.
edit-placeholder = New value: { $field }
edit-field = ✏ Changing: { $field }. Reply to the message below
edit-done = ✏ Changed: { $field }. The new card is below
edit-cancelled = Nothing was changed, the card still waits for a decision
edit-over = This question is closed. Press “Change” on the card again
edit-same = The card has this value already
edit-empty = The answer is empty
edit-choose = There is no such value. There are: { $known }
edit-yes-or-no = I did not understand: yes or no?
edit-other-currency = The amount on the card is in { currency-has }, and you named it in { currency-named }. Write it in { currency-has }. To change the currency too, deny the card and write a new request: “change the currency to { currency-to } and the amount to { $sum }”
edit-not-read-now = Bitrix24 does not answer now, so the value could not be checked. Reply again a little later
edit-not-here = There is no value here that one answer could change. Deny the card and write what you want
edit-not-yours = Only { $who } may change this
toast-which-field = Choose what to change
toast-new-value = Waiting for the new value: { $field }
toast-new-card = Done, the new card is below
toast-asked-again = Asked again: the new card is below
card-running = ⏳ Running · approved by { $who }
card-executed = ✅ Done { $on }{ $took } · approved by { $who }
card-begun = ▶ Begun { $on } · approved by { $who }. How far it is and how it ends is in the message below
card-denied-by = ✖ Denied { $on } · { $who }
card-withdrawn = ✖ Withdrawn { $on } · { $who }
card-denied-why = Reason:
card-expired-at = ⌛ Expired { $on }, nothing was done
card-superseded-by = ↻ Replaced: things changed while it waited. The new card is below
card-superseded-why = ↻ Replaced. { $why }. The new card is below
card-superseded-edited = ↻ Replaced: you changed a value. The new card is below
card-refused = ⚠️ Not done. { $text }
card-undo-refused = ⚠️ Not undone. { $text }
card-undo-not-done = ⚠️ Not undone: checked in Bitrix24
card-not-done = ⚠️ Not done: I checked { in-service }
card-elsewhere = ↪ { $who } decides now, nothing is needed of you
card-unknown = ❓ Outcome unknown: the answer of { of-service } was lost. { $service ->
    [site] Only the site itself shows whether it arrived
    [telegram] Look into the chat whether it arrived
   *[portal] Press “Check”
  }, I will not repeat it myself
card-sure = This cannot be undone. Run it for sure?
card-sure-twice = Run it for sure? Please check once more what is written above.
card-partly = ⚠️ Not everything was done: { $failed } of { $count } failed ({ $at }, approved by { $who })
card-partly-known = { $unknown ->
    [0] ⚠️ Checked: { $done } of { $count } done, { $failed } not done
   *[other] ❓ What became of a part of the batch is unknown ({ $unknown } of { $count }): { $done } done{ $failed ->
        [0] {""}
       *[other] , { $failed } not done
      }. Check the records with ❓: I do not repeat them by myself
  }
card-decided = { $on } · decided by { $who }
card-unchanged = ⚠️ Bitrix24 said yes but did not change: { $fields }
changed-otherwise = ⚠️ Bitrix24 set another value at once, now: { $values }{ $left ->
    [yes] {". "}{ $rest }
   *[other] {""}
  }
not-changed = ⚠️ Bitrix24 said yes but did not change: { gate-field }{ $more ->
    [0] {""}
   *[other] {" "}and { $more } more
  }
button-approve = ✅ Run
button-approve-danger = ⚠️ Yes, run
button-sure = ⚠️ Sure, run
button-deny = ✖ Deny
button-details = Details
button-check = 🔍 Check
button-add-to = ➕ Add to what is there
button-edit = ✏ Change
button-withdraw = ✖ Withdraw
button-repeat = ↻ Repeat
button-ask-again = ↻ Ask again
button-copy = 📋 #{ $number }
button-leave = Leave as it is
toast-running = Got it, checking…
toast-denied = Denied
card-outdated = This card is out of date: see /pending
card-in-topic = The topic of this card is closed: here it can only be carried out or declined. Open the topic and send /pending there
# A press that came too late: the card is already decided. The card itself says card-expired-at and its neighbours.
card-already-approved = Already approved: { $who }, { $at }
card-already-executed = Already done: { $who }, { $at }
card-already-denied = Already denied: { $who }, { $at }
card-already-expired = Expired { $on }. Ask again
card-already-superseded = A new card took its place
card-already-refused = Already decided: { $by ->
    [portal] Bitrix24 refused { $on }
   *[other] not done { $on }, the reason is on the card
  }
card-already-unknown = Already sent { $on }, outcome unknown
card-expired = Expired { $on }. Ask again
card-open-first = Press “Details” first: the card does not show everything
card-second-tap = A second confirmation is needed: check the card and press “Sure, run”
card-denied = Denied: { $who }
may-not-approve = You may not approve changes
not-your-card = { $who } decides
plan-not-yours = Steps with records that are not yours wait in this plan too. Only somebody who sees them all can decide it
changed-meanwhile = The record was changed meanwhile: please check the new values
changed-values = While the card waited: { $changes }
changed-field = { $field ->
    [OPPORTUNITY] the amount changed
    [CURRENCY_ID] the currency changed
    [PRICE] the price changed
    [TAX_VALUE] the tax changed
    [ASSIGNED_BY_ID] the responsible person changed
    [RESPONSIBLE_ID] the assignee changed
    [CREATED_BY] the creator changed
    [STAGE_ID] the stage changed
    [STATUS_ID] the stage changed
    [STATUS] the status changed
    [CATEGORY_ID] the funnel changed
    [DEADLINE] the deadline changed
    [CLOSEDATE] the close date changed
    [BEGINDATE] the start date changed
    [COMPANY_ID] the company changed
    [CONTACT_ID] the contact changed
    [CONTACT_IDS] the contacts changed
    [COMPANY_IDS] the companies changed
    [ATTENDEES] the attendees changed
    [ROWS] the products changed
    [PHONE] the phones changed
    [EMAIL] the e-mail changed
    [PROBABILITY] the probability changed
   *[other] the field “{ $name }” changed
  }: { $before } → { $after }
changed-more = { $count ->
    [one] { $count } more field
   *[other] { $count } more fields
  }
drawn-anew = An earlier version of the program did not show everything on the card: please look at what will be sent
stricter-meanwhile = More is needed for this than when the card was made: please check again
denied-by-model = Withdrawn, nothing was sent
withdrawn = { $named ->
    [yes] Taken back: { $calls }
   *[no] Taken back, nothing was sent
}
portal-filter-ignored = Bitrix24 left out a condition of the search ({ gate-field }): its answer has records that do not fit, so neither list nor totals are shown
portal-said-no = Bitrix24 answered no and changed nothing
portal-wait = Bitrix24 asks to wait until { $at }: nothing was sent. Ask again after that
portal-no-access = Bitrix24 does not accept the bot's key, so this was not done. Tell the administrator
portal-no-scope = The bot's key lacks the right “{ $scope }”, so this was not done. Tell the administrator
portal-not-reached = Bitrix24 could not be reached: nothing was sent. Try again a little later
portal-refused = Bitrix24 refused: { $text }
portal-error-access = the bot or you have no access to it
portal-error-key = it does not accept the bot's key. Tell the administrator
portal-error-scope = the bot's key lacks the right to it. Tell the administrator
portal-error-missing = there is no such record, or it was deleted
portal-error-method = your Bitrix24 cannot do this
portal-error-value = one of the values does not suit it
portal-error-required = a required field is empty
portal-error-busy = too many requests, try again a little later
portal-error-fault = it has an internal error, try again a little later
portal-error-tariff = your plan of Bitrix24 does not let programs in. Tell the administrator: another plan is needed
portal-error-unpaid = the portal is not paid for. Tell the administrator
portal-error-blocked = it has closed the portal to programs because of overload, and repeating is useless. Tell the administrator: only the support of Bitrix24 can open it
portal-error-deleted = this portal was deleted. Tell the administrator
portal-error-field = the required field “{ $field }” is empty
portal-error-declined = it changed nothing
portal-error-said = { $said }
portal-error-other = { $acted ->
    [yes] “{ $act }” did not work
   *[no] this did not work
  }{ $reference ->
    [none] {""}
   *[other] . Code for the administrator: { $reference }
  }
batch-failed = { $count ->
    [one] The only command failed
   *[other] None of the { $count } commands succeeded
}
card-all-failed = ⚠️ Not done: { batch-failed }
list-cut = Bitrix24 stopped answering in the middle of the list: { $read }{ $total ->
    [0] {""}
   *[other] {" "}of { $total }
  } read. I do not show a part as the whole, nor count it – try again a little later
portal-unread = The answer of Bitrix24 cannot be read: a page or a part came in place of data. Try a little later; if it comes again, tell the administrator
portal-no-answer = Bitrix24 did not answer. Try again a little later
portal-unreadable = The record could not be read in Bitrix24, so nothing was done{ $code ->
    [none] {""}
    [tariff] {""}: { portal-error-tariff }
    [unpaid] {""}: { portal-error-unpaid }
    [blocked] {""}: { portal-error-blocked }
    [deleted] {""}: { portal-error-deleted }
    [page] {""}: its answer cannot be read, a page or a part came in place of data. Try a little later
    [away] {""}: it cannot be reached just now. Try again later
   *[other] {""}
  }
of-service = { $service ->
    [database] the database
    [site] the site
    [telegram] Telegram
    [files] the disk with the files
    [own] my own database
   *[portal] Bitrix24
  }
in-service = { $service ->
    [database] in the database
    [site] at the site
    [telegram] in Telegram
    [files] in the folder of files
    [own] in my reminders
   *[portal] in Bitrix24
  }
to-look-at = { $service ->
    [site] please look at the site itself whether it arrived
    [telegram] please look into the chat whether it arrived
    [files] please look at the file
   *[portal] please look at the record
  }
outcome-unknown = Outcome unknown: { call-named }. The answer of { of-service } was lost: { to-look-at }, I will not repeat it.
reason-fields = Changes: { $fields }
reason-more = { $text } and { $count } more
four-eyes = A sum like this is approved by a lead, not by the one who asks ({ $who })
requester-gone = The person who asked has no access any more
approver-gone = The person who approved has no access any more
no-access-any-more = You have no access any more. Please ask your administrator.
same-call-unknown = The same call was sent before and its outcome is unknown: it might happen twice
recovered-done = I checked: { call-named } was done { in-service }, although its answer never came.
recovered-not-done = I checked: { call-named } was not done { in-service }. If you need the change, ask again.
recovered-partly = Checked: { call-named }: { $done } of { $commands } done in Bitrix24{ $unknown ->
    [0] {""}
   *[other] , { $unknown } unknown
  }. I do not repeat it by myself.
recovered-unclear = The answer never came, the outcome is unknown for now: { call-named }. Please look { in-service }, I will not repeat it myself.
# What was done without a card: “Deal created: «Romashka» №484 — Responsible: you”.
made-more = { $count ->
    [one] and { $count } more change
   *[other] and { $count } more changes
}
repeats-not-sent = { $count ->
    [one] The same was proposed once more: it is done already and was not sent again
   *[other] The same was proposed { $count } more times: it is done already and was not sent again
}
step-repeated = The same was already done for this request, so it was not sent again
step-partly-repeated = A part of these changes was already made for this request, so nothing was sent a second time
made-new = { $entity ->
    [deal] Deal created:
    [lead] Lead created:
    [contact] Contact created:
    [company] Company created:
    [item] Item created:
    [task] Task created:
    [activity] Activity created:
    [meeting] Meeting planned:
    [phonecall] Call recorded:
    [plannedcall] Call planned:
    [email] E-mail sent:
    [emailrecord] E-mail added to the record:
    [todo] Activity created:
    [event] Calendar event created:
    [comment] Comment added{ $target ->
        [deal] {" "}to the deal
        [lead] {" "}to the lead
        [contact] {" "}to the contact
        [company] {" "}to the company
        [task] {" "}to the task
       *[other] {""}
    }
    [checklistitem] Checklist item added{ $target ->
        [task] {" "}to the task
       *[other] {""}
    }
    [message] Message sent
   *[other] Done: { call-named }
}
made-place = { $place ->
    [deal] {" "}to the deal { $place_title }
    [lead] {" "}to the lead { $place_title }
    [contact] {" "}to the contact { $place_title }
    [company] {" "}to the company { $place_title }
    [task] {" "}to the task { $place_title }
    [record] {" "}to the record { $place_title }
   *[none] {""}
}
# $values: “Deadline: Mon, 23 November, 15:00; Assignee: you”.
made = { $verb ->
    [add] { made-new }
   *[other] Done: { call-named }
}{ $named ->
    [yes] {" "}{ $name }
   *[no] {""}
}{ made-place }{ $valued ->
    [yes] {" "}— { $values }
   *[no] {""}
}
# A command of a batch that was not carried out.
made-not = ⚠️ { $state ->
    [unknown] Outcome unknown
   *[other] Not done
}: { call-named }{ $named ->
    [yes] {" "}{ $name }
   *[no] {""}
}{ $state ->
    [error] {" "}— { $error }
    [not_run] {" "}— it was not reached
   *[other] {""}
}
made-unshown = Done: { call-named }
# How a call is named inside a sentence: “changing the deal «Romashka» (Amount: $1 → $2)”.
call-of = { $entity ->
    [activity] the activity
    [category] the funnel
    [chat] the chat
    [checklistitem] the checklist item
    [comment] the comment
    [company] the company
    [contact] the contact
    [deal] the deal
    [event] the calendar event
    [item] the item
    [lead] the lead
    [message] the message
    [productrow] the products
    [status] the stage
    [task] the task
    [user] the employee
    [meeting] the meeting
    [phonecall] the record of a call
    [plannedcall] the call
    [email] the e-mail
    [emailrecord] the e-mail of the record
   *[other] the record ({ $method })
  }
call-many = { $entity ->
    [activity] activities
    [comment] comments
    [company] companies
    [contact] contacts
    [deal] deals
    [item] items
    [lead] leads
    [productrow] products
    [task] tasks
    [user] employees
   *[other] records
  }
call-verb = { $verb ->
    [get] reading { call-of }
    [list] search for { call-many }
    [add] creating { call-of }
    [update] changing { call-of }
    [delete] deleting { call-of }
    [set] replacing the parts of { call-of }
    [start] starting { call-of }
    [pause] pausing { call-of }
    [defer] deferring { call-of }
    [complete] completing { call-of }
    [renew] resuming { call-of }
    [approve] accepting { call-of }
    [disapprove] sending back { call-of }
    [attach] attaching a file to { call-of }
    [move] moving { call-of }
    [notify] notifying an employee
    [bind] subscribing to events of the portal
    [unbind] unsubscribing from events of the portal
    [batch] a batch of commands ({ $count })
   *[other] { $doing ->
        [none] an action in Bitrix24
       *[other] { $doing }
    }
  }
call-named = { $acted ->
    [yes] { $act }
   *[no] { call-verb }
  }{ $parts ->
    [title] {" "}{ $titled }
    [changes] {" "}({ $changes })
    [both] {" "}{ $titled } ({ $changes })
   *[none] {""}
  }
card-waits-already = A card for this is waiting for a decision already: find it above or send /pending
card-not-waiting = That step does not wait for a decision any more
after-unknown = Nobody knows how the step before it ended: check that this is still wanted
same-wish-waits = { $who } asks for the same: that card waits too, do not run it twice
plan-head = Plan: { $count } { $count ->
    [one] action
   *[other] actions
}
plan-over = { $done } of { $count } done{ $approved ->
    [yes] {" · "}decided by { $who }
   *[no] {""}
}
plan-hidden = { $count } more { $count ->
    [one] step concerns
   *[other] steps concern
} records that are not yours, not shown here{ $waits ->
    [yes] {". "}So only somebody who sees all records of the plan can decide it
   *[no] {""}
}
plan-step-denied = denied by { $who }{ $reasoned ->
    [yes] {"."} Reason: { $reason }
   *[no] {""}
}
plan-step-unknown = nobody knows whether it was done: please check
plan-step-left-out = left out of the plan
plan-step-expired = time is over, not done
plan-step-closed = waits no more, not done
button-approve-all = ✅ Do all ({ $count })
button-deny-all = ✖ Deny all
button-leave-out = ✖ Leave out { $number }
button-leave-out-short = ✖ { $number }
button-add-to-step = ➕ Add to what is there { $number }
button-edit-step = ✏ Edit { $number }
button-edit-step-short = ✏ { $number }
button-undo-step = ↩ Undo { $number }
button-check-step = 🔄 Check { $number }
card-then = Then:
card-would-propose = I would propose:
button-again-step = ↻ Request { $number } again

## A change of many records
card-bulk-some = Some of them:
card-bulk-all = Records:
card-bulk-file = Every record is in the file beside this.
card-bulk-cut = Not all records are shown. Open the file with the button below first, then it can be carried out.
