"""What every engine is given, and what it hands back. Engines know this and nothing of gate, journal or clients."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import Effect
from orchestrator.domain.outcome import Outcome, Pending
from orchestrator.domain.outputs import Reply
from state.events.core import Event

EndReason = Literal["answered", "waiting", "asked", "limit", "degraded", "planned", "stopped", "failed", "budget"]


@dataclass(frozen=True, kw_only=True)
class TurnInput:
    """What began the turn. `quoted` is text of somebody else (prose); `answers` names the question a choice answers."""

    turn_id: str
    text: str
    quoted: str = ""
    origin: str = "typed"
    answers: str = ""
    ref: int = 0
    """The messenger's number of the message, or of the first of several."""
    choice: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """One question to the model. `iteration` identifies it within the turn; `prose` tells that external prose is in the prompt."""

    iteration: int
    messages: Sequence[Mapping[str, str]]
    prose: bool = False


@dataclass(frozen=True, kw_only=True)
class ModelText:
    """The model's answer; `recorded` when it came from the journal after a restart."""

    text: str
    recorded: bool = False
    prose: bool = False
    """Whether text of others was in the prompt that it answers."""


@dataclass(frozen=True, kw_only=True)
class TurnEnd:
    """How the turn ended: what the person reads, and what later turns may know of it."""

    reason: EndReason
    reply: Reply
    history: str = ""
    next_planned_actions: Sequence[Mapping[str, Any]] = ()
    targets: frozenset[str] = frozenset()


class TurnContext(Protocol):
    """The only door of an engine to the world (DESIGN §1). A fake one tests engines."""

    turn: TurnInput
    actor: Actor
    mode: Mode

    @property
    def now(self) -> datetime:
        """The present moment, aware, UTC."""
        ...

    @property
    def state(self) -> Mapping[str, Any]:
        """The session's folded state (see state.events.fold); never changed by engines."""
        ...

    @property
    def halt_on_block(self) -> bool:
        """Whether the policy stops a plan at its first step that does not run."""
        ...

    async def show_partial(self, text: str) -> None:
        """Show the visible answer as far as it has come; may be dropped."""
        ...

    async def ask_model(self, request: ModelRequest, on_delta: Callable[[str], Awaitable[None]] | None = None) -> ModelText:
        """The model's answer, from the journal if this iteration was answered before; raises ModelClientError."""
        ...

    async def query(self, name: str, **args: Any) -> Any:
        """A read-only question to CRM names and state."""
        ...

    async def submit(self, effect: Effect) -> Outcome | Pending:
        """Hand an effect to the gate. Pending: a person must decide; finish what is free, then end the turn."""
        ...

    async def record(self, event: Event) -> None:
        """Append an event of the engine's own to the journal; stored before a call is made or the turn ends."""
        ...

    def find_recorded_plan(self, iteration: int) -> Mapping[str, Any] | None:
        """The plan of that iteration as it was recorded before a restart: it is gone on with, never made anew."""
        ...

    def record_iteration(self, iteration: int, blocks: Mapping[str, Any]) -> None:
        """Tell the audit log what the model's blocks were; the record is written when the iteration's calls are done."""
        ...


class Engine(Protocol):
    """One way to work on an input."""

    async def run(self, ctx: TurnContext) -> TurnEnd:
        """Work the turn to its end; raises ModelClientError only where a degradation answer is due."""
        ...
