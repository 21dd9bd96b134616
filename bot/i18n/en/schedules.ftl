# Schedules: what starts by itself, and when. In the words of a sales manager.
menu-schedules = What starts on schedule
schedule-word = { $text }
schedule-comma = { $first }, { $then }
schedule-and = { $first } and { $then }
schedule-once = once, { $moment }
schedule-listed = next: { $moments }
schedule-in-zone = { $when } ({ $zone } time)
schedule-daily = every day at { $times }
schedule-workdays = on weekdays at { $times }
schedule-weekly = every { $days } at { $times }
schedule-weekday = { $day ->
    [1] Monday
    [2] Tuesday
    [3] Wednesday
    [4] Thursday
    [5] Friday
    [6] Saturday
   *[7] Sunday
}
schedule-monthly = on the { $days } of each month at { $times }{ $rare ->
    [yes] {" "}(in months that have it)
   *[no] {""}
}
schedule-monthday = { $day ->
    [1] 1st
    [2] 2nd
    [3] 3rd
    [21] 21st
    [22] 22nd
    [23] 23rd
    [31] 31st
   *[other] { $day }th
}
schedule-month-end = on the last day of each month at { $times }
schedule-each-minutes = every { $count ->
    [one] { $count } minute
   *[other] { $count } minutes
}
schedule-each-hours = { $count ->
    [1] every hour
   *[other] every { $count } hours
}{ $minute ->
    [0] {""}
   *[other] , at the minute { $minute }
}
schedules-listed = { $count ->
    [0] Nothing starts on schedule.
   *[other] On schedule:
}
schedules-more = …and { $count } more.
schedule-line = • “{ $definition }”{ $id ->
    [none] {""}
   *[other] {" "}· { $id }
}{ $note ->
    [none] {""}
   *[other] {" "}— { $note }
}{ $who ->
    [none] {""}
   *[other] {" "}({ $who })
}: { $when }{ $what }{ $missed ->
    [0] {""}
   *[other] . Moments left out: { $missed }
}
schedule-next = . Next start: { $moment }
schedule-next-after-skip = . Not started last time: { $why }. Next attempt: { $moment }
schedule-paused = . Paused
schedule-paused-because = . Paused: { $why }
schedule-why-unfinished = the last one is not over yet
schedule-why-definition = it is there no more, or it is switched off
schedule-why-engine = this is not run here any more
schedule-why-failed = it could not be started because of an error
schedule-why-restored = the bot was restored from a backup
schedule-why-owner = the person for whom it starts has no access to the bot any more
schedule-why-role = the person for whom it starts may not start it any more
schedule-added = { $moment ->
    [none] 🗓 “{ $definition }” will start: { $when }.
   *[other] 🗓 “{ $definition }” will start by itself: { $when }. First start: { $moment }.
}
schedule-late = ⏰ “{ $definition }” should have started: { $moment }. The bot was not working then, so it starts now.{ $missed ->
    [0] {""}
    [one] {" "}{ $missed } later start was left out.
   *[other] {" "}{ $many ->
        [yes] At least { $missed }
       *[no] { $missed }
    } later starts were left out.
}
schedule-late-resumed = ⏰ “{ $definition }” should have started: { $moment }. Its schedule was paused then, so it starts now.
schedule-skipped = ⚠️ “{ $definition }” was not started on schedule ({ $moment }): { $why }.{ $next ->
    [none] {""}
   *[other] {" "}Next attempt: { $next }.
}
schedule-was-paused = ⏸ “{ $definition }”{ $who ->
    [none] {""}
   *[other] {" "}({ $who })
} starts on schedule no more: { $why }. It can be cancelled or resumed in /schedules.
schedule-person-paused = ⏸ “{ $definition }” does not start on schedule for now: { $who } paused it.
schedule-was-resumed = { $moment ->
    [none] ▶ “{ $definition }” is on schedule again: { $when }.
   *[other] ▶ “{ $definition }” starts on schedule again: { $when }. Next start: { $moment }.
}
schedule-was-cancelled = ✖ “{ $definition }” starts on schedule no more. { $who } cancelled it.
schedules-restored = ⏸ The bot was restored from a backup made { $at }. What starts on schedule is paused: since that backup it may have started already, or the schedule may have changed. Please check it and resume what is needed:
schedule-cancel-one = ✖ Drop the schedule of “{ $definition }”{ $id ->
    [none] {""}
   *[other] {" "}· { $id }
}
schedule-resume-one = ▶ Resume “{ $definition }”{ $id ->
    [none] {""}
   *[other] {" "}· { $id }
}
schedules-next-page = More
schedule-gone = This schedule is gone
schedule-not-yours = The person for whom it starts controls this schedule, or a head of sales
schedule-order-late = { $status ->
    [paused] The schedule is already paused
   *[waiting] The schedule is already in force
}
schedule-passed = Passed on
schedule-too-many = { $most } runs are on schedule for you already, which is the most. Cancel some: /schedules
schedule-no-owner = There is nobody to start it for: the person has no access to the bot.
schedule-bad-terms = { $fault ->
    [both] Give one of them: a moment or a schedule.
    [neither] It is not said when to start.
    [zone] There is no such time zone.
    [past] That time is over.
    [far] That is too far ahead: at most five years are possible.
    [naive] The time zone of the moment is missing.
   *[moment] It is not clear when to start.
}
schedule-bad-line = { $fault ->
    [length] The line of the schedule is too long.
    [fields] A line of a schedule has five fields (minute, hour, day, month, day of the week), and this one has { $count }.
    [never] Nothing would ever start by this line.
    [often] It would start { $count } times a day by this line; 288, which is once in five minutes, is the most.
   *[field] In the line of the schedule the { $field ->
        [minute] minute
        [hour] hour
        [day] day of the month
        [month] month
       *[weekday] day of the week
    } cannot be “{ $written }”.
}
schedule-refused-engine = This is not run here, so it cannot be scheduled
schedule-refused-role = You may not start this. Ask your head of sales
schedule-refused-definition = It is not there, or it is switched off, so it cannot be scheduled
schedule-refused-owner = There is nobody to start it for: the person has no access to the bot
schedule-refused-past = That time is over. When should it start?
schedule-refused-far = That is too far ahead: at most five years are possible
schedule-refused-many = Too many runs are on schedule already. Cancel some: /schedules
schedule-refused-unread = It could not be checked whether this may be started. Please try later
