# How much of the model a person may use in a month.
budget-over = Your AI limit for this month is used up, so I cannot work on requests in words now. Commands (/today, /pending, /history), the buttons of cards and reminders work. The limit begins anew on the 1st; if you need it earlier, ask an administrator
budget-warn = ⚠️ { $percent } % of your AI limit for this month is used. It begins anew on the 1st
budget-used = AI limit for this month: { $percent } % used
run-limit-tokens = { $small ->
    [yes] This run may use { $most } tokens, and its next question to the model alone may cost { $needed }. Trying again will not help: its author must raise the limit or shorten the question.
   *[no] The limit of this run is used up: { $spent } of { $most } tokens are spent, and the next question to the model needs up to { $needed }. “Try again” grants the same once more and goes on from here.
}
run-limit-cost = { $small ->
    [yes] This run may spend { $most } { $currency }, and its next question to the model alone may cost { $needed } { $currency }. Trying again will not help: its author must raise the limit or shorten the question.
   *[no] The limit of this run is used up: { $spent } of { $most } { $currency } are spent, and the next question to the model may cost { $needed } { $currency }. “Try again” grants the same once more and goes on from here.
}
run-limit-time = The time of this run is over: it may work for { $most } s, without waiting for people. “Try again” grants the same once more and goes on from here.
run-limit-unpriced = This run has a limit in money, but the model “{ $model }” has no price, so what it spends cannot be counted. An administrator must add its price to budget.prices; then press “Try again”.
