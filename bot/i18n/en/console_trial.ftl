# The trial of a definition in the editor of the console.
console-trial = Trial
console-trial-told = A trial changes nothing. You answer for the customer; the model and the portal can really be asked, and the model's answers count in your budget.
console-trial-start = Try it
console-trial-changed = The text was changed since; the trial plays the one before. Begin again to play the new one.
console-trial-again = From the beginning
console-trial-stop = Stop
console-trial-case = Answers given before, as in a file .test.yaml
console-trial-case-label = One test: inputs, mocks, answers, parameters…
console-trial-case-wrong = The answers given before do not fit:
console-trial-mistakes = Mend the mistakes first:
console-trial-nothing = Nothing happened.
console-trial-model = The model answers: { $text }
console-trial-wait = It waits until { $moment }; in a trial the clock jumps there.
console-trial-child = It starts { $what }
console-trial-effect = { $status ->
    [planned] Would be proposed
    [succeeded] Was read
    [refused] Refused
   *[other] { $status }
}
console-trial-wanted = { $kind ->
    [model] Step “{ $step }” asks the model. What does it answer?
    [agent] Step “{ $step }” asks an assistant. What does it answer?
    [read] Step “{ $step }” reads the portal. What does it return?
    [run] Step “{ $step }” starts another definition. What does that return?
   *[answer] Step “{ $step }” waits for a person's answer
}
console-trial-field = { $kind ->
    [read] YAML or JSON; empty for nothing
    [run] YAML or JSON; empty for nothing
    [answer] Answer
   *[other] The model's answer
}
console-trial-give = Go on
console-trial-unfit = Such an answer does not fit here.
console-trial-read-wrong = This is neither YAML nor JSON.
console-trial-ended = { $status ->
    [done] It came to its end
    [failed] It failed
    [cancelled] Cancelled
    [stopped] Stopped
   *[unfinished] Not finished: the trial cannot ask for this, give it with the answers before
}
console-trial-result = What came of it
console-trial-earlier = Earlier things: { $count }.
console-trial-asks = The model answers by itself
console-trial-ask = { $kind ->
    [read] Read the portal
   *[other] Ask the model
}
console-trial-forget = Forget what the model and the portal gave
console-trial-budget = Your budget for the model is used up this month; it was not asked. You can answer for it.
console-trial-no-answer = The model did not answer. Try again, or answer for it.
console-trial-not-read = The portal was not read: { $why }
console-trial-save = Save as a test
console-trial-test-name = From a trial
console-trial-not-saved = It could not be made a test: { $why }
