"""The parts of daily help put together: kind → handler, for the tables of the workers. Ring 2; bootstrap calls it once."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from orchestrator.daily import mail, reminders
from orchestrator.daily.hours import Workdays
from orchestrator.daily.ports import AgendaOf, People, UrlOf
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
    planner: mail.Planner


def daily_help(agenda: AgendaOf, url_of: UrlOf, *, people: People, workdays: Workdays) -> DailyHelp:
    """Daily help over these ports."""
    sent = mail.DailyMail(agenda, people, workdays)
    kept = reminders.Reminders(url_of)
    return DailyHelp(
        inbox={mail.PLAN: sent.plan, reminders.SET: kept.received, reminders.PRESS: kept.pressed},
        timers={mail.TIMER: sent.due, reminders.TIMER: kept.due},
        commands={"today": sent.today, "reminders": kept.listed},
        planner=mail.Planner(people),
    )
