"""The features outside conversations and decisions, put together: which of them works which input. Ring 3, part of the composition root."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from orchestrator.cards import editing
from orchestrator.cards.showing import Refresher
from orchestrator.daily.handlers import daily_help
from orchestrator.daily.hours import load_workdays
from orchestrator.daily.ports import Nobody, People
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReads
from orchestrator.directory.today import agenda
from orchestrator.history.handlers import History
from orchestrator.leads import handlers as leading
from orchestrator.leads.choosing import Staff as LeadStaff
from orchestrator.leads.moving import LeadsWatch
from orchestrator.messages import Actor
from orchestrator.people.desk import Desk
from orchestrator.people.handlers import command_handlers, handlers, timer_handlers
from orchestrator.people.staff import Employees, Staff
from orchestrator.talking.handlers import talking
from orchestrator.talking.voice import Ear
from orchestrator.turns import Handlers, Round, together
from orchestrator.undo import handlers as undoing
from state.worker import AsyncStore


@dataclass(frozen=True, kw_only=True)
class Features:
    """What the product does besides answering."""

    handlers: Handlers
    rounds: tuple[Round, ...]


class Members(People, Staff, LeadStaff, Protocol):
    """Who may use the bot, as those ask for it who write to them and who let them in."""


def features(
    reads: PortalReads, naming: Naming, store: AsyncStore, members: Members | None, data: Path, *, ear: Ear | None = None
) -> Features:
    """All of them over these parts; without `members` the bot writes to nobody of its own accord. SettingsError for faulty data."""

    def url_of(target: str, actor: Actor) -> str:
        kind, _, number = target.rpartition(":")
        return naming.card_url(kind, int(number), user=actor.bitrix_user_id or 0)

    daily = daily_help(partial(agenda, reads, naming), url_of, people=members or Nobody(), workdays=load_workdays(data / "holidays.yaml"))
    own = Handlers(inbox=daily.inbox, timers=daily.timers, commands=daily.commands)
    every = together(
        own,
        _registry(reads, naming, members),
        editing.handlers(reads.catalogue, reads.reference),
        undoing.handlers(),
        History().handlers(),
        talking(ear) if ear else Handlers(),
    )
    rounds = (daily.planner.look, Refresher(store).look)
    return Features(handlers=every, rounds=(*rounds, LeadsWatch(store, members).look) if members else rounds)


def _registry(reads: PortalReads, naming: Naming, staff: Members | None) -> Handlers:
    if staff is None:
        return Handlers()
    desk = Desk(staff=staff, employees=Employees(reads.reference, naming))
    registry = Handlers(inbox=handlers(desk), timers=timer_handlers(desk), commands=command_handlers(desk))
    return together(registry, leading.handlers(staff))
