# The commands sdelka flow and sdelka workflow: what they tell authors in the terminal.
flow-cli-good = No mistakes.
flow-cli-good-two = No mistakes. A second employee has to publish it, not its author: { $methods }.
flow-cli-mistakes = { $count ->
    [one] { $count } mistake.
   *[other] { $count } mistakes.
}
flow-cli-severity = { $severity ->
    [error] error
    [warning] warning
   *[other] info
}
flow-cli-column = { $column ->
    [line] line
    [severity] severity
    [where] where
    [what] what
   *[other] meant
}
flow-cli-not-looked-up = Whether there { $count ->
    [one] is { $kind ->
        [tuum] a tuum
       *[agent] an agent
    }
   *[other] are { $kind ->
        [tuum] tuums
       *[agent] agents
    }
} { $agents } was not checked: there { $count ->
    [one] is no such file
   *[other] are no such files
} beside it, and no database.
flow-cli-refused = Refused: mend the mistakes first. Nothing was saved.
flow-cli-published = { $kind ->
    [agent] Agent { $key }: version { $number } is published.
    [tuum] Tuum { $key }: version { $number } is published.
    [workflow] Workflow { $key }: version { $number } is published. New runs follow it, those under way the one before. To start it: /workflow { $key }
   *[other] Flow { $key }: version { $number } is published. New runs follow it, those under way the one before. To start it: /flow { $key }
}
flow-cli-unchanged = { $kind ->
    [tuum] Tuum
   *[agent] Agent
} { $key }: version { $number }, which is published, is the same; no new one is needed.
flow-cli-waits = Not published: wait for a second employee, then repeat this command.
flow-cli-draft = { $kind ->
    [agent] Agent
    [tuum] Tuum
    [workflow] Workflow
   *[other] Flow
} { $key }: version { $number } is saved as a draft. It may delete, move money or write to people outside ({ $methods }), so an employee who did not write it has to publish it, not this command.
flow-cli-diff-none = Nothing changed.
flow-cli-diff-kind = { $kind ->
    [added] added
    [removed] removed
   *[other] changed
}
flow-cli-diff-version = version { $number }
flow-cli-diff-more = { $count ->
    [one] Only the first difference is shown.
   *[other] Only the first { $count } differences are shown.
}
flow-cli-drawn = { $file }: { $count ->
    [one] { $count } shape.
   *[other] { $count } shapes.
}
flow-cli-may-lack = (may be left out: an empty line)
flow-cli-default = (an empty line is { $value })
flow-cli-empty = an empty answer, which is none
flow-cli-no-answer = no answer ({ $why })
flow-cli-planned = planned, not sent: { $method }
flow-cli-unfinished = Not finished: { $why }.
flow-cli-ended = { $outcome ->
    [done] done
    [failed] failed
   *[other] cancelled
}
