"""Registers the daily feature: digests, evening summaries, reminders, the commands /today and /reminders, and the daily planner."""

from orchestrator.features.daily import digests, reminders
from orchestrator.features.daily.ports import BuildUrl, People, ReadAgenda
from orchestrator.language.work_calendar import Workdays
from orchestrator.turns.feature import Feature


def build_feature(agenda: ReadAgenda, url_of: BuildUrl, *, people: People, workdays: Workdays) -> Feature:
    """Return the daily feature with its inputs, timers, commands and periodic task.

    `agenda` reads a person's day from the portal, `url_of` builds links to records.
    """
    sent = digests.DailyMessages(agenda, people, workdays)
    kept = reminders.Reminders(url_of)
    return Feature(
        inbox={
            digests.PLAN: sent.plan_timers,
            reminders.SET: kept.set_reminder,
            reminders.PRESS: kept.apply_button,
            reminders.CHANGED: kept.apply_change,
        },
        timers={digests.TIMER: sent.send_due, reminders.TIMER: kept.send_due},
        commands={"today": sent.show_today, "reminders": kept.show_reminders},
        periodic_tasks=(digests.DailyPlanner(people).run,),
    )
