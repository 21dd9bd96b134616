"""TurnContext as engines get it: one turn of one session, with the journal, the gate and the model behind it. Ring 2."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from orchestrator.engines.base import ModelRequest, ModelText, TurnInput
from orchestrator.errors import ModelClientError, OverBudget
from orchestrator.gate.budget import month_of
from orchestrator.gate.gate import Gate
from orchestrator.gate.proposed import Proposed
from orchestrator.gate.stored_call import effect_id_of
from orchestrator.messages import Actor, Effect, Mode, Notice, Outcome, Pending
from orchestrator.performers.watch import Watch, watched
from orchestrator.session import Session
from state.events import Event, ModelAnswered, ModelFailed, PlanRecorded
from state.store import EffectRow
from state.worker import to_its_end

Query = Callable[..., Awaitable[Any]]
Partial = Callable[[str | Notice], Awaitable[None]]


class Model(Protocol):
    """What the context needs of a model client."""

    async def stream_chat(self, payload: dict[str, Any], on_delta: Callable[[str], Awaitable[None]] | None) -> Any:
        """One answer with text, token counts, model name and seconds."""
        ...


class Purse(Protocol):
    """Whether people may use the model this month."""

    async def refusal(self, actor: Actor, now: datetime) -> Notice | None:
        """Why the model is not asked for this person, None while it is; raises StoreError."""
        ...

    async def warning(self, actor: Actor, now: datetime) -> tuple[Notice, Event] | None:
        """What the person is told once when little is left, and the event that remembers it; raises StoreError."""
        ...

    async def used(self, actor: Actor, now: datetime) -> Notice | None:
        """How much is used, None for who has no limit; raises StoreError."""
        ...


class Unlimited:
    """Everybody may."""

    async def refusal(self, actor: Actor, now: datetime) -> Notice | None:
        """Nothing stands in the way."""
        del actor, now
        return None

    async def warning(self, actor: Actor, now: datetime) -> tuple[Notice, Event] | None:
        """Nothing runs out."""
        del actor, now
        return None

    async def used(self, actor: Actor, now: datetime) -> Notice | None:
        """There is no limit."""
        del actor, now
        return None


UNLIMITED = Unlimited()


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
class Reach:
    """What a turn can reach beyond its session."""

    gate: Gate
    model: Model
    queries: Mapping[str, Query]
    partial: Partial
    purse: Purse = UNLIMITED


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """What a dead process already recorded of this turn, by iteration."""

    fresh: bool = False
    """The turn begins here and now: nothing is stored of any of its places."""
    answers: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    plans: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    refused: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
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
        reach: Reach,
        recorded: Recorded,
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
        self._purse = reach.purse
        self.recorded = recorded
        self.proposed: dict[str, Mapping[str, Any]] = {}
        """The steps of its plans and what else was submitted, by slot; those of an earlier process too."""
        self.came: dict[str, Outcome | Pending] = {}
        """What came of them in this process, by slot."""
        for plan in recorded.plans.values():
            self._take_up(plan["steps"])
        self._places: set[str] = set()
        """Slots that were submitted."""
        self._partial = reach.partial
        self.stopped = False
        self._cancel: Callable[[], object] = lambda: None

    def on_stop(self, cancel: Callable[[], object]) -> None:
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

    async def partial(self, text: str) -> None:
        """Show the visible answer as far as it has come."""
        await self._partial(text)

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
        if (over := await self._purse.refusal(self.actor, self.now)) is not None:
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
                month=month_of(self.now, self.actor.time_zone),
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
        watch = Watch(self._counting)
        with watched(watch):
            return await to_its_end(self._submitted(effect), watch.stop)

    async def _submitted(self, effect: Effect) -> Outcome | Pending:
        step = {"turn": self.turn.turn_id, "number": len(self.results) + 1, "method": effect.method, **self._gate.words_of(effect.method)}
        await self._partial(Notice(code="step", args={**step, "state": "running"}))
        self._spare_a_look(effect.slot)
        self.proposed.setdefault(effect.slot, {"method": effect.method, "params": effect.params})
        result = await self._gate.submit(effect, actor=self.actor, mode=self.mode, turn_id=self.turn.turn_id, ledger=self._session)
        self._note_call(effect, result)
        await self._partial(Notice(code="step", args={**step, "state": _state_of(result)}))
        return result

    def _spare_a_look(self, slot: str) -> None:
        """Of a turn that begins here no place can have an effect before it is submitted; should one have, its compare-and-set says so."""
        if self.recorded.fresh and slot not in self._places and slot.startswith(f"{self.turn.turn_id}/"):
            self._session.expect_no_effect(effect_id_of(slot))
        self._places.add(slot)

    async def _counting(self, done: int, total: int) -> None:
        await self._partial(Notice(code="counting", args={"done": done, "total": total}))

    def _note_call(self, effect: Effect, result: Outcome | Pending) -> None:
        self.results.append(result)
        self.came[effect.slot] = result
        if self.iterations:
            self.iterations[-1].calls.append(call_record(effect, result))

    def recorded_plan(self, iteration: int) -> Mapping[str, Any] | None:
        """The plan recorded before a restart."""
        return self.recorded.plans.get(iteration)

    async def record(self, event: Event) -> None:
        """Append an event; it is stored before anything outside comes of it."""
        if isinstance(event, PlanRecorded):
            self._take_up(event.steps)
        await self._session.note(event, actor=self.actor.key)

    def _take_up(self, steps: Sequence[Mapping[str, Any]]) -> None:
        self.proposed |= {step["slot"]: step for step in steps}

    async def effect(self, slot: str) -> EffectRow | None:
        """What is stored of the effect in that place of a plan."""
        return await self._session.effect(effect_id_of(slot))

    async def described(self, slot: str) -> Proposed | None:
        """How a sentence names the change that was proposed there; None for what changes nothing."""
        step = self.proposed[slot]
        return await self._gate.described(Effect(method=step["method"], params=step["params"], slot=slot), self.actor)

    def note_iteration(self, iteration: int, blocks: Mapping[str, Any]) -> None:
        """Keep the blocks for the audit record."""
        if not self.iterations or self.iterations[-1].number != iteration:
            self.iterations.append(Iteration(number=iteration))
        self.iterations[-1].blocks = dict(blocks)


def call_record(effect: Effect, result: Outcome | Pending) -> dict[str, Any]:
    """One request and its answer as the audit log keeps them (S004-45, S004-46, S004-71)."""
    base: dict[str, Any] = {"call_id": result.effect_id, "method": result.method, "proposed": dict(effect.params)}
    if isinstance(result, Pending):
        return base | {"status": "waiting", "confirmation_id": result.confirmation_id, "reasons": _codes(result.reasons)}
    base |= {"status": result.status, "params": dict(result.call), "class": result.call_class}
    if result.commands:
        base["commands"] = [report.model_dump() for report in result.commands]
    if result.status == "succeeded":
        base["answer"] = result.result
    else:
        base["reason"] = result.reason.code if result.reason else ""
        base["detail"] = result.detail
    return base


def _state_of(result: Outcome | Pending) -> str:
    """How a step stands, as the person sees it while the turn goes on."""
    return "waiting" if isinstance(result, Pending) else {"succeeded": "done"}.get(result.status, result.status)


def _codes(notices: Sequence[Any]) -> list[str]:
    return [notice.code for notice in notices]
