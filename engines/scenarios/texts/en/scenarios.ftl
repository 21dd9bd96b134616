# The words of scenarios: what does not fit in an answer, and why a scenario does not go on.
scenario-answer-empty = The answer is empty. Please write it in words.
scenario-answer-long = Too long: { $length } characters, and at most { $most } are possible. Please write less.
scenario-answer-short = Too short: at least { $least } characters are needed. Please write more.
scenario-answer-choice = There is no such choice. Please write one of: { $choices }.
scenario-answer-form = The answer does not have the right form. Please check it and write it again.
scenario-answer-number = { $type ->
    [integer] A whole number is needed, such as 25, 150000 or 1.5m.
    [money] A sum is needed, such as 150000, 700k or 1.5m.
   *[other] A number is needed, such as 25, 1500.5 or 700k.
}
scenario-answer-integer = A whole number is needed, such as 25.
scenario-answer-small = The number is too small: at least { $least } is needed.
scenario-answer-large = The number is too large: at most { $most } is possible.
scenario-answer-day = { $problem ->
    [past] That is over: { $days }. Please write another time.
    [which] That can be read in several ways: { $days }. Please be more exact, such as “tomorrow at 15:30”.
    [several] One day is needed.
    [impossible] There is no such day.
    [mismatch] The date and the weekday do not agree.
    [too_far] That is too far away.
    [no_hour] { $days }, but at what time?
   *[other] Which day is not clear.
} { $problem ->
    [past] { "" }
    [which] { "" }
   *[other] { $type ->
        [datetime] Please write day and time together, such as “25 December at 15:30” or “tomorrow at 10:00”.
       *[other] Please write the day, such as “25 December”, “31.12.2026” or “tomorrow”.
    }
}
scenario-answer-early = Too early: { $day } is the first that is possible.
scenario-answer-late = Too late: { $day } is the last that is possible.
scenario-answer-phone = A telephone number is needed, such as +7 901 123-45-67.
scenario-answer-email = An e-mail address is needed, such as ivan@example.ru.
scenario-progress = Step { $step } of { $of }
scenario-back = ← Back
scenario-cancel = ✖ Cancel
scenario-cancelled = You cancelled the scenario. What was done before stays.
scenario-file-which = Step “{ $step }” does not say which file to send: it needs one of path, file and url. Tell whoever wrote the scenario.
scenario-download = Step “{ $step }” did not get the file “{ $name }” from { $host }: { $why ->
    [closed] this host is not allowed
    [address] its address is written wrongly
    [large] it is larger than { $most } MB
    [much] the scenario has got { $total } MB of files already, the most for one run
    [status] the host answered { $status }
    [unreached] the host does not answer
    [empty] it is empty
    [picture] it is no picture
    [page] a web page came in place of the file
   *[other] the host does not give it
}. Nothing further is done. Tell whoever wrote the scenario.
scenario-download-planned = 📎 { $name } from { $host }: the file is not fetched in a dry run.
scenario-file-unread = Step “{ $step }” cannot read the file “{ $name }”, so nothing further is done. Tell whoever wrote the scenario.
scenario-broken = This scenario has mistakes and cannot be played. Please tell its author.
scenario-too-deep = Scenarios start each other more than { $most } times in a row, which looks like a circle. Please tell their author.
scenario-too-long = The scenario reached the limit of { $most } steps in one run and was stopped before the step “{ $step }”. { $often ->
    [0] { "" }
   *[other] The most frequent step was made { $often } times.
} What it collected and did stays. Please tell its author: if it is meant so, the administrator raises SCENARIO_MAX_STEPS; if it goes in circles, it has to be mended.
scenario-too-slow = The scenario worked for more than { $most } minutes without a pause, so it was stopped. “Retry” goes on from here; if it happens again, please tell its author.
scenario-step-unknown = Nothing here can do the step “{ $step }”: the program does not know “{ $type }”. Please tell the administrator.
scenario-target-unknown = The step “{ $step }” leads to “{ $target }”, which does not exist. Please tell the scenario's author.
scenario-condition-failed = The condition of step “{ $step }” could not be checked, so nothing more is done. Please tell the scenario's author.
scenario-calculation-failed = The step “{ $step }” could not calculate “{ $name }”, so nothing more is done. Please tell the scenario's author.
scenario-given-reserved = Only the program gives “{ $name }”, so a start cannot set it: the scenario was not begun.
scenario-name-reserved = The step “{ $step }” changes “{ $name }”, a name that belongs to the program. Please tell the scenario's author.
scenario-values-large = The step “{ $step }” makes too much data. Please tell the scenario's author.
scenario-value-unfit = The value “{ $name }” does not fit in step “{ $step }”. Please tell the scenario's author.
scenario-child-failed = { $kind ->
    [tool_agent] The tool agent (/ask) did not answer
   *[other] The scenario “{ $child }” inside of this one failed
}, so nothing more is done.
scenario-input-failed = No answer fitted in { $tries } { $tries ->
    [one] try
   *[other] tries
}, so the scenario has stopped.
scenario-answer-unfit = At the step “{ $step }” the model’s answer was twice not the data that is needed, so nothing more is done.
scenario-prompt-empty = The step “{ $step }” asks the model nothing. Please tell the scenario's author.
scenario-call-wrong = The step “{ $step }” is written with a mistake, so it was not done, and nothing more is done. Please tell the scenario's author.
scenario-call-unfit = The step “{ $step }” was not done: Bitrix24 would not take it with these values. Nothing further is done.
scenario-step-refused = The step “{ $step }” was refused or is not allowed, so nothing more is done.
scenario-schedule-when = The step “{ $step }” does not say when to start: it needs either a delay or a schedule. Please tell the scenario's author.
scenario-parameter-missing = The step “{ $step }” lacks “{ $name }”. Please tell the scenario's author.
