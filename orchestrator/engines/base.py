"""The interface between engines and the turn: input, context, end. Engines never access the gate, the journal or the clients directly."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from orchestrator.directory.answers import Unresolved
from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import Effect
from orchestrator.domain.outcome import Outcome, Pending
from orchestrator.domain.outputs import Notice, Reply
from state.events.base import Event
from state.events.conversation import PlanRecorded
from state.session_state import Question, SessionState
from state.stored import JsonObject, Stored

EndReason = Literal["answered", "waiting", "asked", "limit", "degraded", "planned", "stopped", "failed", "budget"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenOption:
    """The option that a person chose of a question about a name; `targets` are the records that are named by it."""

    question: Question
    value: object
    label: str
    targets: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class TurnInput:
    """The input that started the turn. `quoted` is text of somebody else (prose); `answers` names the question that a choice answers."""

    turn_id: str
    text: str
    quoted: str = ""
    origin: str = "typed"
    answers: str = ""
    ref: int = 0
    """The messenger's id of the message, or of the first message if several were merged."""
    choice: ChosenOption | None = None


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """One request to the model. `iteration` identifies it within the turn; `prose`: the prompt contains text written by others."""

    iteration: int
    messages: Sequence[Mapping[str, str]]
    prose: bool = False


@dataclass(frozen=True, kw_only=True)
class ModelText:
    """The model's answer; `recorded` is set when it was read from the journal after a restart."""

    text: str
    recorded: bool = False
    prose: bool = False
    """Whether the prompt that it answers contained text written by others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep(Stored):
    """A step of a plan as events and the state keep it; `prose` marks one that was written after text of others was read."""

    slot: str = ""
    method: str = ""
    params: JsonObject = field(default_factory=dict)
    comment: str = ""
    prose: bool = False
    problem: JsonObject | None = None
    """Why its reference could not be resolved, as it is stored: {code, args, detail}."""

    @property
    def name_problem(self) -> Unresolved | None:
        """Why its reference could not be resolved; None if it was."""
        if self.problem is None:
            return None
        return Unresolved(
            notice=Notice(code=self.problem["code"], args=self.problem.get("args", {})), detail=self.problem.get("detail", "")
        )


@dataclass(frozen=True, kw_only=True)
class TurnEnd:
    """How the turn ended: the reply for the person, and what later turns may know about it."""

    reason: EndReason
    reply: Reply
    history: str = ""
    next_planned_actions: Sequence[PlanStep] = ()
    targets: frozenset[str] = frozenset()


class TurnContext(Protocol):
    """Everything an engine may use of the outside world. Tests of engines replace it with a fake."""

    turn: TurnInput
    actor: Actor
    mode: Mode

    @property
    def now(self) -> datetime:
        """The current time, timezone-aware, in UTC."""

    @property
    def state(self) -> SessionState:
        """The session's folded state (see `state.events.fold`); engines never change it."""

    @property
    def halt_on_block(self) -> bool:
        """Whether the policy stops a plan at the first step that does not run."""

    async def show_partial(self, text: str) -> None:
        """Show the person the visible part of the answer received so far; a call may be dropped."""

    async def ask_model(self, request: ModelRequest, on_delta: Callable[[str], Awaitable[None]] | None = None) -> ModelText:
        """Return the model's answer, from the journal if this iteration was answered before; raises ModelClientError."""

    async def query(self, name: str, **args: object) -> Any:
        """Answer a read-only question about CRM names or the session's state."""

    async def submit(self, effect: Effect) -> Outcome | Pending:
        """Submit an effect to the gate. `Pending`: a person must decide; finish the steps that need no decision, then end the turn."""

    async def record(self, event: Event) -> None:
        """Append an event of the engine to the journal; it is stored before a call is made or the turn ends."""

    def find_recorded_plan(self, iteration: int) -> PlanRecorded | None:
        """Return the plan of `iteration` that was recorded before a restart, or None; such a plan is continued, never built again."""

    def record_iteration(self, iteration: int, blocks: JsonObject) -> None:
        """Give the model's parsed blocks to the audit log; the record is written when the iteration's calls are done."""


class Engine(Protocol):
    """One way to process an input."""

    async def run(self, ctx: TurnContext) -> TurnEnd:
        """Process the turn to its end; raises ModelClientError only where the person should get the fallback answer."""
