# Scenarios and other work that takes longer than one answer.
run-option = { $label }
run-retry = ↻ Try again
run-retry-one = ↻ Try again: { $definition } ({ $id })
run-cancel-one = ✖ Stop: { $definition } ({ $id })
runs-listed = { $count ->
    [0] Nothing is running in this chat.
    [one] { $count } scenario in this chat:
   *[other] { $count } scenarios in this chat:
}
run-line = “{ $definition }” — { $status ->
    [running] running
    [waiting] waiting
    [paused] paused
   *[failed] failed
} ({ $id })
run-ended = { $status ->
    [failed] ⚠️ “{ $definition }” could not be brought to its end.
   *[cancelled] “{ $definition }” was stopped.
}
run-was-cancelled = Stopped by { $who }. What was done stays done; the cards that waited are withdrawn.
run-is-paused = Paused. Continue with a command or a button of the list /runs.
run-paused = It is paused, so the answer was not taken. Continue it first.
run-not-yours = Only who started it, their head of sales or an administrator can do this.
run-order-late = { $status ->
    [done] It has ended already.
    [cancelled] It is stopped already.
    [paused] It is paused already.
   *[other] This is not possible now.
}
run-which = Write a name after the command, for example: /steps request
run-cancel-which = Which one shall I stop?
run-cancel-none = There is nothing to stop: nothing of yours is running in this chat.
run-question-late = ⌛ There was no answer; going on without it.
run-not-begun = It could not be started.
run-owner-gone = The person who started it has no access any more. Nothing more is done.
run-engine-gone = There is no such kind of scenario (“{ $engine }”).
run-definition-gone = There is no scenario “{ $definition }”. Check the name.
run-not-allowed = You may not start “{ $definition }”. Ask your head of sales.
run-version-gone = The program was updated and cannot continue this scenario. Nothing was sent; start it anew.
run-too-long = The scenario has more than { $most } steps, which is too many. It was stopped; nothing else was sent.
run-too-deep = Scenarios start one another more than { $most } times in a row. This looks like a circle: check whether the scenario starts itself.
run-large-value = The step “{ $node }” gave too much data. Ask for less.
run-bad-value = The step “{ $node }” gave data that cannot be stored.
run-stuck = The scenario stopped and waits for nothing. This is a mistake in it; tell the administrator.
run-turn-asked = It is not clear which record is meant: “{ $text }”. Be more exact and try again.
run-step-refused = The step “{ $step }” was not done: it was refused.
run-step-failed = The step “{ $step }” failed.
run-step-unknown = The step “{ $step }” is written wrongly: it does not say what to do.
