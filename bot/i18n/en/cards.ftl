card-batch = Change several records at once: { $count }
card-more = … and { $count } more
card-group-before = { $value } ({ $count })
card-group-rest = { $kinds } other { $kinds ->
    [one] value
   *[other] values
  } ({ $count })
card-asked-by = Asked by { $who } · until { $until }
card-running = ⏳ Running · approved by { $who }
card-executed = ✅ Done at { $at } · approved by { $who }
card-denied-by = ✖ Denied at { $at } · { $who }
card-expired-at = ⌛ Expired at { $at }, nothing was done
card-superseded-by = ↻ Replaced by a new card: things changed while it waited
card-refused = ⚠️ Not done: { $text }
card-not-done = ⚠️ Not done: I checked in Bitrix24
card-unknown = ❓ Outcome unknown: please look at the record. I will not repeat it myself
card-sure = This cannot be undone. Run it for sure?
card-partly = Not everything was done: { $failed } of { $count } failed
card-unchanged = ⚠️ Bitrix24 said yes but did not change: { $fields }
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
toast-running = Running…
toast-denied = Denied
card-outdated = This card is out of date: see /pending
card-already-approved = Already approved: { $who }, { $at }
card-already-executed = Already done at { $at }
card-already-denied = Already denied: { $who }, { $at }
card-already-expired = Expired at { $at }. Ask again
card-already-superseded = A new card took its place
card-already-refused = Already decided: Bitrix24 refused at { $at }
card-already-unknown = Already sent at { $at }, outcome unknown
card-expired = Expired at { $at }. Ask again
card-second-tap = This cannot be undone. Press again to run it
card-denied = Denied: { $who }
may-not-approve = You may not approve changes
not-your-card = { $who } decides
changed-meanwhile = The record was changed meanwhile: please check the new values
stricter-meanwhile = More is needed for this than when the card was made: please check again
denied-by-model = Withdrawn, nothing was sent
portal-said-no = Bitrix24 answered no and changed nothing
portal-wait = Bitrix24 asks to wait until { $at }: nothing was sent. Ask again after that
portal-no-access = Bitrix24 does not accept the bot's key ({ $code }): nothing was done. Tell the administrator
portal-no-scope = The bot's key lacks the right “{ $scope }”: nothing was done. Tell the administrator
portal-not-reached = Bitrix24 could not be reached: nothing was sent. Try again a little later
portal-refused = Bitrix24 refused: { $text }
portal-unreadable = The record could not be read in Bitrix24, so nothing was done{ $code ->
    [none] {""}
   *[other] {" "}(code { $code })
  }
outcome-unknown = Outcome unknown: { call-named }. The answer of Bitrix24 was lost: please look at the record, I will not repeat it.
reason-more = { $text } and { $count } more
four-eyes = A sum like this is approved by a lead, not by the one who asks ({ $who })
no-access-any-more = You have no access any more. Please ask your administrator.
same-call-unknown = The same call was sent before and its outcome is unknown: it might happen twice
recovered-done = I checked: { call-named } was done in Bitrix24, although its answer never came.
recovered-not-done = I checked: { call-named } was not done in Bitrix24. If you need the change, ask again.
recovered-unclear = The answer never came, the outcome is unknown for now: { call-named }. Please look at the record in Bitrix24, I will not repeat it myself.
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
   *[other] the record ({ $method })
  }
call-named = { $verb ->
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
   *[other] the call { $method }
  }{ $parts ->
    [title] {" "}«{ $title }»
    [changes] {" "}({ $changes })
    [both] {" "}«{ $title }» ({ $changes })
   *[none] {""}
  }
card-waits-already = A card for this is waiting for a decision already: find it above or send /pending
after-unknown = Nobody knows how the step before it ended: check that this is still wanted
same-wish-waits = { $who } asks for the same: that card waits too, do not run it twice
