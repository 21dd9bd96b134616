# Heads of sales: limits, approvals, reasons of denials, rules.
lead-only = A lead approves this: { $who }
lead-nobody = A lead has to approve this, but none is set for you. Ask an administrator to set one
lead-unreached = The request “{ $what }” has not got through yet: { $who } has never opened the chat with the bot, or has closed it. Ask them to send /start to the bot
lead-remind = ⏰ { $who } is waiting for your decision: “{ $what }”. The request holds until { $at }
lead-approved = ✅ { $who } approved “{ $what }”. Done
lead-approved-but = ⚠️ { $who } approved “{ $what }”, but it could not be done. The card says more
lead-denied = ✖ { $who } denied “{ $what }”
lead-denied-why = ✖ { $who } denied “{ $what }”. Reason: { $reason }
lead-expired = ⌛ Nobody decided about “{ $what }” in time: { $who }
lead-expired-yours = ⌛ Time is over: the request “{ $what }” ({ $who }) no longer waits for a decision
lead-why-ask = Write the reason in your next message; whoever asked will see it. To deny without a reason, use the button on the card
lead-answer-how = In words I only take a refusal: begin with “no” and the reason, such as “no, the contract first”. To approve, press the button. Nothing is decided yet
lead-why-toast = Waiting for the reason
lead-reason-sent = Denied. { $who } will see the reason
lead-press-failed = Something went wrong, your decision on “{ $what }” ({ $who }) was not handled. /pending shows how it stands now. Give your administrator the code { $id }.
lead-moved = The request “{ $what }” now waits for: { $who }
lead-gone = Nobody can decide on the request “{ $what }” at the moment. Withdraw it on its card and ask the administrator to name your lead
lead-pending = { $count ->
    [one] { $count } request of a colleague waits for your decision, the card is below
   *[other] { $count } requests of colleagues wait for your decision, the cards are below
  }
lead-details-toast = The exact call is below
button-deny-why = ✖ Deny with a reason

## Rules (policy.yaml)
policy-taken = ⚙️ The rules have changed and are in force (version { $digest })
policy-restart = ⚙️ The rules have changed and are in force (version { $digest }), but for the part `catalogue`: it counts from the next start
policy-faulty = ⚠️ Mistakes in the file of rules: { $count }. The old rules stay in force.
    { $faults }
lead-approved-plan = ✅ { $who } approved. { $done } of { $count } done
lead-denied-plan = ✖ { $who } denied all ({ $count }){ $reasoned ->
    [yes] {"."} Reason: { $reason }
   *[no] {""}
}
