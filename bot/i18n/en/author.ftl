# Commands of authors (sdelka author, sdelka flow …): what they say in the terminal.
author-good = No mistakes.
author-good-two = No mistakes. A second employee has to publish it, not its author: { $methods }.
author-mistakes = { $count ->
    [one] { $count } mistake.
   *[other] { $count } mistakes.
}
author-severity = { $severity ->
    [error] error
    [warning] warning
   *[other] info
}
author-column = { $column ->
    [line] line
    [severity] severity
    [where] where
    [what] what
   *[other] meant
}
author-not-looked-up = Whether there { $count ->
    [one] is { $kind ->
        [tuum] a tuum
        [agent] an agent
       *[other] { $kind }
    }
   *[other] are { $kind ->
        [tuum] tuums
        [agent] agents
       *[other] { $kind }
    }
} { $agents } was not checked: there { $count ->
    [one] is no such file
   *[other] are no such files
} beside it, and no database.
author-refused = Refused: mend the mistakes first. Nothing was saved.
author-published = { $kind ->
    [agent] Agent { $key }: version { $number } is published.
    [tuum] Tuum { $key }: version { $number } is published.
    [workflow] Workflow { $key }: version { $number } is published. New runs follow it, those under way the one before. To start it: /workflow { $key }
    [flow] Flow { $key }: version { $number } is published. New runs follow it, those under way the one before. To start it: /flow { $key }
   *[other] { $kind } { $key }: version { $number } is published. New runs follow it, those under way the one before.
}
author-unchanged = { $kind ->
    [tuum] Tuum
    [agent] Agent
   *[other] { $kind }
} { $key }: version { $number }, which is published, is the same; no new one is needed.
author-waits = Not published: wait for a second employee, then repeat this command.
author-draft = { $kind ->
    [agent] Agent
    [tuum] Tuum
    [workflow] Workflow
    [flow] Flow
   *[other] { $kind }
} { $key }: version { $number } is saved as a draft. It may delete, move money or write to people outside ({ $methods }), so an employee who did not write it has to publish it, not this command.
author-diff-none = Nothing changed.
author-diff-text = Only comments and the form of the text changed.
author-diff-kind = { $kind ->
    [added] added
    [removed] removed
   *[other] changed
}
author-diff-version = version { $number }
author-diff-more = { $count ->
    [one] Only the first difference is shown.
   *[other] Only the first { $count } differences are shown.
}
author-drawn = { $file }: { $count ->
    [one] { $count } shape.
   *[other] { $count } shapes.
}
author-may-lack = (may be left out: an empty line)
author-default = (an empty line is { $value })
author-empty = an empty answer, which is none
author-no-answer = no answer ({ $why })
author-planned = planned, not sent: { $method }
author-unfinished = Not finished: { $why }.
author-ended = { $outcome ->
    [done] done
    [failed] failed
   *[other] cancelled
}
