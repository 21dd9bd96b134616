"""Assembles daily help: its handlers by kind, for the tables of the workers. Bootstrap calls it once."""

from dataclasses import dataclass

from orchestrator.features.daily import digests, reminders
from orchestrator.features.daily.ports import BuildUrl, People, ReadAgenda
from orchestrator.language.work_calendar import Workdays
from orchestrator.runtime.turn import Handlers


@dataclass(frozen=True, kw_only=True)
class DailyHelp(Handlers):
    """Handlers of inbox kinds, timer kinds and typed commands, and the planner that keeps timers in line with preferences."""

    planner: digests.DailyPlanner


def build_daily_help(agenda: ReadAgenda, url_of: BuildUrl, *, people: People, workdays: Workdays) -> DailyHelp:
    """Return daily help built on these ports."""
    sent = digests.DailyMessages(agenda, people, workdays)
    kept = reminders.Reminders(url_of)
    return DailyHelp(
        inbox={digests.PLAN: sent.plan_timers, reminders.SET: kept.set_reminder, reminders.PRESS: kept.apply_button},
        timers={digests.TIMER: sent.send_due, reminders.TIMER: kept.send_due},
        commands={"today": sent.show_today, "reminders": kept.show_reminders},
        planner=digests.DailyPlanner(people),
    )
