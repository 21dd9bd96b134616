"""The interface between an engine (which works out what to do) and the turn (one run for one input of a person).

An engine gets a `TurnContext`, which holds the input, and returns a `TurnEnd`. It never accesses the gate, the journal or the clients of
the model and the portal directly.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, Protocol

from orchestrator.directory.answers import Unresolved
from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import Effect, Provenance
from orchestrator.domain.models import ModelRequest, ToolCall
from orchestrator.domain.outcome import Outcome, Pending
from orchestrator.domain.outputs import Notice, Reply
from state.events.base import Event
from state.events.conversation import PlanRecorded
from state.model.session_state import Question, SessionState
from state.model.shown_lists import ShownList
from state.stored import JsonObject, Stored

EndReason = Literal["answered", "waiting", "asked", "limit", "degraded", "planned", "stopped", "failed", "budget"]

REST_NOT_BEGUN: Final = "rest-not-begun"
"""The code of the sentence that a plan was stopped before its other steps; the turn names these in its argument `calls`."""
REST_AFTER_CARD: Final = "rest-after-card"
"""The code of the sentence that the other steps of a plan are begun when its card is decided, with the same arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenOption:
    """The option that a person chose as the answer to the question what a name means.

    `value` replaces the name in the call; `targets` are the records ("deal:481") that the person named by choosing it.
    """

    question: Question
    value: object
    label: str
    targets: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class TurnInput:
    """The input that started a turn: a person's message, or the option that a person chose.

    `text` is the person's own words, `quoted` text of somebody else that came with them. For a chosen option, `answers` is the id of the
    question and `choice` the option.
    """

    turn_id: str
    text: str
    quoted: str = ""
    origin: str = "typed"
    answers: str = ""
    ref: int = 0
    """The messenger's id of the message, or of the first message if several were merged."""
    choice: ChosenOption | None = None
    said_at: datetime | None = None
    """When the person wrote the message; None if that is not known. It may have waited for another turn, or for the bot to start."""
    cited: str = ""
    """The part of the bot's own answer that the person quoted: it names what is meant, and orders nothing."""
    answers_others: bool = False
    """Whether the message replies to somebody else than the bot."""
    attached: str = ""
    """What came with the message and is not read, such as "photo"; "" if nothing did."""
    is_resumed: bool = False
    """Whether the turn goes on because a person has decided the last of its cards."""


@dataclass(frozen=True, kw_only=True)
class TurnModelRequest(ModelRequest):
    """One request of a turn to the language model; `iteration` is its number in the turn."""

    iteration: int


@dataclass(frozen=True, kw_only=True)
class ModelText:
    """The answer of the language model; `recorded` is True if the answer comes from the journal, after a restart."""

    text: str
    recorded: bool = False
    prose: bool = False
    """Whether the prompt that it answers contained text written by others."""
    calls: Sequence[ToolCall] = ()
    """The calls of the offered tools that the model wants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep(Stored):
    """One step of a plan (a call that the model proposes), in the form in which events and the session's state store it.

    `prose` is True if the model wrote the step after it had read free text of other people. `slot` is the place of the step in the turn,
    "<turn>/<iteration>/<step>".
    """

    slot: str = ""
    method: str = ""
    params: JsonObject = field(default_factory=dict)
    comment: str = ""
    prose: bool = False
    confirmation_id: str = ""
    """The card that the step waits on; "" if it waits on none."""
    page: JsonObject | None = None
    """Of a step that goes on with a list: which of its rows come next."""
    problem: JsonObject | None = None
    """Why its reference could not be resolved, as it is stored: {code, args, detail}."""

    @property
    def name_problem(self) -> Unresolved | None:
        """The reason why a reference in the step ("@deal:Ромашка") could not be resolved; None if there is no problem."""
        if self.problem is None:
            return None
        return Unresolved(
            notice=Notice(code=self.problem["code"], args=self.problem.get("args", {})), detail=self.problem.get("detail", "")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSource:
    """The call that read a list for the person `by`, as the engine proposed it; with it the list can go on."""

    method: str
    params: JsonObject
    by: str


@dataclass(frozen=True, kw_only=True)
class TurnEnd:
    """The result of a turn: the reply for the person, and the data that later turns use.

    `history` is the reply as later prompts quote it, in which a marker ("[[list 2.1]]") stands for each list. `next_planned_actions` are
    the steps that did not run, and `targets` are the records ("deal:481") that the person named or that the turn created.
    """

    reason: EndReason
    reply: Reply
    history: str = ""
    is_foreign: bool = False
    """Whether `history` may quote free text of others, so that later prompts fence it."""
    acted: bool = False
    """Whether the turn has made a change or proposed one on a card, so that an answer to its question orders nothing more."""
    next_planned_actions: Sequence[PlanStep] = ()
    targets: frozenset[str] = frozenset()
    goes_on: bool = False
    """Whether the turn goes on when the last card that it waits for is decided."""
    sources: Mapping[str, ListSource] = field(default_factory=dict)
    """How the lists of the reply were read, by their places."""
    lists: Sequence[ShownList] = ()
    """Lists that `history` names and that are no tables of the reply: the options of a question, and what was proposed."""
    provenance: Provenance | None = None
    """Where the words of the next step would come from, if the turn goes on; None if the engine does not say."""


class TurnContext(Protocol):
    """The access of an engine to the outside world during one turn; tests of engines use a fake implementation."""

    turn: TurnInput
    actor: Actor
    mode: Mode

    @property
    def now(self) -> datetime:
        """The current time, timezone-aware, in UTC."""

    @property
    def state(self) -> SessionState:
        """The session's state, computed from its events (see `state.events.fold`); engines must not change it."""

    @property
    def told_iterations(self) -> int:
        """How many iterations of a turn that goes on after its cards the person has heard of already; 0 for any other turn."""

    def is_told(self, slot: str) -> bool:
        """Return whether the person has heard of the step in this slot before the turn waited for its cards."""

    @property
    def told_answers(self) -> int:
        """The number of the last answer of the model before the turn waited for its cards; not positive without one."""

    @property
    def told_provenance(self) -> Provenance | None:
        """Where words came from when the turn began to wait for its cards; None if that is not stored, and for any other turn."""

    @property
    def halt_on_block(self) -> bool:
        """Whether the policy stops a plan at the first step that does not run."""

    async def show_partial(self, text: str) -> None:
        """Show the person the part `text` of the answer that has arrived so far; the implementation may skip some calls."""

    async def ask_model(self, request: TurnModelRequest, on_delta: Callable[[str], Awaitable[None]] | None = None) -> ModelText:
        """Send `request` to the model and return its answer; if the journal holds the answer to this iteration, return that without asking.

        `on_delta` receives each piece of the answer as it arrives. Raises ModelClientError if the model is not available.
        """

    async def say(self, reply: Reply, *, key: str) -> None:
        """Send a message to the chat now, before the turn ends; for each `key` the chat has one message, also after a restart."""

    async def memo(self, node: str, make: Callable[[], Awaitable[Any]]) -> Any:
        """Return what `make` gives. It is called once for each `node` of the turn: after a restart its result is read from the journal.

        For everything that is read from outside: documents, queries, the clock. The result is JSON data.
        """

    async def query(self, name: str, **args: object) -> Any:
        """Return the answer to a read-only question: `name` is the kind of question, `args` are its arguments.

        For example, "resolve" asks for the meaning of a reference ("@deal:Ромашка"), and "when" for the current date.
        """

    async def submit(self, effect: Effect) -> Outcome | Pending:
        """Submit an effect to the gate and return its outcome, or `Pending` if a person must decide first.

        After `Pending` the engine runs the steps that need no decision and then ends the turn.
        """

    def count_changes(self, effect: Effect) -> int:
        """Return how many changes the effect stands for, 0 if it only reads."""

    async def needs_consent(self, effect: Effect, made: str = "") -> bool:
        """Return whether a person would be asked about the effect because they have not clearly ordered it. Nothing is stored.

        With `made`, a step of the same plan is to make the record of the effect, of this kind; a stand-in stands for its number.
        """

    async def record(self, event: Event) -> None:
        """Append an event to the journal. It is stored, perhaps later, before anything external follows from it (a call, an answer)."""

    def find_recorded_plan(self, iteration: int) -> PlanRecorded | None:
        """Return the plan of `iteration` that was recorded before a restart; None if there is none.

        The engine continues such a plan and does not build a new one.
        """

    def record_iteration(self, iteration: int, blocks: JsonObject) -> None:
        """Give the parsed answer of the model to the audit log, which writes it when the calls of this iteration are done."""


class Engine(Protocol):
    """A component that works out what to do for an input, and proposes effects; for example the CRM agent."""

    async def run(self, ctx: TurnContext) -> TurnEnd:
        """Process one turn to its end and return the result.

        Raise ModelClientError only if the person should get the fallback answer: automatic actions are temporarily unavailable.
        """
