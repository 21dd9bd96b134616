# The page "Approvals" of the console: cards and the decisions about them.
console-approvals = Approvals
console-approval = Approval
console-approvals-filters = Which cards to show
console-approvals-filter-requested = Waiting
console-approvals-filter-any = All
console-approvals-filter-executed = Done
console-approvals-filter-denied = Denied
console-approvals-filter-expired = Expired
console-approvals-filter-refused = Not done
console-approvals-filter-unknown = Outcome unknown
console-approvals-none-waiting = Nothing waits for a decision. New cards appear here by themselves.
console-approvals-none = No such cards in the last { $days } days.
console-approvals-more = Not all are shown: the others appear when these are decided, or stand in the audit.
console-approvals-days = Cards of the last { $days } days.
console-approvals-audit = Earlier ones stand in the audit
console-approvals-plan = Plan: { $count } { $count ->
    [one] step
   *[other] steps
}. Each is decided by itself
console-approvals-others = Other steps of the plan
console-approvals-state-requested = Waiting
console-approvals-state-approved = Under way
console-approvals-state-executed = Done
console-approvals-state-denied = Denied
console-approvals-state-expired = Expired
console-approvals-state-superseded = Replaced
console-approvals-state-refused = Not done
console-approvals-state-unknown = Outcome unknown
console-approvals-risk = { $level ->
    [high] Dangerous
   *[other] Careful
}
console-approvals-mode = { $mode ->
    [shadow] Shadow mode: nothing is sent
   *[other] Careful mode
}
console-approvals-becomes = becomes
console-approvals-unfold = Unfold / fold
console-approvals-command = { $outcome ->
    [success] Done
    [error] Not done
    [not_run] Not reached
   *[other] Outcome unknown
}
console-approvals-comment = What the agent says about it
console-approvals-asked = Asked by { $who }
console-approvals-until = until { $until }
console-approvals-at = { $until }
console-approvals-told = Decided by { $who }
console-approvals-record = Open in Bitrix24
console-approvals-run = Run
console-approvals-open = Card
console-approvals-why = Why
console-approvals-chat = To the conversation in which it was asked for
console-approvals-approve = Approve
console-approvals-approve-danger = Yes, do it
console-approvals-deny = Deny
console-approvals-withdraw = Withdraw the request
console-approvals-cut = Not all is shown
console-approvals-show-whole = Show all
console-approvals-deny-title = Deny it?
console-approvals-deny-now = Deny, send nothing
console-approvals-reason = Why (whoever asked reads it)
console-approvals-back = Back
console-approvals-second-title = Really do it?
console-approvals-second = Check once more what the card says: it may be impossible to undo.
console-approvals-second-now = Yes, really do it
console-approvals-second-later = Nothing was sent: another question was open. Press the button of this card once more.
console-approvals-close = Hide
console-approvals-executed = Done; Bitrix24 has confirmed it.
console-approvals-partly = Done in part: some commands of the batch failed. The card says which.
console-approvals-denied = Denied; nothing was sent.
console-approvals-refused = The decision counts, but nothing was done: the card says why.
console-approvals-unknown = Sent, but the answer was lost: nobody knows whether it was done. Check the record; it is not sent again.
console-approvals-running = The decision counts and the call is under way: the card will say what came of it.
console-approvals-accepted = The decision is stored and will be worked soon: the card will say what came of it.
console-approvals-changed = The data changed while the card waited. Nothing was sent: decide on the new card.
console-approvals-expired = The time of the card is over; nothing was sent. Ask again.
console-approvals-first-approved = Decided already{ $known ->
    [yes] {" "}({ $who })
   *[no] {""}
}: the card says what came of it. Your decision changed nothing.
console-approvals-first-denied = Denied already{ $known ->
    [yes] {" "}({ $who })
   *[no] {""}
}. Nothing was sent.
console-approvals-replaced = A new card has replaced this one. Nothing was sent.
console-approvals-outdated = The card has changed since you opened it. Nothing was sent: look at it again.
console-approvals-not-counted = The decision did not count; nothing was sent. Look at the card again.
console-approvals-forbidden = You may not decide this card.
console-approvals-not-worked = The decision could not be worked; nothing was sent. Try again.
