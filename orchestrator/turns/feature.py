"""Defines what a feature registers with the runtime (`Feature`) and the services that its handlers get (`Tools`). See CONTRIBUTING.md."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol, TypeVar

from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.inputs import ParsedInput
from orchestrator.domain.models import Models
from orchestrator.domain.outputs import Notice
from orchestrator.engines.base import Engine
from orchestrator.gate.gate import Gate
from orchestrator.replies.text_guard import TextGuard
from orchestrator.sessions.audit import Audit
from orchestrator.sessions.model_calls import UNLIMITED, ModelBudget
from orchestrator.sessions.run_progress import RunProgress
from orchestrator.sessions.session import Session
from orchestrator.sessions.turn_context import Query
from state.journal.async_store import AsyncStore
from state.journal.store import EffectChange, InboxRow, Lane

MAX_TURNS = 512
"""How many turns may run at once: a limit for memory, far above the people of one company.

A model that hangs for one person must not block the others.
"""

FILE_SECONDS: Final = 30.0
"""How long the download of a file may take, unless the caller says otherwise."""

T = TypeVar("T")
RefreshActor = Callable[[Actor], Actor | None]
Handler = Callable[[InboxRow, Session, "Tools"], Awaitable[None]]
"""A function that handles one input to its end and commits the results together with `inbox_done`. Raises StoreError."""
Receive = Callable[[Sequence[InboxRow]], Awaitable[object]]
"""A function that stores new inputs durably and starts to handle them."""
PeriodicTask = Callable[[Receive, datetime], Awaitable[None]]
"""A function that the worker calls at regular intervals.

It checks for work that has become due without a timer, and submits inputs for it. May raise StoreError.
"""
ShowPartial = Callable[[str, str | Notice], Awaitable[None]]
"""A function that shows a draft in a chat: it gets the session key, and the text so far or a progress notice.

A draft may be dropped.
"""


SHORT_ARGS: Final = 200
"""How many characters of what is typed after a command are kept, unless the command says otherwise."""


@dataclass(frozen=True, kw_only=True)
class CommandSpec:
    """What the front ends need to know of a typed command that a feature handles; the only way to a command that menus offer."""

    lane: Lane = "express"
    """The lane of its inputs: "turn" if the command waits until the running turn of the conversation has ended, otherwise "express"."""
    longest: int = SHORT_ARGS
    """How many characters of what is typed after the command are kept."""
    menu: Notice | None = None
    """Its line in the menus, behind those of the bot itself, in order of registration; None if it is not offered there."""
    engine: str = ""
    """The engine that answers what is typed after the command, in a turn; "" if the command has a handler."""
    in_groups: bool = False
    """Whether the menu of groups, where several people read along, offers it too."""
    for_admins: bool = False
    """Whether only the menu of administrators offers it."""


@dataclass(frozen=True, kw_only=True)
class Feature:
    """The handlers and tasks that one feature registers, or those of all features together. Fields that are not used are empty."""

    inbox: Mapping[str, Handler] = field(default_factory=dict)
    """Handlers of the feature's own inputs, by the kind of the inbox row."""
    timers: Mapping[str, Handler] = field(default_factory=dict)
    commands: Mapping[str, Handler] = field(default_factory=dict)
    """Handlers of typed commands, by the name after the slash."""
    command_specs: Mapping[str, CommandSpec] = field(default_factory=dict)
    """What the front ends need to know of these commands, by name; a command without a spec has the defaults of `CommandSpec`."""
    buttons: Mapping[str, Handler] = field(default_factory=dict)
    """Handlers of buttons, by the first of the words that a button carries."""
    periodic_tasks: Sequence[PeriodicTask] = ()
    """Functions that the worker runs every `PERIOD` (20) seconds, one after the other."""
    frequent_tasks: Sequence[PeriodicTask] = ()
    """Functions that the worker runs every `FREQUENT_PERIOD` (3) seconds.

    They notice changes whose result somebody is waiting to see, such as a file that was just saved.
    """
    given_up_timers: Mapping[str, Handler] = field(default_factory=dict)
    """Handlers, by kind of timer, that set the timer again when its input is quarantined, and tell whoever should hear of it.

    Without one the timer is set again an hour later in a session that nobody reads; elsewhere it is deleted, and the chat is told.
    """
    starts: Mapping[str, Callable[[datetime], InboxRow]] = field(default_factory=dict)
    """Functions, by kind, that build the input with which a feature begins its work.

    They are used only in a process that asks for it (`Orchestrator.start_feature`).
    """
    message_takers: Sequence[Callable[[ParsedInput, Session, "Tools"], Awaitable[bool]]] = ()
    """Functions that see each message before a turn begins with it. One that returns True has handled the message to its end."""
    given_up_inputs: Mapping[str, Handler] = field(default_factory=dict)
    """Handlers, by kind of input, that end the work which an input of that kind would have done, when the input is quarantined."""
    watchers: Sequence[Callable[[Sequence[EffectChange]], None]] = ()
    """Functions called with the changes of effects after every commit of every session."""


def merge_features(*features: Feature) -> Feature:
    """Return one `Feature` with everything that `features` register.

    Raises ValueError if two of them handle the same inputs.
    """
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
    )


def _merge_tables(name: str, tables: Sequence[Mapping[str, T]]) -> dict[str, T]:
    merged: dict[str, T] = {}
    for table in tables:
        if twice := merged.keys() & table.keys():
            raise ValueError(f"two features want the same {name}: {', '.join(sorted(twice))}")
        merged |= table
    return merged


class Stoppable(Protocol):
    """Running work (a turn, or a voice message being transcribed) that a person may stop with /stop."""

    @property
    def actor(self) -> Actor:
        """The person who requested the work."""

    def stop(self) -> None:
        """Ask the work to stop soon. If a call was already sent, the work first waits for its answer."""


class Files(Protocol):
    """Downloads what people send from the messenger. A front end implements this protocol."""

    async def read(self, file_id: str, limit: int, *, within: float = FILE_SECONDS) -> bytes:
        """Return the content of the file. Raises FileUnavailable, also for more than `limit` bytes or after `within` seconds."""


@dataclass(frozen=True, kw_only=True)
class Tools:
    """The services that handlers of inputs use. One instance is built per process by `bot/composition/bootstrap.py`."""

    store: AsyncStore
    gate: Gate
    model: Models
    engines: Mapping[str, Engine]
    queries: Mapping[str, Query]
    audit: Audit
    mode: Mode
    show_partial: ShowPartial
    guard: TextGuard
    """Cleans answers: no secrets, and links to known places only."""
    refresh_actor: RefreshActor
    """A function that returns the person with their present rights, or None if they have lost access."""
    model_budget: ModelBudget = UNLIMITED
    features: Feature = Feature()
    """What all features registered."""
    running: dict[str, Stoppable] = field(default_factory=dict)
    """The running work of each session, for /stop: a turn, or a voice message being transcribed."""
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_TURNS))
    """Limits how many turns run at once in this process, whichever channel they came from."""
    progress: RunProgress = field(default_factory=RunProgress)
    """What the runs of this process show of their progress."""
