"""TurnContext as engines get it: one turn of one session, with the journal, the gate and the model behind it. Ring 2."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import Effect
from orchestrator.domain.errors import ModelClientError, OverBudget
from orchestrator.domain.outcome import Outcome, Pending
from orchestrator.domain.outputs import Notice
from orchestrator.engines.base import ModelRequest, ModelText, TurnInput
from orchestrator.gate.approve.call_labels import ProposalLabel
from orchestrator.gate.call.budget import to_month
from orchestrator.gate.call.serialization import build_effect_id
from orchestrator.gate.gate import Gate
from orchestrator.performers.read_progress import ReadProgress, attach_progress
from orchestrator.runtime.session import Session
from state.events.core import Event, ModelAnswered, ModelFailed, PlanRecorded
from state.journal.async_store import run_to_end
from state.journal.store import EffectRow

Query = Callable[..., Awaitable[Any]]
Partial = Callable[[str | Notice], Awaitable[None]]


class Model(Protocol):
    """What the context needs of a model client."""

    async def stream_chat(self, payload: dict[str, Any], on_delta: Callable[[str], Awaitable[None]] | None) -> Any:
        """One answer with text, token counts, model name and seconds."""
        ...


class ModelBudget(Protocol):
    """Whether people may use the model this month."""

    async def find_refusal(self, actor: Actor, now: datetime) -> Notice | None:
        """Why the model is not asked for this person, None while it is; raises StoreError."""
        ...

    async def issue_warning(self, actor: Actor, now: datetime) -> tuple[Notice, Event] | None:
        """What the person is told once when little is left, and the event that remembers it; raises StoreError."""
        ...

    async def describe_usage(self, actor: Actor, now: datetime) -> Notice | None:
        """How much is used, None for who has no limit; raises StoreError."""
        ...


class UnlimitedBudget:
    """Everybody may."""

    async def find_refusal(self, actor: Actor, now: datetime) -> Notice | None:
        """Nothing stands in the way."""
        del actor, now
        return None

    async def issue_warning(self, actor: Actor, now: datetime) -> tuple[Notice, Event] | None:
        """Nothing runs out."""
        del actor, now
        return None

    async def describe_usage(self, actor: Actor, now: datetime) -> Notice | None:
        """There is no limit."""
        del actor, now
        return None


UNLIMITED = UnlimitedBudget()


@dataclass(kw_only=True)
class Iteration:
    """What the audit log says of one iteration (S004-43 … S004-47)."""

    number: int
    blocks: dict[str, Any] = field(default_factory=dict)
    calls: list[dict[str, Any]] = field(default_factory=list)
    tokens: dict[str, int] = field(default_factory=dict)
    model: str = ""
    model_seconds: float = 0.0
    raw: str = ""


@dataclass(frozen=True, kw_only=True)
class TurnServices:
    """What a turn can reach beyond its session."""

    gate: Gate
    model: Model
    queries: Mapping[str, Query]
    show_partial: Partial
    model_budget: ModelBudget = UNLIMITED


@dataclass(frozen=True, kw_only=True)
class RecordedTurn:
    """What a dead process already recorded of this turn, by iteration."""

    is_fresh: bool = False
    """The turn begins here and now: nothing is stored of any of its places."""
    answers: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    plans: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    refused_steps: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What the gate has refused, by slot: nothing else is stored of it."""


class Context:
    """One turn. `iterations` collects what the audit log will say, `results` what became of its calls."""

    def __init__(
        self,
        session: Session,
        turn: TurnInput,
        *,
        actor: Actor,
        mode: Mode,
        reach: TurnServices,
        recorded: RecordedTurn,
    ) -> None:
        """`recorded` is empty unless the turn is being resumed."""
        self.turn = turn
        self.actor = actor
        self.mode: Mode = mode
        self.iterations: list[Iteration] = []
        self.results: list[Outcome | Pending] = []
        self._session = session
        self._gate = reach.gate
        self._model = reach.model
        self._queries = reach.queries
        self._model_budget = reach.model_budget
        self.recorded = recorded
        self.proposed_steps: dict[str, Mapping[str, Any]] = {}
        """The steps of its plans and what else was submitted, by slot; those of an earlier process too."""
        self.outcomes: dict[str, Outcome | Pending] = {}
        """What came of them in this process, by slot."""
        for plan in recorded.plans.values():
            self._add_proposed_steps(plan["steps"])
        self._submitted_slots: set[str] = set()
        """Slots that were submitted."""
        self._show_partial = reach.show_partial
        self.stopped = False
        self._cancel: Callable[[], object] = lambda: None

    def set_cancel_callback(self, cancel: Callable[[], object]) -> None:
        """How to interrupt the engine."""
        self._cancel = cancel

    def stop(self) -> None:
        """The person wants no more of this turn."""
        self.stopped = True
        self._cancel()

    @property
    def now(self) -> datetime:
        """The present moment."""
        return self._session.now

    @property
    def state(self) -> Mapping[str, Any]:
        """The session's state."""
        return self._session.state

    @property
    def halt_on_block(self) -> bool:
        """Whether the policy stops a plan at its first step that does not run."""
        return self._gate.halt_on_block

    async def show_partial(self, text: str) -> None:
        """Show the visible answer as far as it has come."""
        await self._show_partial(text)

    async def ask_model(self, request: ModelRequest, on_delta: Callable[[str], Awaitable[None]] | None = None) -> ModelText:
        """The recorded answer of this iteration, or a fresh one, noted: it is stored before anything outside comes of it.

        Raises ModelClientError, and OverBudget before it asks for somebody who may not use the model any more.
        """
        entry = Iteration(number=request.iteration)
        self.iterations.append(entry)
        known = self.recorded.answers.get(request.iteration)
        if known is not None:
            entry.raw, entry.model = known["text"], known.get("model", "")
            return ModelText(text=known["text"], recorded=True, prose=known.get("prose", False))
        if request.iteration > 1:
            await self._session.flush()  # an answer that is there is never asked for again
        if (over := await self._model_budget.find_refusal(self.actor, self.now)) is not None:
            self.iterations.pop()
            raise OverBudget(over.code)
        started = time.monotonic()
        try:
            answer = await self._model.stream_chat({"messages": list(request.messages)}, on_delta)
        except ModelClientError as error:
            await self.record(ModelFailed(turn_id=self.turn.turn_id, iteration=request.iteration, reason=error.reason))
            raise
        entry.raw, entry.model = answer.text, answer.model
        entry.tokens = {"prompt": answer.prompt_tokens, "completion": answer.completion_tokens}
        entry.model_seconds = round(time.monotonic() - started, 3)
        await self.record(
            ModelAnswered(
                turn_id=self.turn.turn_id,
                iteration=request.iteration,
                text=answer.text,
                model=answer.model,
                prompt_tokens=answer.prompt_tokens,
                completion_tokens=answer.completion_tokens,
                seconds=entry.model_seconds,
                prose=request.prose,
                user=self.actor.bitrix_user_id,
                month=to_month(self.now, self.actor.time_zone),
            )
        )
        return ModelText(text=answer.text, prose=request.prose)

    async def query(self, name: str, **args: Any) -> Any:
        """A read-only question; KeyError for a name that bootstrap did not give."""
        return await self._queries[name](**args)

    async def submit(self, effect: Effect) -> Outcome | Pending:
        """Through the gate, and onto the audit record. A call once begun is heard to its end, even when the turn is stopped.

        A long list shows how far it is, and ends where it is when nobody waits for it any more.
        """
        watch = ReadProgress(self._show_count)
        with attach_progress(watch):
            return await run_to_end(self._submit_and_record(effect), watch.stop)

    async def _submit_and_record(self, effect: Effect) -> Outcome | Pending:
        step = {
            "turn": self.turn.turn_id,
            "number": len(self.results) + 1,
            "method": effect.method,
            **self._gate.describe_method(effect.method),
        }
        await self._show_partial(Notice(code="step", args={**step, "state": "running"}))
        self._skip_effect_lookup(effect.slot)
        self.proposed_steps.setdefault(effect.slot, {"method": effect.method, "params": effect.params})
        result = await self._gate.submit(effect, actor=self.actor, mode=self.mode, turn_id=self.turn.turn_id, ledger=self._session)
        self._record_call(effect, result)
        await self._show_partial(Notice(code="step", args={**step, "state": _format_step_state(result)}))
        return result

    def _skip_effect_lookup(self, slot: str) -> None:
        """Of a turn that begins here no place can have an effect before it is submitted; should one have, its compare-and-set says so."""
        if self.recorded.is_fresh and slot not in self._submitted_slots and slot.startswith(f"{self.turn.turn_id}/"):
            self._session.mark_effect_absent(build_effect_id(slot))
        self._submitted_slots.add(slot)

    async def _show_count(self, done: int, total: int) -> None:
        await self._show_partial(Notice(code="counting", args={"done": done, "total": total}))

    def _record_call(self, effect: Effect, result: Outcome | Pending) -> None:
        self.results.append(result)
        self.outcomes[effect.slot] = result
        if self.iterations:
            self.iterations[-1].calls.append(build_call_record(effect, result))

    def find_recorded_plan(self, iteration: int) -> Mapping[str, Any] | None:
        """The plan recorded before a restart."""
        return self.recorded.plans.get(iteration)

    async def record(self, event: Event) -> None:
        """Append an event; it is stored before anything outside comes of it."""
        if isinstance(event, PlanRecorded):
            self._add_proposed_steps(event.steps)
        await self._session.buffer(event, actor=self.actor.key)

    def _add_proposed_steps(self, steps: Sequence[Mapping[str, Any]]) -> None:
        self.proposed_steps |= {step["slot"]: step for step in steps}

    async def find_effect(self, slot: str) -> EffectRow | None:
        """What is stored of the effect in that place of a plan."""
        return await self._session.find_effect(build_effect_id(slot))

    async def describe_change(self, slot: str) -> ProposalLabel | None:
        """How a sentence names the change that was proposed there; None for what changes nothing."""
        step = self.proposed_steps[slot]
        return await self._gate.describe_effect(Effect(method=step["method"], params=step["params"], slot=slot), self.actor)

    def record_iteration(self, iteration: int, blocks: Mapping[str, Any]) -> None:
        """Keep the blocks for the audit record."""
        if not self.iterations or self.iterations[-1].number != iteration:
            self.iterations.append(Iteration(number=iteration))
        self.iterations[-1].blocks = dict(blocks)


def build_call_record(effect: Effect, result: Outcome | Pending) -> dict[str, Any]:
    """One request and its answer as the audit log keeps them (S004-45, S004-46, S004-71)."""
    base: dict[str, Any] = {"call_id": result.effect_id, "method": result.method, "proposed": dict(effect.params)}
    if isinstance(result, Pending):
        return base | {"status": "waiting", "confirmation_id": result.confirmation_id, "reasons": _list_codes(result.reasons)}
    base |= {"status": result.status, "params": dict(result.call), "class": result.call_class}
    if result.commands:
        base["commands"] = [report.model_dump() for report in result.commands]
    if result.status == "succeeded":
        base["answer"] = result.result
    else:
        base["reason"] = result.reason.code if result.reason else ""
        base["detail"] = result.detail
    return base


def _format_step_state(result: Outcome | Pending) -> str:
    """How a step stands, as the person sees it while the turn goes on."""
    return "waiting" if isinstance(result, Pending) else {"succeeded": "done"}.get(result.status, result.status)


def _list_codes(notices: Sequence[Any]) -> list[str]:
    return [notice.code for notice in notices]
