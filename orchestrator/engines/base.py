"""The interface between an engine, which works out what to do, and the turn: all it reaches goes through the turn."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, Protocol

from orchestrator.directory.answers import Unresolved
from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import Effect, NewRecord, Outcome, Pending, Provenance
from orchestrator.domain.models import ModelRequest, ToolCall
from orchestrator.domain.outputs import Notice, Reply
from orchestrator.domain.undo_request import UndoAnswer, UndoRequest
from state.events.base import Event
from state.events.conversation import PlanRecorded
from state.model.card import Card
from state.model.session_state import Question, SessionState
from state.model.shown_lists import ShownList
from state.stored import JsonObject, Stored

_TAKEN: Final = "say"
_INSTEAD: Final = "_say"
"""No id begins with an underscore."""


def name_step_node(step: str) -> str:
    return _INSTEAD if step == _TAKEN else step


def find_step_id(node: str) -> str:
    first = node.partition("/")[0]
    return _TAKEN if first == _INSTEAD else first


EndReason = Literal["answered", "waiting", "asked", "limit", "degraded", "planned", "stopped", "failed", "budget"]

REST_NOT_BEGUN: Final = "rest-not-begun"
"""Code of the sentence that a plan was stopped before its other steps, which `calls` names."""
REST_AFTER_CARD: Final = "rest-after-card"
"""Code of the sentence that the other steps of a plan begin when its card is decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenOption:
    """The answer to the question what a name means: `value` replaces it in the call, `targets` are the records ("deal:481") meant."""

    question: Question
    value: object
    label: str
    targets: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class TurnInput:
    """`text` is the person's own words, `quoted` those of others; `answers` is the id of the question of a chosen option."""

    turn_id: str
    text: str
    quoted: str = ""
    origin: str = "typed"
    answers: str = ""
    ref: int = 0
    """The messenger's id of the message, of the first if several were merged."""
    choice: ChosenOption | None = None
    said_at: datetime | None = None
    cited: str = ""
    """The quoted part of the bot's own answer; it orders nothing."""
    answered: str = ""
    """The message of the bot, or their own, that the person replied to; it orders nothing."""
    is_answered_own: bool = False
    answered_records: Sequence[str] = ()
    answers_others: bool = False
    attached: str = ""
    """What came along unread, such as "photo"."""
    is_resumed: bool = False
    """Whether the last of the turn's cards has been decided."""


@dataclass(frozen=True, kw_only=True)
class TurnModelRequest(ModelRequest):
    iteration: int


@dataclass(frozen=True, kw_only=True)
class ModelText:
    """`recorded`: the answer comes from the journal, after a restart."""

    text: str
    recorded: bool = False
    prose: bool = False
    """Whether the prompt contained text written by others."""
    calls: Sequence[ToolCall] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep(Stored):
    """A proposed call. `slot` is "<turn>/<iteration>/<step>"; `prose`: written after free text of others."""

    slot: str = ""
    method: str = ""
    params: JsonObject = field(default_factory=dict)
    comment: str = ""
    prose: bool = False
    confirmation_id: str = ""
    page: JsonObject | None = None
    replaces: str = ""
    """The waiting step that it withdraws, or that it stands for."""
    namesakes: JsonObject = field(default_factory=dict)
    """Names in its filter that stand for several records → the names of these."""
    dates: Sequence[str] = ()
    """What its periods were taken for."""
    problem: JsonObject | None = None
    """Why its reference could not be resolved: {code, args, detail}."""

    @property
    def name_problem(self) -> Unresolved | None:
        if self.problem is None:
            return None
        return Unresolved(
            notice=Notice(code=self.problem["code"], args=self.problem.get("args", {})), detail=self.problem.get("detail", "")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSource:
    """The call that read a list for the person `by`."""

    method: str
    params: JsonObject
    by: str
    limit: int = 0
    """Rows from the beginning; 0 for all."""


@dataclass(frozen=True, kw_only=True)
class TurnEnd:
    """`history` is the reply for later prompts, with markers ("[[list 2.1]]") for lists."""

    reason: EndReason
    reply: Reply
    history: str = ""
    is_foreign: bool = False
    acted: bool = False
    """Whether a change was made or put on a card: an answer to its question then orders nothing more."""
    next_planned_actions: Sequence[PlanStep] = ()
    targets: frozenset[str] = frozenset()
    goes_on: bool = False
    """Whether the turn goes on when its last card is decided."""
    sources: Mapping[str, ListSource] = field(default_factory=dict)
    lists: Sequence[ShownList] = ()
    """Lists that `history` names and the reply does not show as tables."""
    provenance: Provenance | None = None
    """Where words of the next step would come from; None if the engine does not say."""


class TurnContext(Protocol):
    turn: TurnInput
    actor: Actor
    mode: Mode

    @property
    def now(self) -> datetime: ...

    @property
    def state(self) -> SessionState:
        """Computed from the session's events; engines must not change it."""

    @property
    def waiting(self) -> Sequence[str]:
        """Confirmations of this person that waited when the turn began, also those decided since, and then others that wait."""

    @property
    def told_iterations(self) -> int:
        """How many the person heard of before the turn waited for its cards."""

    def is_told(self, slot: str) -> bool:
        """Return whether the person heard of it before the turn waited for cards."""

    @property
    def told_answers(self) -> int:
        """The number of the model's last answer before the cards; not positive without one."""

    @property
    def told_provenance(self) -> Provenance | None:
        """None if not stored, and for other turns."""

    @property
    def halt_on_block(self) -> bool:
        """Whether a plan stops at the first step that does not run."""

    async def show_partial(self, text: str) -> None: ...

    async def ask_model(self, request: TurnModelRequest, on_delta: Callable[[str], Awaitable[None]] | None = None) -> ModelText:
        """Return the model's answer, or the journal's to this iteration. Raises ModelClientError."""

    async def say(self, reply: Reply, *, key: str) -> None:
        """Send a message now; the chat has one for each `key`, also after a restart."""

    async def memo(self, node: str, make: Callable[[], Awaitable[Any]]) -> Any:
        """Return what `make`, called once for each `node`, gives as JSON data. For all that is read from outside."""

    async def query(self, name: str, **args: object) -> Any:
        """Answer a read-only question, such as "resolve" ("@deal:Ромашка") or "when"."""

    async def submit(self, effect: Effect) -> Outcome | Pending:
        """Return the gate's outcome; after `Pending` the engine runs steps that need no decision and ends."""

    async def find_own_changes(self, request: UndoRequest) -> UndoAnswer | None:
        """Return what the person has changed, in all their chats where this one is theirs alone; None where nothing can be undone."""

    async def propose_undo(self, request: UndoRequest, slot: str, provenance: Provenance) -> UndoAnswer | None:
        """Make cards that take the person's changes back, once for each `slot`; None where nothing can be undone."""

    def count_changes(self, effect: Effect) -> int:
        """0 if the effect only reads."""

    async def find_refusal(self, effect: Effect, records: Sequence[NewRecord]) -> Outcome | None:
        """Return why the effect, which waits for `records` of its plan, would be refused; None also if that cannot be known yet."""

    async def needs_consent(self, effect: Effect, made: Collection[tuple[str, int]] = ()) -> bool:
        """Return whether the person has not clearly ordered the effect. `made`: records that earlier steps make for it."""

    async def load_proposed_params(self, card: Card) -> JsonObject:
        """Return the parameters of the card's call without what the gate filled in."""

    async def record(self, event: Event) -> None:
        """Append an event; it is stored before anything external follows from it."""

    def find_recorded_plan(self, iteration: int) -> PlanRecorded | None:
        """Return the plan recorded before a restart, to be continued."""

    def record_iteration(self, iteration: int, blocks: JsonObject) -> None: ...


class Engine(Protocol):
    async def run(self, ctx: TurnContext) -> TurnEnd: ...
