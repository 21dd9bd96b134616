from orchestrator.features.daily import digests, reminders
from orchestrator.features.daily.day_view import DayView
from orchestrator.features.daily.message_bodies import BuildUrl, People
from orchestrator.language.work_calendar import Workdays
from orchestrator.turns.feature import Feature


def build_feature(day: DayView, url_of: BuildUrl, *, people: People, workdays: Workdays) -> Feature:
    sent = digests.DailyMessages(day, people, workdays)
    reminder_handlers = reminders.Reminders(url_of)
    return Feature(
        inbox={
            digests.PLAN: sent.plan_timers,
            reminders.SET: reminder_handlers.set_reminder,
            reminders.PRESS: reminder_handlers.apply_button,
            reminders.CHANGED: reminder_handlers.apply_change,
        },
        timers={digests.TIMER: sent.send_due, reminders.TIMER: reminder_handlers.send_due},
        commands={"today": sent.show_today, "reminders": reminder_handlers.show_reminders},
        periodic_tasks=(digests.DailyPlanner(people).run,),
    )
