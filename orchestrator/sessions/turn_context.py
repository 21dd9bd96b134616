"""Defines `Context`, the object through which an engine works on one turn. It gives access to the journal, the gate and the model.

A turn is the work on one request. An engine is the code that asks the model about it and submits the steps of the model's plan to the gate.
"""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from typing import Any

from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.budget import to_month
from orchestrator.domain.effect import Effect, Provenance, to_written_params
from orchestrator.domain.errors import ModelClientError, OverBudget
from orchestrator.domain.models import ModelAnswer, Models
from orchestrator.domain.outcome import Outcome, Pending
from orchestrator.domain.outputs import Notice, Reply
from orchestrator.engines.base import ModelText, PlanStep, TurnInput, TurnModelRequest
from orchestrator.gate.approve.card_groups import find_origin_slot
from orchestrator.gate.approve.duplicates import REPEATED
from orchestrator.gate.call.serialization import build_effect_id
from orchestrator.gate.gate import Gate
from orchestrator.gate.preview.call_labels import ProposalLabel
from orchestrator.performers.read_progress import ReadProgress, attach_progress
from orchestrator.sessions.model_calls import (
    UNLIMITED,
    ModelBudget,
    build_asked_event,
    describe_cost,
    from_stored_calls,
    hold,
    to_stored_calls,
)
from orchestrator.sessions.outbox import build_reply_row
from orchestrator.sessions.paid_models import PaidModels, attach_models
from orchestrator.sessions.paused_turns import ToldPart, find_told_part, list_denied, restore_told_step
from orchestrator.sessions.session import Session
from state.events.base import Event
from state.events.conversation import ModelAnswered, ModelFailed, PlanRecorded, StepRefused
from state.events.runs import NodeDone
from state.journal.store import EffectRow, StoredEvent
from state.journal.thread_worker import run_to_end
from state.model.session_state import SessionState
from state.stored import JsonObject

Query = Callable[..., Awaitable[Any]]
Partial = Callable[[str | Notice], Awaitable[None]]


@dataclass(kw_only=True)
class Iteration:
    """The audit data of one iteration: one answer of the model and the calls it led to (S004-43 … S004-47)."""

    number: int
    blocks: JsonObject = field(default_factory=dict)
    calls: list[JsonObject] = field(default_factory=list)
    tokens: dict[str, int] = field(default_factory=dict)
    model: str = ""
    model_seconds: float = 0.0
    provider: str = ""
    """The provider that answered; `failed_before` are those that were asked first and gave no answer."""
    failed_before: Sequence[str] = ()
    raw: str = ""
    service_answers: list[JsonObject] = field(default_factory=list)
    """The answers of models that services in this process asked for, such as that of documents: who gave each, and its cost."""


@dataclass(frozen=True, kw_only=True)
class TurnServices:
    """The services that a turn uses beyond its session."""

    gate: Gate
    model: Models
    queries: Mapping[str, Query]
    show_partial: Partial
    model_budget: ModelBudget = UNLIMITED
    came_back: bool = False
    """Whether the turn belongs to a run that was restored from a backup and may have made its calls since."""


@dataclass(frozen=True, kw_only=True)
class RecordedTurn:
    """The part of a turn that was recorded before a crash; empty for a new turn.

    It maps numbers of iterations to the model's answers and plans, and slots (places in the plan) to the steps that the gate refused.
    """

    is_fresh: bool = False
    """Whether the turn begins now, so that nothing is stored for any of its slots (places in its plan)."""
    answers: Mapping[int, ModelAnswered] = field(default_factory=dict)
    plans: Mapping[int, PlanRecorded] = field(default_factory=dict)
    refused_steps: Mapping[str, JsonObject] = field(default_factory=dict)
    """The steps that the gate refused, by slot: for these nothing else is stored."""
    told: ToldPart = field(default_factory=ToldPart)
    """What the turn did before it waited for cards that are decided now; empty for a turn that has not ended yet."""
    values: Mapping[str, NodeDone] = field(default_factory=dict)
    """What `memo` kept, by the name of the event's node."""

    @classmethod
    def from_events(cls, events: Sequence[StoredEvent]) -> "RecordedTurn":
        """Return what a turn has recorded; `events` are its events in order, none for a turn that begins now."""
        answers = [ModelAnswered.from_data(event.data) for event in events if event.type == "ModelAnswered"]
        plans = [PlanRecorded.from_data(event.data) for event in events if event.type == "PlanRecorded"]
        return cls(
            is_fresh=not events,
            answers={answer.iteration: answer for answer in answers},
            plans={plan.iteration: plan for plan in plans},
            refused_steps={StepRefused.from_data(event.data).slot: event.data for event in events if event.type == "StepRefused"},
            values={event.data["node"]: NodeDone.from_data(event.data) for event in events if event.type == "NodeDone"},
            told=find_told_part(events),
        )


def describe_service_answer(done: NodeDone) -> JsonObject:
    """Return what the audit log has of a model's answer to a service that a turn has asked."""
    return {
        "model": done.model,
        "provider": done.provider,
        "failed_before": list(done.failed_before),
        "tokens": {"prompt": done.prompt_tokens, "completion": done.completion_tokens},
        "seconds": done.seconds,
    }


class Context:
    """One turn as its engine sees it: the person's request, and the means to ask the model and to submit effects.

    `iterations` collects the audit records, and `results` the results of the submitted effects.
    """

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
        """Set up the turn. `recorded` is empty unless the turn was begun before a crash."""
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
        self._came_back = reach.came_back
        self.recorded = recorded
        self.proposed_steps: dict[str, PlanStep] = {}
        """The steps of the turn's plans and the other submitted effects, by slot, including those of a crashed process."""
        self.outcomes: dict[str, Outcome | Pending] = {}
        """The outcomes of the submitted steps in this process, by slot."""
        for plan in recorded.plans.values():
            self._add_proposed_steps(plan.steps)
        self._submitted_slots: set[str] = set()
        """The slots that were submitted in this process."""
        self._has_new_answers = False
        """Whether the model has answered in this process."""
        self._show_partial = reach.show_partial
        self.stopped = False
        self._cancel: Callable[[], object] = lambda: None

    def set_cancel_callback(self, cancel: Callable[[], object]) -> None:
        """Set the function that interrupts the work on the turn when the person stops the turn."""
        self._cancel = cancel

    def stop(self) -> None:
        """Stop the turn at the person's request."""
        self.stopped = True
        self._cancel()

    @property
    def now(self) -> datetime:
        """The current time."""
        return self._session.now

    @property
    def state(self) -> SessionState:
        """The state of the session after everything that was committed or buffered."""
        return self._session.state

    @property
    def told_iterations(self) -> int:
        """How many iterations of a turn that goes on after its cards the person has heard of already; 0 for any other turn."""
        return self.recorded.told.iterations

    def is_told(self, slot: str) -> bool:
        """Return whether the person has heard of the step in this slot before the turn waited for its cards."""
        return slot in self.recorded.told.slots

    @property
    def told_answers(self) -> int:
        """The number of the last answer of the model before the turn waited for its cards; not positive without one."""
        return self.recorded.told.answers

    @property
    def told_provenance(self) -> Provenance | None:
        """Where words came from when the turn began to wait for its cards; None if that is not stored, and for any other turn."""
        return self.recorded.told.provenance

    def list_joined_steps(self) -> dict[str, str]:
        """Return the steps that wait for a card which was open before: their place → the place of the step that had led to the card."""
        cards = self.state.cards
        waiting = ((slot, cards.get(outcome.confirmation_id)) for slot, outcome in self.outcomes.items() if isinstance(outcome, Pending))
        origins = {slot: find_origin_slot(card, cards) for slot, card in waiting if card is not None}
        return {slot: origin for slot, origin in origins.items() if origin != slot}

    @property
    def untold_steps(self) -> Mapping[str, PlanStep]:
        """The proposed steps by slot, without those of which the person has heard before the turn waited for its cards."""
        slots = self.recorded.told.slots
        return {slot: step for slot, step in self.proposed_steps.items() if slot not in slots} if slots else self.proposed_steps

    @property
    def untold_iterations(self) -> Sequence[Iteration]:
        """The audit data that was not yet written to the audit log: new iterations, and calls of earlier ones that ran after the cards."""
        return [entry for entry in self.iterations if entry.number > self.recorded.told.answers or entry.calls]

    @property
    def halt_on_block(self) -> bool:
        """Whether the policy stops a plan at its first step that waits for a decision or is refused."""
        return self._gate.halt_on_block

    async def show_partial(self, text: str) -> None:
        """Show the person a draft: the part of the answer that has arrived so far."""
        await self._show_partial(text)

    async def ask_model(self, request: TurnModelRequest, on_delta: Callable[[str], Awaitable[None]] | None = None) -> ModelText:
        """Return the model's answer for this iteration: the recorded one if there is one, otherwise a new one.

        A new answer is stored before anything external follows from it. Raises ModelClientError if the model fails. Raises OverBudget,
        without asking the model, if the person may not use it any more.
        """
        entry = Iteration(number=request.iteration)
        self.iterations.append(entry)
        known = self.recorded.answers.get(request.iteration)
        if known is not None:
            entry.raw, entry.model, entry.provider, entry.failed_before = known.text, known.model, known.provider, known.failed_before
            return ModelText(text=known.text, recorded=True, prose=known.prose, calls=from_stored_calls(known.calls))
        place = {"turn_id": self.turn.turn_id, "iteration": request.iteration}
        asked = build_asked_event(request, self._model.find_model_name(request), self.actor, self.now, **place)
        reserved = await self._model_budget.reserve(self.actor, self.now, asked)
        if isinstance(reserved, Notice):
            self.iterations.remove(entry)
            raise OverBudget(reserved.code)
        async with hold(reserved):
            if self._has_new_answers:
                await self._session.flush()  # a crash must not make the previous iterations ask the model again
            # The call does not wait until this is stored: that is done while the model thinks (ADR 30).
            await self.record(asked)
            answer = await self._ask(request, entry, reserved.id, on_delta)
            await self.record(self._build_answered(request, answer, entry, reserved.id))
            self._has_new_answers = True
            reserved.settle(answer)
        return ModelText(text=answer.text, prose=request.prose, calls=answer.calls)

    async def _ask(
        self, request: TurnModelRequest, entry: Iteration, reservation: str, on_delta: Callable[[str], Awaitable[None]] | None
    ) -> ModelAnswer:
        started = time.monotonic()
        try:
            answer = await self._model.chat(request, on_delta)
        except ModelClientError as error:
            cost = describe_cost(error, self.actor, self.now)
            place = {"turn_id": self.turn.turn_id, "iteration": request.iteration}
            failed = ModelFailed(**place, reason=error.reason, reservation=reservation, **cost)
            await self.record(failed)
            await self._session.flush()  # else the estimate would still count when the budget lets the next call go on
            raise
        entry.raw, entry.model, entry.provider, entry.failed_before = answer.text, answer.model, answer.provider, answer.failed_before
        entry.tokens = {"prompt": answer.prompt_tokens, "completion": answer.completion_tokens}
        entry.model_seconds = round(time.monotonic() - started, 3)
        return answer

    def _build_answered(self, request: TurnModelRequest, answer: ModelAnswer, entry: Iteration, reservation: str) -> ModelAnswered:
        return ModelAnswered(
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
            provider=answer.provider,
            failed_before=list(answer.failed_before),
            calls=to_stored_calls(answer.calls),
            reservation=reservation,
        )

    async def say(self, reply: Reply, *, key: str) -> None:
        """Send a message to the chat now; said again after a crash, it replaces the first one."""
        chat = self._session.key
        row = build_reply_row(chat, reply, self.now, key=f"turn:{self.turn.turn_id}/{key}")
        await self._session.commit(actor=self.actor.key, outbox=[row])

    async def memo(self, node: str, make: Callable[[], Awaitable[Any]]) -> Any:
        """Return what `make` gives; it is called once for each node of the turn, also if the turn is begun anew after a crash."""
        name = f"{self.turn.turn_id}#{node}"
        known = self.recorded.values.get(name)
        if known is not None:
            return known.output
        await self._session.flush()  # a crash must not make the model answer again what was answered before this
        with attach_models(self._build_paid_models()):
            output = await make()
        await self.record(NodeDone(node=name, output=output))
        await self._session.flush()  # a crash must not make it anew, which would be paid again
        return output

    def _build_paid_models(self) -> PaidModels:
        """Return the models that services in this process ask at the cost of the turn's person."""
        return PaidModels(
            models=self._model,
            budget=self._model_budget,
            session=self._session,
            actor=self.actor,
            owner=self.actor.key,
            node=f"{self.turn.turn_id}#service",
            kind="memo",
            tell=self._add_service_answer,
        )

    def _add_service_answer(self, done: NodeDone) -> None:
        if self.iterations:
            self.iterations[-1].service_answers.append(describe_service_answer(done))

    async def query(self, name: str, **args: object) -> Any:
        """Run the read-only query registered under `name` and return its result. Raises KeyError for an unknown name."""
        return await self._queries[name](**args)

    async def submit(self, effect: Effect) -> Outcome | Pending:
        """Submit the effect to the gate, and return its result: the outcome of the call, or a card that waits for a person (`Pending`).

        The call is also added to the audit data. If the person stops the turn, a call that was already sent is still awaited, and a long
        read ends early. A long read shows its progress.
        """
        if effect.slot in self.recorded.told.slots and (known := await self._restore_told(effect.slot)) is not None:
            return known
        watch = ReadProgress(self._show_count)
        with attach_progress(watch), attach_models(self._build_paid_models()):
            return await run_to_end(self._submit_and_record(effect), watch.stop)

    def count_changes(self, effect: Effect) -> int:
        """Return how many changes the effect stands for, 0 if it only reads."""
        return self._gate.count_changes(effect, actor=self.actor)

    async def needs_consent(self, effect: Effect, made: str = "") -> bool:
        """Return whether a person would be asked about the effect because they have not clearly ordered it. Nothing is stored.

        With `made`, a step of the same plan is to make the record of the effect, of this kind; a stand-in stands for its number.
        """
        return await self._gate.needs_consent(
            effect,
            actor=self.actor,
            mode=self.mode,
            turn_id=self.turn.turn_id,
            ledger=self._session,
            made=made,
            denied=self._list_denied(),
        )

    async def _restore_told(self, slot: str) -> Outcome | Pending | None:
        """Return the result of a step of which the person has heard before the turn went on; it is neither sent nor judged again."""
        refused = {place: StepRefused.from_data(data) for place, data in self.recorded.refused_steps.items()}
        result = await restore_told_step(slot, self.recorded.told, refused, self._session)
        if result is not None:
            self.outcomes[slot] = result
        return result

    async def _submit_and_record(self, effect: Effect) -> Outcome | Pending:
        step = {
            "turn": self.turn.turn_id,
            "number": len(self.results) + 1,
            "method": effect.method,
            **self._gate.describe_method(effect.method),
        }
        await self._show_partial(Notice(code="step", args={**step, "state": "running"}))
        self._skip_effect_lookup(effect.slot)
        self.proposed_steps.setdefault(effect.slot, PlanStep.create(method=effect.method, params=effect.params))
        result = await self._gate.submit(
            effect.model_copy(update={"came_back": True}) if self._came_back else effect,
            actor=self.actor,
            mode=self.mode,
            turn_id=self.turn.turn_id,
            ledger=self._session,
            earlier=self._list_earlier_effects(effect.slot),
            denied=self._list_denied(),
        )
        self._record_call(effect, result)
        await self._show_partial(Notice(code="step", args={**step, "state": _format_step_state(result)}))
        return result

    def _list_denied(self) -> frozenset[str]:
        return list_denied(self.turn.turn_id, self.recorded.told.joined.values(), self.state)

    def _list_earlier_effects(self, slot: str) -> list[str]:
        """Return the ids of the turn's effects that come before the place `slot` in the plan, in order.

        Effects that certainly changed nothing are left out.
        """
        before = takewhile(lambda one: one != slot, self.proposed_steps)
        return [build_effect_id(one) for one in before if _may_have_changed(self.outcomes.get(one))]

    def _skip_effect_lookup(self, slot: str) -> None:
        """Tell the session that no effect is stored for this slot (place in the plan) if the turn is new, which saves a query.

        If an effect is stored there after all, storing the new one fails, so nothing runs twice.
        """
        if self.recorded.is_fresh and slot not in self._submitted_slots and slot.startswith(f"{self.turn.turn_id}/"):
            self._session.mark_effect_absent(build_effect_id(slot))
        self._submitted_slots.add(slot)

    async def _show_count(self, done: int, total: int) -> None:
        await self._show_partial(Notice(code="counting", args={"done": done, "total": total}))

    def _record_call(self, effect: Effect, result: Outcome | Pending) -> None:
        self.results.append(result)
        self.outcomes[effect.slot] = result
        if self.iterations and not self.is_told(effect.slot):
            self.iterations[-1].calls.append(build_call_record(effect, result))

    def find_recorded_plan(self, iteration: int) -> PlanRecorded | None:
        """Return the plan that was recorded for this iteration before a restart, or None."""
        return self.recorded.plans.get(iteration)

    async def record(self, event: Event) -> None:
        """Append an event to the journal. It is stored before anything external follows from it, not necessarily at once."""
        if isinstance(event, PlanRecorded):
            self._add_proposed_steps(event.steps)
        await self._session.buffer(event, actor=self.actor.key)

    def _add_proposed_steps(self, steps: Sequence[JsonObject]) -> None:
        self.proposed_steps |= {step.slot: step for step in map(PlanStep.from_stored, steps)}

    async def find_effect(self, slot: str) -> EffectRow | None:
        """Return the stored effect of this slot (place in the plan); None if there is none."""
        return await self._session.find_effect(build_effect_id(slot))

    async def describe_change(self, slot: str) -> ProposalLabel | None:
        """Return a label for the change proposed in this slot, for use in sentences to the person; None if the step changes nothing."""
        step = self.proposed_steps[slot]
        return await self._gate.describe_effect(Effect(method=step.method, params=step.params, slot=slot), self.actor)

    def record_iteration(self, iteration: int, blocks: JsonObject) -> None:
        """Keep `blocks`, the parsed parts of the model's answer in this iteration, for the audit log."""
        if not self.iterations or self.iterations[-1].number != iteration:
            self.iterations.append(Iteration(number=iteration))
        self.iterations[-1].blocks = blocks


def _may_have_changed(result: Outcome | Pending | None) -> bool:
    """Whether a step may have changed something; a step without a result may have run before a crash."""
    if not isinstance(result, Outcome):
        return True
    return result.status in {"succeeded", "unknown"} and result.call_class not in {"", "R"} and not result.repeat_of


def build_call_record(effect: Effect, result: Outcome | Pending) -> JsonObject:
    """Return one call and its result in the form of the audit log (S004-45, S004-46, S004-71)."""
    base: dict[str, object] = {"call_id": result.effect_id, "method": result.method, "proposed": dict(effect.params)}
    if isinstance(result, Pending):
        return base | {"status": "waiting", "confirmation_id": result.confirmation_id, "reasons": [one.code for one in result.reasons]}
    if result.repeat_of:  # as the journal has it: refused, since nothing was sent
        return base | {"status": "refused", "params": dict(effect.params), "class": "", "reason": REPEATED, "detail": result.detail}
    base |= {"status": result.status, "params": to_written_params(result.method, result.call), "class": result.call_class}
    if result.commands:
        base |= {"commands": [report.model_dump() for report in result.commands]}
    if result.status == "succeeded":
        return base | {"answer": result.result}
    return base | {"reason": result.reason.code if result.reason else "", "detail": result.detail}


def _format_step_state(result: Outcome | Pending) -> str:
    """Return the word for a step's state that the person sees during the turn: "waiting", "done", "refused", "unknown"."""
    return "waiting" if isinstance(result, Pending) else {"succeeded": "done"}.get(result.status, result.status)
