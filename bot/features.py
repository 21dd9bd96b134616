"""Assembles the features outside conversations and decisions, and which of them handles which input. Part of the composition root."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from orchestrator.directory.agenda import load_agenda
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.actor import Actor
from orchestrator.features.cards import editing
from orchestrator.features.cards.open_cards import CardRefresher
from orchestrator.features.daily.feature import build_daily_help
from orchestrator.features.daily.ports import Nobody, People
from orchestrator.features.history.handlers import History
from orchestrator.features.leads import feature as leading
from orchestrator.features.leads.assignment import LeadsWatcher
from orchestrator.features.people.feature import build_command_handlers, build_inbox_handlers, build_timer_handlers
from orchestrator.features.people.people_context import PeopleContext
from orchestrator.features.people.staff import Employees, Staff
from orchestrator.features.talking.feature import build_handlers
from orchestrator.features.talking.voice import VoiceInput
from orchestrator.features.undo import handlers as undoing
from orchestrator.gate.call.permissions import Staff as LeadStaff
from orchestrator.language.work_calendar import load_workdays
from orchestrator.runtime.turn import Handlers, PeriodicTask, merge_handlers
from state.journal.async_store import AsyncStore


@dataclass(frozen=True, kw_only=True)
class Features:
    """Handlers and periodic tasks of all features."""

    handlers: Handlers
    periodic_tasks: tuple[PeriodicTask, ...]


class Members(People, Staff, LeadStaff, Protocol):
    """Who may use the bot, as needed by the features that write to people and that admit them."""


def build_features(
    reads: PortalReader, naming: Naming, store: AsyncStore, members: Members | None, data: Path, *, ear: VoiceInput | None = None
) -> Features:
    """Build all features; without `members` the bot writes to nobody on its own. Raises SettingsError for faulty data files."""

    def url_of(target: str, actor: Actor) -> str:
        kind, _, number = target.rpartition(":")
        return naming.build_card_url(kind, int(number), user=actor.bitrix_user_id or 0)

    daily = build_daily_help(
        partial(load_agenda, reads, naming), url_of, people=members or Nobody(), workdays=load_workdays(data / "holidays.yaml")
    )
    every = merge_handlers(
        daily,
        _build_registry_handlers(reads, naming, members),
        editing.build_handlers(reads.catalogue, reads.reference),
        leading.build_inbox_handlers(),
        undoing.build_handlers(),
        History().build_handlers(),
        build_handlers(ear) if ear else Handlers(),
    )
    rounds = (daily.planner.run, CardRefresher(store).run)
    return Features(handlers=every, periodic_tasks=(*rounds, LeadsWatcher(store, members).run) if members else rounds)


def _build_registry_handlers(reads: PortalReader, naming: Naming, staff: Members | None) -> Handlers:
    if staff is None:
        return Handlers()
    desk = PeopleContext(staff=staff, employees=Employees(reads.reference, naming))
    registry = Handlers(inbox=build_inbox_handlers(desk), timers=build_timer_handlers(desk), commands=build_command_handlers(desk))
    return merge_handlers(registry, leading.build_handlers(staff))
