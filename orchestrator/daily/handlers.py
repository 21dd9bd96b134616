"""The parts of daily help put together: kind → handler, for the tables of the workers. Ring 2; bootstrap calls it once."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from orchestrator.daily import mail, reminders
from orchestrator.daily.hours import Workdays
from orchestrator.daily.ports import BuildUrl, People, ReadAgenda
from orchestrator.session import Session
from orchestrator.turns import Tools
from state.store import InboxRow

Handler = Callable[[InboxRow, Session, Tools], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class DailyHelp:
    """Handlers of inbox kinds, timer kinds and typed commands, and what keeps the timers in step with what people want."""

    inbox: Mapping[str, Handler]
    timers: Mapping[str, Handler]
    commands: Mapping[str, Handler]
    planner: mail.DailyPlanner


def build_daily_help(agenda: ReadAgenda, url_of: BuildUrl, *, people: People, workdays: Workdays) -> DailyHelp:
    """Daily help over these ports."""
    sent = mail.DailyMessages(agenda, people, workdays)
    kept = reminders.Reminders(url_of)
    return DailyHelp(
        inbox={mail.PLAN: sent.plan_timers, reminders.SET: kept.set_reminder, reminders.PRESS: kept.apply_button},
        timers={mail.TIMER: sent.send_due, reminders.TIMER: kept.send_due},
        commands={"today": sent.show_today, "reminders": kept.show_reminders},
        planner=mail.DailyPlanner(people),
    )
