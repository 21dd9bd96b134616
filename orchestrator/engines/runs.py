"""The interface between an engine whose work outlives a turn and its run.

The engine is played from its beginning each time; what nodes gave is read from the stream. So it names nodes alike and uses no clock or
chance.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final, Literal, Protocol, TypeVar

from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import Outcome
from orchestrator.domain.models import ModelRequest, Role
from orchestrator.domain.outputs import Notice, Reply, SentFile
from orchestrator.domain.taint import NOWHERE, UNDECLARED, Origin, Origins, Value
from state.model.definitions import EDITION
from state.stored import JsonObject

T = TypeVar("T")
AnswerKind = Literal["text", "option", "contact", "photo", "document", "back", "timeout"]
Takes = Literal["text", "contact", "photo", "document"]
NodeState = Literal["new", "waited", "finished"]
""""new": never played; "waited": waits, or what it waited for has come."""
NOTHING: Final = Value(None)
MEGABYTE: Final = 1024 * 1024
LARGEST_FILES: Final[Mapping[Literal["photo", "document"], int]] = {"photo": 10 * MEGABYTE, "document": 20 * MEGABYTE}
"""In bytes: the limits of Telegram and of a blob."""


LIMIT: Final = "run-limit-"
"""Begins the codes of runs that a limit of their author has stopped."""


class RunSuspended(Exception):
    """A node waits. The engine lets it pass; `run_all` finishes the other nodes first."""


TOLD_BY_CARD: Final = "card-already-"
"""How reasons begin that a person's card shows already."""
_REFUSED_BY_PORTAL: Final[Origins] = frozenset({"prose"})
MOST_REASONS: Final = 3
"""Of another run; the innermost ones."""


@dataclass(frozen=True, slots=True)
class Reasons:
    notices: tuple[Notice, ...] = ()
    origins: Origins = NOWHERE

    def put_behind(self, notice: Notice, origins: Origins = NOWHERE) -> "Reasons":
        return Reasons((notice, *(one for one in self.notices if one != notice)), self.origins | origins)

    def to_value(self) -> Value:
        return Value([dict(notice.args) for notice in self.notices], self.origins)

    def to_stored(self) -> JsonObject:
        return {"notices": [notice.model_dump(mode="json") for notice in self.notices], "origins": sorted(self.origins)}

    @classmethod
    def from_stored(cls, stored: JsonObject) -> "Reasons":
        """Return none for what earlier versions stored."""
        return cls(tuple(map(Notice.model_validate, stored.get("notices", ()))), frozenset(stored.get("origins", ())))


NO_REASONS: Final = Reasons()


class RunFailed(Exception):
    """`detail` is for operations staff."""

    value: Value = NOTHING
    """What programs get as its result nevertheless."""
    origins: Origins = NOWHERE
    reasons: Reasons = NO_REASONS
    """Why another run failed that ended this one."""

    def __init__(self, code: str, detail: str = "", **args: object) -> None:
        super().__init__(detail or code)
        self.code, self.detail, self.args_of_notice = code, detail, args

    def explain(self, ended: "RunResult") -> "RunFailed":
        """Add the reasons of another run, which the person would read nowhere else."""
        self.reasons = replace(ended.reasons, notices=ended.reasons.notices[-MOST_REASONS:])
        return self

    def explain_refusal(self, outcome: Outcome) -> "RunFailed":
        """Add why an effect was refused, unless its denied card shows it."""
        if outcome.reason is not None and not outcome.reason.code.startswith(TOLD_BY_CARD):
            self.reasons = Reasons((outcome.reason,), _REFUSED_BY_PORTAL if outcome.foreign_text else NOWHERE)
        return self


@dataclass(frozen=True, kw_only=True)
class Definition:
    key: str
    version: int = 0
    document: Any = None
    engine: str = ""
    edition: int = EDITION
    """The rules in force when the version was first published."""


class FindParts(Protocol):
    """Finds the parts that a definition names, such as agents, by the UUIDs of their versions."""

    async def __call__(self, versions: list[str], /) -> Mapping[str, object]:
        """Return published versions of active parts; others are left out."""


async def find_no_parts(_versions: list[str], /) -> Mapping[str, object]:
    """For a program without a store."""
    return {}


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    run_id: str
    definition: Definition
    owner: str
    home: str
    owner_name: str = ""
    """As it was when the run began, so that playing it again reads the same."""
    employee: int | None = None
    """The owner's number in the portal then; None for no employee."""
    time_zone: str = ""
    today: str = ""
    """The day of its begin in that zone, such as 2026-11-27."""
    parent: str = ""
    depth: int = 0
    replay: int = 1
    args: Mapping[str, Value] = field(default_factory=dict)
    pins: Sequence[Mapping[str, Any]] = ()
    """Texts fixed at the begin, for its children too: {engine, definition, version, digest, edition}."""


@dataclass(frozen=True, kw_only=True)
class RunUpdate:
    """What is left out stays. Never stored, may be dropped."""

    text: str = ""
    snapshot: Mapping[str, Any] | None = None
    """A picture as its watchers define it: JSON data of at most 64 KB."""
    patch: Mapping[str, Any] | None = None
    """A JSON merge patch of the picture (RFC 7396)."""


@dataclass(frozen=True, kw_only=True)
class RunModelRequest(ModelRequest):
    role: Role = "tool"
    origins: Origins = NOWHERE
    is_shown: bool = True
    """Otherwise the answer is asked for in one piece."""


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """Since the begin or the last retry; `time` without waiting for people. None: no limit."""

    tokens: int | None = None
    cost: Decimal | None = None
    time: timedelta | None = None


@dataclass(frozen=True, kw_only=True)
class RunEffect:
    """What a node proposes; every outside value in `params` is a `Value`."""

    method: str
    params: Mapping[str, Any]
    kind: str = "bitrix"
    comment: str = ""
    requires_confirmation: bool = False
    must_read: bool = False
    """The gate refuses a call that might change anything."""
    is_trial: bool = False
    """Refused or planned, neither asked about nor made."""
    is_computed: bool = False
    """If the records change while a card waits, it is refused (`COMPUTED_CHANGED`)."""
    part_of: str = ""
    """See `Effect.part_of`."""


@dataclass(frozen=True, kw_only=True)
class Option:
    label: str
    value: Any
    origins: Origins = NOWHERE
    leaves: bool = False
    """It ends the run: no button of the program does."""


@dataclass(frozen=True, kw_only=True)
class Ask:
    """Without `answers` only the owner may answer."""

    text: str = ""
    notice: Notice | None = None
    heading: Notice | None = None
    options: Sequence[Option] = ()
    controls: Sequence[Option] = ()
    """Buttons below `options`, labelled by codes of sentences."""
    words: frozenset[str] = frozenset()
    """Typed answers that count as such even if they say «стоп»."""
    takes: frozenset[Takes] = frozenset()
    is_again: bool = False
    """The answer before did not fit: chats say how to leave."""
    can_go_back: bool = False
    """«назад» is then an answer of kind "back"."""
    timeout: timedelta | None = None
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Heard:
    """`value`: text, an option's value, {phone, name, user_id}, {digest, name, size, type} of a file, or None."""

    kind: AnswerKind
    value: Value
    by: str = ""


@dataclass(frozen=True, kw_only=True)
class Changes:
    """`made` counts planned and already present ones, too."""

    made: int = 0
    left: int = 0


@dataclass(frozen=True, kw_only=True)
class RunResult:
    value: Value = NOTHING
    reply: Reply | None = None
    status: Literal["done", "failed", "cancelled"] = "done"
    code: str = ""
    detail: str = ""
    """For programs and operations staff, in English."""
    changes: Changes = Changes()
    title: str = ""
    """The title of a failed child run; "" if only its key is known."""
    reasons: Reasons = NO_REASONS
    """Why it failed, without what the person has read already."""


async def note_value(ctx: "RunContext", node: str, value: Any, *, origins: Origins) -> Value:
    """A replay gives what was noted first."""

    async def make() -> Any:
        return value

    return await ctx.memo(node, make, origins=origins)


class RunContext(Protocol):
    """What an engine reaches; each method that does something names its node, a unique text."""

    run: RunInfo
    actor: Actor
    """With their present rights."""
    mode: Mode

    @property
    def now(self) -> datetime:
        """In UTC; an engine that decides by it takes it through `memo`."""

    def find_state(self, node: str, *, is_message: bool = False) -> NodeState:
        """Return what is known of a node, or message, before it is played."""

    def count_failures(self, node: str) -> int: ...

    def find_time(self, node: str) -> datetime:
        """Return when its result was stored; the present if unfinished."""

    def is_before_retry(self, node: str) -> bool:
        """Return whether the node was played or failed before the last retry."""

    def limit(self, limits: RunLimits) -> None:
        """Hold all models from here on to these limits: RunFailed for a call that might exceed them. Earlier and lost calls count."""

    async def say(self, reply: Reply, *, key: str, message: str = "") -> None:
        """Send once for each `key`, with what is stored next, at the latest after 0.05 s; replaces the last with the name `message`."""

    async def say_file(self, file: SentFile, load: Callable[[], Awaitable[bytes]], *, key: str) -> None:
        """Send once for each `key`; only then `load` is called. Raises RunFailed for an empty or too large file."""

    async def keep_file(self, node: str, load: Callable[[], Awaitable[bytes | None]], *, origins: Origins = UNDECLARED) -> Value:
        """Keep what `load`, called once, gives as a blob: {digest, size}.

        {planned: true} if it gives None in shadow mode, {problem, why, args} for FileUnavailable.
        """

    async def show(self, update: RunUpdate, *, node: str) -> None:
        """May be dropped."""

    async def ask_model(self, node: str, request: RunModelRequest, on_delta: Callable[[str], Awaitable[None]] | None = None) -> Value:
        """Ask once for each node.

        With tools {text, calls: [{id, name, arguments, problem}], finish_reason}, otherwise the text. Raises RunFailed.
        """

    async def memo(self, node: str, make: Callable[[], Awaitable[Any]], *, origins: frozenset[Origin] = UNDECLARED) -> Value:
        """Return what `make`, called once for each node, gives.

        Without `origins`, or with foreign text known to the run, it is text of strangers.
        """

    async def submit(self, node: str, effect: RunEffect) -> Outcome:
        """Return the gate's outcome; RunSuspended while a person decides. In shadow mode it is `planned`."""

    async def accept_refusal(self, node: str) -> None:
        """Let a retry go the same way, not try it anew."""

    async def wait_input(self, node: str, ask: Ask) -> Heard: ...

    async def load_file(self, sent: Value) -> Value:
        """Return the bytes of a file from `wait_input`. Raises RunFailed if it is gone."""

    async def sleep(self, node: str, until: datetime) -> None:
        """RunSuspended until then."""

    async def child(self, node: str, engine: str, definition: str, args: Mapping[str, Value]) -> RunResult:
        """Start another run or turn and return its result; RunSuspended until it ends."""


class RunEngine(Protocol):
    replay: int
    replays: frozenset[int]
    """The versions that this program can still play."""

    async def run(self, ctx: RunContext) -> RunResult:
        """Raises RunSuspended while a node waits, RunFailed if it cannot go on."""


MAX_NODES: Final = 10_000


async def run_all(*nodes: Awaitable[T]) -> list[T]:
    """Return results in order; all nodes end before an error, or else RunSuspended, is raised."""
    ended = await asyncio.gather(*nodes, return_exceptions=True)
    errors = [one for one in ended if isinstance(one, BaseException)]
    for error in sorted(errors, key=lambda failure: isinstance(failure, RunSuspended)):
        raise error
    return ended  # type: ignore[return-value]  # no errors are left


def find_cause(error: BaseException) -> BaseException:
    """Return the first real error of a TaskGroup, a wait only if there is no other."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    causes = [find_cause(exception) for exception in error.exceptions]
    return next((cause for cause in causes if not isinstance(cause, RunSuspended | asyncio.CancelledError)), causes[0])
