"""The interface between an engine whose work outlives a turn (scenarios, flows, workflows) and the run that it works in.

A run is one execution of a definition. Its engine is an ordinary function: it is played from its beginning each time something that it
waits for has come, also after a restart. What its nodes gave before is not done again but read from the run's stream. So an engine must
name its nodes the same each time, must reach the outside only through its `RunContext`, and must not use the clock or random numbers.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final, Literal, Protocol, TypeVar

from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.models import ModelRequest, Role
from orchestrator.domain.outcome import Outcome
from orchestrator.domain.outputs import Notice, Reply, SentFile
from orchestrator.domain.taint import NOWHERE, UNDECLARED, Origin, Origins, Value
from state.model.definitions import EDITION
from state.stored import JsonObject

T = TypeVar("T")
AnswerKind = Literal["text", "option", "contact", "photo", "document", "back", "timeout"]
Takes = Literal["text", "contact", "photo", "document"]
NodeState = Literal["new", "waited", "finished"]
"""What a node is when the run is played: never played before; it waits, or what it waited for has come; nothing is left to do."""
NOTHING: Final = Value(None)
MEGABYTE: Final = 1024 * 1024
LARGEST_FILES: Final[Mapping[Literal["photo", "document"], int]] = {"photo": 10 * MEGABYTE, "document": 20 * MEGABYTE}
"""The largest files that a run sends, in bytes: Telegram takes no larger photo, and a blob of the run holds no larger file."""


class RunSuspended(Exception):
    """Raised by a `RunContext` when a node waits. The engine lets it pass; `run_all` lets the other nodes finish first."""


TOLD_BY_CARD: Final = "card-already-"
"""How the reasons begin of what a person has decided: their card shows it."""
_REFUSED_BY_PORTAL: Final[Origins] = frozenset({"prose"})
MOST_REASONS: Final = 3
"""How many sentences of another run say why it failed: where that one, too, waited for others, those of the innermost."""


@dataclass(frozen=True, slots=True)
class Reasons:
    """Why a run did not come to its end, as sentences for its person, the innermost run's last, and where texts in them come from."""

    notices: tuple[Notice, ...] = ()
    origins: Origins = NOWHERE

    def put_behind(self, notice: Notice, origins: Origins = NOWHERE) -> "Reasons":
        """Return this sentence of the run around with the reasons behind it, which do not repeat it."""
        return Reasons((notice, *(one for one in self.notices if one != notice)), self.origins | origins)

    def to_value(self) -> Value:
        """Return the texts in the sentences with their origins."""
        return Value([dict(notice.args) for notice in self.notices], self.origins)

    def to_stored(self) -> JsonObject:
        """Return the reasons as JSON data."""
        return {"notices": [notice.model_dump(mode="json") for notice in self.notices], "origins": sorted(self.origins)}

    @classmethod
    def from_stored(cls, stored: JsonObject) -> "Reasons":
        """Return the reasons from their JSON data; none from what an earlier version of the program stored."""
        return cls(tuple(map(Notice.model_validate, stored.get("notices", ()))), frozenset(stored.get("origins", ())))


NO_REASONS: Final = Reasons()


class RunFailed(Exception):
    """Ends the run as failed, with a message for the person (a code and its arguments) and a `detail` for operations staff."""

    value: Value = NOTHING
    """What the run gives although it has failed, to programs that ask for its result."""
    origins: Origins = NOWHERE
    """Where the texts in the arguments come from."""
    reasons: Reasons = NO_REASONS
    """Why another run failed that has ended this one; the person reads it behind the message."""

    def __init__(self, code: str, detail: str = "", **args: object) -> None:
        """Set the message's code and arguments, and an English sentence that says what happened."""
        super().__init__(detail or code)
        self.code, self.detail, self.args_of_notice = code, detail, args

    def explain(self, ended: "RunResult") -> "RunFailed":
        """Return the error with the reasons why another run has ended, which the person would read nowhere else."""
        self.reasons = replace(ended.reasons, notices=ended.reasons.notices[-MOST_REASONS:])
        return self

    def explain_refusal(self, outcome: Outcome) -> "RunFailed":
        """Return the error with the reason why an effect was refused, unless the card that a person has denied shows it."""
        if outcome.reason is not None and not outcome.reason.code.startswith(TOLD_BY_CARD):
            self.reasons = Reasons((outcome.reason,), _REFUSED_BY_PORTAL if outcome.foreign_text else NOWHERE)
        return self


@dataclass(frozen=True, kw_only=True)
class Definition:
    """The text that a run executes: its key and version in the store of definitions, and its content as JSON data."""

    key: str
    version: int = 0
    document: Any = None
    engine: str = ""
    """The engine that executes it."""
    edition: int = EDITION
    """By the rules of which edition it is executed: those that held when the version was first published."""


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """What a run is: its id, what it executes, for whom, and where its messages are shown."""

    run_id: str
    definition: Definition
    owner: str
    home: str
    owner_name: str = ""
    """The owner's name when the run began, so that a run that is played again reads the same."""
    employee: int | None = None
    """The owner's number as an employee of the portal, as it was then; None for somebody who is none."""
    time_zone: str = ""
    """The owner's time zone, as it was then."""
    today: str = ""
    """The day on which the run began in that time zone, such as 2026-11-27."""
    parent: str = ""
    depth: int = 0
    """How many runs wait for the end of this one."""
    replay: int = 1
    """The replay version of the engine that began it."""
    args: Mapping[str, Value] = field(default_factory=dict)
    pins: Sequence[Mapping[str, Any]] = ()
    """The texts that were fixed when the run began, which its children execute too: {engine, definition, version, digest, edition}."""


@dataclass(frozen=True, kw_only=True)
class RunUpdate:
    """What a run shows of its progress; what is left out stays as it is. Nothing of it is stored, and any of it may be dropped."""

    text: str = ""
    """A draft for the run's chat, which replaces the draft before it."""
    snapshot: Mapping[str, Any] | None = None
    """A picture of the run for clients that watch it, as they define it: JSON data of at most 64 KB in all."""
    patch: Mapping[str, Any] | None = None
    """A change of that picture as a JSON merge patch (RFC 7396)."""


@dataclass(frozen=True, kw_only=True)
class RunModelRequest(ModelRequest):
    """One request of a run to the language model. `origins` says where the text of the prompt comes from."""

    role: Role = "tool"
    origins: Origins = NOWHERE
    is_shown: bool = True
    """Whether the answer is shown in the run's chat while it comes. If not, it is asked for in one piece."""


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """How much of models and time a run may use from its begin, or from the moment when a person last had it retried; None: no limit.

    `cost` is in the currency of the policy's prices. `time` does not pass while the run waits for people: for an answer, the decision about
    an effect, or the end of a pause.
    """

    tokens: int | None = None
    cost: Decimal | None = None
    time: timedelta | None = None


@dataclass(frozen=True, kw_only=True)
class RunEffect:
    """An outside action that a node proposes. `params` is JSON data in which every value from outside of the program is a `Value`."""

    method: str
    params: Mapping[str, Any]
    kind: str = "bitrix"
    comment: str = ""
    requires_confirmation: bool = False
    must_read: bool = False
    """Whether the call is meant to read only: the gate refuses one that might change anything."""
    is_trial: bool = False
    """Whether the call is only tried: it is refused as it would be, or planned, and neither asked about nor made."""
    is_computed: bool = False
    """Whether values were computed from the records: if these change while a card waits, the call is refused (`COMPUTED_CHANGED`)."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """A button under a question: its text, and the JSON value that the run gets when it is pressed, with where that comes from."""

    label: str
    value: Any
    origins: Origins = NOWHERE
    leaves: bool = False
    """Whether it ends the run: the program then adds no button of its own that does."""


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A question to a person: its text, the buttons under it, and what may be sent as the answer.

    After `timeout` the answer is a `Heard` of kind "timeout". `answers` are the keys of the people who may answer; empty for the owner.
    """

    text: str = ""
    notice: Notice | None = None
    """The question as a sentence of the program, in place of `text`."""
    heading: Notice | None = None
    """A sentence of the program beside the question, such as how far the run is."""
    options: Sequence[Option] = ()
    controls: Sequence[Option] = ()
    """Buttons of the program below `options`, such as one that goes back; the label of each is the code of a sentence.

    In chats one that ends the run stands below them without being listed, unless there is one of that meaning already.
    """
    words: frozenset[str] = frozenset()
    """What may be typed as an answer and has a meaning of its author's, such as a choice: it is one, even if it says «стоп»."""
    takes: frozenset[Takes] = frozenset()
    is_again: bool = False
    """Whether the answer before did not fit: chats then say below the question how to leave."""
    can_go_back: bool = False
    """Whether the engine can ask the question before this one anew: the answer «назад» is then a `Heard` of kind "back"."""
    timeout: timedelta | None = None
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Heard:
    """The answer to an `Ask`.

    `value` is the text, the value of the option, {phone, name, user_id} for a contact, {digest, name, size, type} for a photo or document
    (`RunContext.load_file` gives its content), None after a timeout and for a wish to go back.
    """

    kind: AnswerKind
    value: Value
    by: str = ""


@dataclass(frozen=True, kw_only=True)
class Changes:
    """How many of the changes that a run proposed were made (or planned, or there already), and how many were left undone."""

    made: int = 0
    left: int = 0


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What a run gives when it ends: to the person as a message, and to the run that started it as a value."""

    value: Value = NOTHING
    reply: Reply | None = None
    """The last message of the run; None for none."""
    status: Literal["done", "failed", "cancelled"] = "done"
    code: str = ""
    detail: str = ""
    """Why it failed, as an English sentence for programs and operations staff."""
    changes: Changes = Changes()
    """What became of the changes that it proposed."""
    title: str = ""
    """What people call a run that another one started and that failed; "" if nothing but its key is known."""
    reasons: Reasons = NO_REASONS
    """Why it failed: to the run that started it all that it has not told itself, to its own end what stands behind its own message."""


class RunContext(Protocol):
    """The access of an engine to the outside world during a run. Each method that does something names its node, a unique text."""

    run: RunInfo
    actor: Actor
    """The person with whose rights the run works, with their present rights."""
    mode: Mode

    @property
    def now(self) -> datetime:
        """The time at which the run is being played, in UTC. An engine that decides by it must take it through `memo`."""

    def find_state(self, node: str, *, is_message: bool = False) -> NodeState:
        """Return what is known of a node, or of a message with this key, before it is played now: what a log of the run needs."""

    def count_failures(self, node: str) -> int:
        """Return how often the model gave no answer to this node."""

    def find_time(self, node: str) -> datetime:
        """Return when what a finished node gave was stored; of one that is not finished, the present time."""

    def is_before_retry(self, node: str) -> bool:
        """Return whether the node was played, or failed, before a person last had the run retried."""

    def limit(self, limits: RunLimits) -> None:
        """Hold the models that the run asks from here on to these limits, also those that services ask for it.

        A call that might exceed them with its whole prompt and answer is not made and raises RunFailed. What earlier nodes used counts,
        also a call whose answer a crash has lost.
        """

    async def say(self, reply: Reply, *, key: str) -> None:
        """Send a message to the run's chat, once for each `key`, also if the run is played again.

        It leaves with what is stored next, 0.05 s later at the latest.
        """

    async def say_file(self, file: SentFile, load: Callable[[], Awaitable[bytes]], *, key: str) -> None:
        """Send a photo or document to the run's chat now, once for each `key`, which no message of the run has.

        `load` gives its content, and is called only if it was not sent yet. Raises RunFailed if the file is empty or too large.
        """

    async def keep_file(self, node: str, load: Callable[[], Awaitable[bytes | None]], *, origins: Origins = UNDECLARED) -> Value:
        """Return {digest, size} of the content that `load` gives, which becomes a blob of the run; `load_file` gives it again.

        `load` is called once for each node. None is what it gives in shadow mode in place of a file that only a real run fetches: the value
        is {planned: true}. A FileUnavailable that it raises is kept, too, as {problem, why, args}; a person who has the run retried has the
        file loaded anew.
        """

    async def show(self, update: RunUpdate, *, node: str) -> None:
        """Show progress at this node: a draft in the run's chat, a picture to clients that watch the run. It may be dropped."""

    async def ask_model(self, node: str, request: RunModelRequest, on_delta: Callable[[str], Awaitable[None]] | None = None) -> Value:
        """Return the answer of the language model, which is asked once for each node.

        With tools it is {text, calls: [{id, name, arguments, problem}], finish_reason}, otherwise its text.
        While it comes it is shown as a draft in the run's chat, unless the request says otherwise or the engine takes its parts itself with
        `on_delta`. Raises RunFailed if the model does not answer, or if the person's budget or a limit of the run is used up.
        """

    async def memo(self, node: str, make: Callable[[], Awaitable[Any]], *, origins: frozenset[Origin] = UNDECLARED) -> Value:
        """Return what `make` gives, with these origins. It is called once for each node: afterwards its result is read from the journal.

        For everything that is read from outside: documents, queries, the clock. Without `origins` it counts as text of strangers. What
        holds foreign text that the run has got before counts as such, whatever `origins` say.
        """

    async def submit(self, node: str, effect: RunEffect) -> Outcome:
        """Submit an effect to the gate and return its outcome. While a person must decide, the node waits (RunSuspended).

        In shadow mode the outcome is `planned`.
        """

    async def accept_refusal(self, node: str) -> None:
        """Note that the run goes on after the refusal at this node, of an effect or of a file.

        When a person has the run retried, because of something behind it, this is not proposed or loaded anew: the run goes the same way.
        """

    async def wait_input(self, node: str, ask: Ask) -> Heard:
        """Ask a person in the run's chat and return the answer; until it comes the node waits (RunSuspended)."""

    async def load_file(self, sent: Value) -> Value:
        """Return the content (bytes) of the photo or document that `wait_input` gave, with its origins. Raises RunFailed if it is gone."""

    async def sleep(self, node: str, until: datetime) -> None:
        """Wait until this moment (RunSuspended)."""

    async def child(self, node: str, engine: str, definition: str, args: Mapping[str, Value]) -> RunResult:
        """Start another run, or a turn of an engine that holds conversations, wait for its end (RunSuspended) and return its result."""


class RunEngine(Protocol):
    """An engine whose work outlives a turn."""

    replay: int
    """Its replay version. It rises when a new program would name nodes otherwise than those of runs that are under way."""
    replays: frozenset[int]
    """The replay versions whose runs this program can still play."""

    async def run(self, ctx: RunContext) -> RunResult:
        """Play the run to its end and return the result. Raises RunSuspended while a node waits, RunFailed if the run cannot go on."""


MAX_NODES: Final = 10_000
"""How many nodes a run may have."""


async def run_all(*nodes: Awaitable[T]) -> list[T]:
    """Run the nodes side by side and return their results in order.

    If one waits or fails, the others are still brought to their end. Then the first error is raised, otherwise RunSuspended.
    """
    ended = await asyncio.gather(*nodes, return_exceptions=True)
    errors = [one for one in ended if isinstance(one, BaseException)]
    for error in sorted(errors, key=lambda one: isinstance(one, RunSuspended)):
        raise error
    return ended  # type: ignore[return-value]  # no errors are left


def find_cause(error: BaseException) -> BaseException:
    """Return the error that ended the nodes which a TaskGroup ran side by side: the first real one, a wait only if there is no other."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    causes = [find_cause(exception) for exception in error.exceptions]
    return next((cause for cause in causes if not isinstance(cause, RunSuspended | asyncio.CancelledError)), causes[0])
