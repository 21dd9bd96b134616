# Daily help: /today, digest, evening summary, reminders.
today-meetings = Meetings today
today-calls = Calls
today-todos = To-dos
today-no-next-step = Deals without a next step
today-overdue-deals = Deals past their closing date
today-idle = Deals without any change for 7 days or more
today-team = Team
daily-digest = ☀️ Good morning! { $day }
daily-free = Nothing urgent today: nothing overdue, nothing about to close. Have a good day!
# Below the numbers of the team.
daily-free-own = You yourself have nothing urgent today.
daily-unread = ⚠️ Bitrix24 did not show: { $lists }.
daily-lost = No morning digest today: Bitrix24 did not answer. Try later: /today
today-elsewhere = Today's work is private: look at it in your private chat with me.
today-unreachable = Bitrix24 cannot be reached just now, so I cannot show today's work. Try again later.
today-closed = Your day cannot be shown: { $why ->
    [tariff] { portal-error-tariff }
    [unpaid] { portal-error-unpaid }
    [blocked] { portal-error-blocked }
   *[deleted] { portal-error-deleted }
  }
today-refused = Bitrix24 refused to show your work. Please tell your administrator.
daily-off = Switch off: /settings
daily-more = and { $count } more
daily-until = answer by { $at }
daily-team-line = overdue { $overdue }, due today { $due }, closing { $closing }, idle { $idle }
daily-evening = 🌙 The day: { $day }
daily-evening-nothing = Nothing was changed in Bitrix24 through me today.
daily-evening-person = { $name } — { $count ->
    [one] { $count } change
   *[other] { $count } changes
}
daily-evening-waiting = Waiting for a decision: { $count }
daily-evening-unknown = Outcome unknown, please check: { $count }
reminder-set = ⏰ I will remind you on { $when }:
reminder-told = { $what ->
    [moved] ⏰ Moved, I will remind you on { $when }
    [dropped] ✖ Reminder removed
   *[set] ⏰ I will remind you on { $when }
}{ $texted ->
    [yes] : { $text }
   *[no] {""}
}
reminder-due = ⏰ Reminder:
reminder-late = ⏰ Reminder for { $when } (the bot was not running):
reminder-moved = ⏰ Put off, I will remind you on { $when }:
reminder-dropped = ✖ Reminder deleted:
reminder-list = Reminders
reminder-none = No reminders. Write, for example: “remind me on Friday at 11 to call Romashka”.
reminder-elsewhere = Reminders are private: look at them in your private chat with me.
reminder-past = That time is over. When should I remind you?
which-reminder = Which reminder do you mean?
reminder-gone = There is no such reminder any more. What waits: /reminders
reminder-too-many = There are too many reminders already. Delete some: /reminders
toast-reminder-dropped = Deleted
toast-reminder-moved = Put off
toast-reminder-gone = This reminder is gone
button-reminder-drop = ✖ Delete
button-reminder-hour = In an hour
button-reminder-morning = Tomorrow at 9
verb-add-reminder = Set a reminder
verb-update-reminder = Change the reminder
menu-reminders = Reminders
