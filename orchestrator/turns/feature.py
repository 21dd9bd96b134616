"""What a feature registers (`Feature`), and what its handlers get (`Tools`). See CONTRIBUTING.md."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol, TypeVar

from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.inputs import ParsedInput
from orchestrator.domain.models import Models
from orchestrator.domain.outputs import Notice, Reply, Table
from orchestrator.domain.report import ReportAnswer, ReportTrouble
from orchestrator.engines.base import Engine
from orchestrator.gate.gate import Gate
from orchestrator.language.text import Locale
from orchestrator.replies.text_guard import TextGuard
from orchestrator.sessions.audit import Audit
from orchestrator.sessions.model_calls import UNLIMITED, ModelBudget
from orchestrator.sessions.run_progress import RunProgress
from orchestrator.sessions.session import Session
from orchestrator.sessions.turn_context import Query
from orchestrator.sessions.undo_steps import UndoSteps
from state.journal.async_store import AsyncStore
from state.journal.store import EffectChange, InboxRow, Lane
from state.stored import JsonObject

MAX_TURNS = 512
"""A limit for memory only: a model that hangs for one person must not block others."""

FILE_SECONDS: Final = 30.0

T = TypeVar("T")
RefreshActor = Callable[[Actor], Actor | None]
Handler = Callable[[InboxRow, Session, "Tools"], Awaitable[None]]
"""Handles one input to its end and commits `inbox_done`. Raises StoreError."""
Receive = Callable[[Sequence[InboxRow]], Awaitable[object]]
PeriodicTask = Callable[[Receive, datetime], Awaitable[None]]
"""Submits inputs for work that is due without a timer. May raise StoreError."""
ShowPartial = Callable[[str, str | Notice], Awaitable[None]]
"""Gets a session key, and the text so far or a notice. May drop it."""
LastWords = Callable[[str, "Tools"], Awaitable[tuple[str, Reply] | None]]
"""Gets a run's id; gives what it has done, and which of its messages says so from now on."""


SHORT_ARGS: Final = 200


@dataclass(frozen=True, kw_only=True)
class CommandSpec:
    """What front ends and menus need to know of a command."""

    lane: Lane = "express"
    """"turn": the command waits until the running turn ends."""
    longest: int = SHORT_ARGS
    """Characters after the command."""
    menu: Notice | None = None
    """Its line in the menus; None if it is not offered."""
    engine: str = ""
    """The engine that answers what follows the command; "" if it has a handler."""
    in_groups: bool = False
    for_admins: bool = False


@dataclass(frozen=True, kw_only=True)
class Feature:
    """What one feature registers, or all together."""

    inbox: Mapping[str, Handler] = field(default_factory=dict)
    """Handlers of own inputs, by the kind of the row."""
    timers: Mapping[str, Handler] = field(default_factory=dict)
    commands: Mapping[str, Handler] = field(default_factory=dict)
    """Handlers of commands, by the name after the slash."""
    command_specs: Mapping[str, CommandSpec] = field(default_factory=dict)
    """By command; one without a spec has the defaults."""
    buttons: Mapping[str, Handler] = field(default_factory=dict)
    """Handlers, by the first word of a button."""
    periodic_tasks: Sequence[PeriodicTask] = ()
    """Run every `PERIOD` (20) seconds."""
    frequent_tasks: Sequence[PeriodicTask] = ()
    """Run every `FREQUENT_PERIOD` (3) seconds, for what somebody waits to see."""
    given_up_timers: Mapping[str, Handler] = field(default_factory=dict)
    """Set a quarantined timer again, by its kind. Without one only sessions that nobody reads set it again, an hour later."""
    starts: Mapping[str, Callable[[datetime], InboxRow]] = field(default_factory=dict)
    """Build the first input of a feature, by kind (`Orchestrator.start_feature`)."""
    message_takers: Sequence[Callable[[ParsedInput, Session, "Tools"], Awaitable[bool]]] = ()
    """See each message before its turn; True means that it is handled."""
    given_up_inputs: Mapping[str, Handler] = field(default_factory=dict)
    """End the work of a quarantined input, by its kind."""
    watchers: Sequence[Callable[[Sequence[EffectChange]], None]] = ()
    """Called after every commit of every session."""
    last_words: Mapping[str, "LastWords"] = field(default_factory=dict)
    """By engine of runs, for those that were cancelled or failed."""


def merge_features(*features: Feature) -> Feature:
    """Raises ValueError if two features handle the same inputs."""
    return Feature(
        inbox=_merge_tables("inputs", [feature.inbox for feature in features]),
        timers=_merge_tables("timers", [feature.timers for feature in features]),
        commands=_merge_tables("commands", [feature.commands for feature in features]),
        command_specs=_merge_tables("command specs", [feature.command_specs for feature in features]),
        buttons=_merge_tables("presses", [feature.buttons for feature in features]),
        periodic_tasks=[task for feature in features for task in feature.periodic_tasks],
        frequent_tasks=[task for feature in features for task in feature.frequent_tasks],
        given_up_timers=_merge_tables("given up timers", [feature.given_up_timers for feature in features]),
        starts=_merge_tables("starts", [feature.starts for feature in features]),
        message_takers=[taker for feature in features for taker in feature.message_takers],
        given_up_inputs=_merge_tables("given up inputs", [feature.given_up_inputs for feature in features]),
        watchers=[watcher for feature in features for watcher in feature.watchers],
        last_words=_merge_tables("last words", [feature.last_words for feature in features]),
    )


def _merge_tables(name: str, tables: Sequence[Mapping[str, T]]) -> dict[str, T]:
    merged: dict[str, T] = {}
    for table in tables:
        if twice := merged.keys() & table.keys():
            raise ValueError(f"two features want the same {name}: {', '.join(sorted(twice))}")
        merged |= table
    return merged


class Stoppable(Protocol):
    """Work that /stop can end."""

    @property
    def actor(self) -> Actor: ...

    def stop(self) -> None:
        """A call that was sent is awaited first."""


class Files(Protocol):
    async def read(self, file_id: str, limit: int, *, within: float = FILE_SECONDS) -> bytes:
        """Raises FileUnavailable, also above `limit` bytes or after `within` seconds."""


class Reports(Protocol):
    """Counts over the records of the people `sees`, None for all."""

    @property
    def has_begun(self) -> bool:
        """Nothing is read from the portal for reports before somebody asks for the first."""

    async def answer(
        self, question: JsonObject, *, sees: frozenset[int] | None, zone: str, locale: Locale
    ) -> ReportAnswer | ReportTrouble: ...

    async def list_records(self, question: JsonObject, *, actor: Actor) -> Table | ReportTrouble:
        """Return exactly the records that the question counts. Raises BitrixError."""


@dataclass(frozen=True, kw_only=True)
class Tools:
    """One per process, built by `bot/composition/bootstrap.py`."""

    store: AsyncStore
    gate: Gate
    model: Models
    engines: Mapping[str, Engine]
    queries: Mapping[str, Query]
    audit: Audit
    mode: Mode
    show_partial: ShowPartial
    guard: TextGuard
    """Removes secrets and unknown links from answers."""
    refresh_actor: RefreshActor
    """None if access is lost."""
    model_budget: ModelBudget = UNLIMITED
    features: Feature = Feature()
    reports: Reports | None = None
    undo: UndoSteps | None = None
    running: dict[str, Stoppable] = field(default_factory=dict)
    """Work that /stop can end, by session."""
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_TURNS))
    """Limits turns of all channels in this process."""
    progress: RunProgress = field(default_factory=RunProgress)
