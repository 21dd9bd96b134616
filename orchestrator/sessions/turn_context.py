"""`Context`: an engine's access to journal, gate and model while it works on one turn."""

import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Any

from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import Effect, NewRecord, Outcome, Pending, Provenance, to_written_params
from orchestrator.domain.errors import ModelClientError, OverBudget
from orchestrator.domain.models import ModelAnswer, Models
from orchestrator.domain.outputs import Notice, Reply
from orchestrator.domain.undo_request import UndoAnswer, UndoRequest
from orchestrator.engines.base import ModelText, PlanStep, TurnInput, TurnModelRequest
from orchestrator.gate.approve.plan_slots import find_origin_slot
from orchestrator.gate.call.serialization import StoredOrder, build_effect_id, to_proposed_params
from orchestrator.gate.gate import Gate
from orchestrator.gate.preview.call_labels import ProposalLabel
from orchestrator.performers.read_progress import ReadProgress, attach_progress
from orchestrator.sessions.iterations import Iteration, build_call_record, describe_service_answer, format_step_state, may_have_changed
from orchestrator.sessions.model_calls import (
    UNLIMITED,
    ModelBudget,
    build_answered_event,
    build_asked_event,
    describe_cost,
    from_stored_calls,
    hold,
)
from orchestrator.sessions.outbox import build_reply_row
from orchestrator.sessions.paid_models import PaidModels, attach_models
from orchestrator.sessions.paused_turns import list_denied, restore_told_step
from orchestrator.sessions.recorded_turn import RecordedTurn, build_read_outcome, list_waiting
from orchestrator.sessions.session import Session
from orchestrator.sessions.undo_steps import UndoSteps
from state.events.base import Event
from state.events.calls import CallSucceeded
from state.events.conversation import ModelFailed, PlanRecorded, StepRefused
from state.events.runs import NodeDone
from state.journal.blobs import parse_blob
from state.journal.store import EffectRow
from state.journal.thread_worker import run_to_end
from state.model.card import Card
from state.model.session_state import SessionState
from state.stored import JsonObject

Query = Callable[..., Awaitable[Any]]
Partial = Callable[[str | Notice], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class TurnServices:
    gate: Gate
    model: Models
    queries: Mapping[str, Query]
    show_partial: Partial
    model_budget: ModelBudget = UNLIMITED
    undo: UndoSteps | None = None
    came_back: bool = False
    """Whether the turn is of a run restored from a backup, which may have made its calls since."""


class Context:
    """One turn as its engine sees it."""

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
        """`recorded` is empty for a new turn."""
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
        self._undo = reach.undo
        self.recorded = recorded
        self.proposed_steps: dict[str, PlanStep] = {}
        """Submitted effects by slot, including those of a crashed process."""
        self.outcomes: dict[str, Outcome | Pending] = {}
        for plan in recorded.plans.values():
            self._add_proposed_steps(plan.steps)
        self._submitted_slots: set[str] = set()
        self._has_new_answers = False
        self._show_partial = reach.show_partial
        self.stopped = False
        self._cancel: Callable[[], object] = lambda: None

    def set_cancel_callback(self, cancel: Callable[[], object]) -> None:
        self._cancel = cancel

    def stop(self) -> None:
        self.stopped = True
        self._cancel()

    @property
    def now(self) -> datetime:
        return self._session.now

    @property
    def state(self) -> SessionState:
        """After everything committed or buffered."""
        return self._session.state

    @property
    def waiting(self) -> Sequence[str]:
        """See `TurnContext.waiting`."""
        return tuple(dict.fromkeys((*self.recorded.waiting, *list_waiting(self.state, self.actor.key))))

    @property
    def told_iterations(self) -> int:
        """Iterations that the person has heard of; 0 unless the turn goes on after its cards."""
        return self.recorded.told.iterations

    def is_told(self, slot: str) -> bool:
        return slot in self.recorded.told.slots

    @property
    def told_answers(self) -> int:
        """Number of the model's last answer before the turn waited; not positive without one."""
        return self.recorded.told.answers

    @property
    def told_provenance(self) -> Provenance | None:
        """When the turn began to wait; None if that is not stored."""
        return self.recorded.told.provenance

    def list_joined_steps(self) -> dict[str, str]:
        """Steps that wait for a card which was open before: place → place of the card's step."""
        cards = self.state.cards
        waiting = ((slot, cards.get(outcome.confirmation_id)) for slot, outcome in self.outcomes.items() if isinstance(outcome, Pending))
        origins = {slot: find_origin_slot(card, cards) for slot, card in waiting if card is not None}
        return {slot: origin for slot, origin in origins.items() if origin != slot}

    @property
    def untold_steps(self) -> Mapping[str, PlanStep]:
        slots = self.recorded.told.slots
        return {slot: step for slot, step in self.proposed_steps.items() if slot not in slots} if slots else self.proposed_steps

    @property
    def untold_iterations(self) -> Sequence[Iteration]:
        """What the audit log lacks: new iterations, and earlier calls that ran after the cards."""
        return [entry for entry in self.iterations if entry.number > self.recorded.told.answers or entry.calls]

    @property
    def halt_on_block(self) -> bool:
        """Whether a plan stops at the first step that waits or is refused."""
        return self._gate.halt_on_block

    async def show_partial(self, text: str) -> None:
        await self._show_partial(text)

    async def ask_model(self, request: TurnModelRequest, on_delta: Callable[[str], Awaitable[None]] | None = None) -> ModelText:
        """The recorded answer of this iteration, or a new one, which is stored before anything follows from it.

        Raises ModelClientError, and OverBudget without asking.
        """
        entry = Iteration(number=request.iteration)
        self.iterations.append(entry)
        known = self.recorded.answers.get(request.iteration)
        if known is not None:
            entry.raw, entry.model, entry.provider, entry.failed_before = known.text, known.model, known.provider, known.failed_before
            return ModelText(text=known.text, recorded=True, prose=known.prose, calls=from_stored_calls(known.calls))
        place = {"turn_id": self.turn.turn_id, "iteration": request.iteration}
        model_asked = build_asked_event(request, self._model.find_model_name(request), self.actor, self.now, **place)
        reserved = await self._model_budget.reserve(self.actor, self.now, model_asked)
        if isinstance(reserved, Notice):
            self.iterations.remove(entry)
            raise OverBudget(reserved.code)
        async with hold(reserved):
            if self._has_new_answers:
                await self._session.flush()  # a crash must not make the previous iterations ask the model again
            # The call does not wait until this is stored: that is done while the model thinks (ADR 30).
            await self.record(model_asked)
            answer = await self._ask(request, entry, reserved.id, on_delta)
            answered = build_answered_event(
                request, answer, self.actor, self.now, **place, seconds=entry.model_seconds, reservation=reserved.id
            )
            await self.record(answered)
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
            await self.record(ModelFailed(**place, reason=error.reason, reservation=reservation, **cost))
            await self._session.flush()  # else the estimate would still count when the budget lets the next call go on
            raise
        entry.raw, entry.model, entry.provider, entry.failed_before = answer.text, answer.model, answer.provider, answer.failed_before
        entry.tokens = {"prompt": answer.prompt_tokens, "completion": answer.completion_tokens}
        entry.model_seconds = round(time.monotonic() - started, 3)
        return answer

    async def say(self, reply: Reply, *, key: str) -> None:
        """Said again after a crash, the message replaces the first one."""
        row = build_reply_row(self._session.key, reply, self.now, key=f"turn:{self.turn.turn_id}/{key}")
        await self._session.commit(actor=self.actor.key, outbox=[row])

    async def memo(self, node: str, make: Callable[[], Awaitable[Any]]) -> Any:
        """`make` is called once for each node, also if a crash comes between."""
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
        """Raises KeyError for an unknown name."""
        return await self._queries[name](**args)

    async def submit(self, effect: Effect) -> Outcome | Pending:
        """The outcome of the call, or a card that waits (`Pending`).

        After a stop a sent call is still awaited, and a long read ends early.
        """
        if effect.slot in self.recorded.told.slots and (known := await self._restore_told(effect.slot)) is not None:
            return known
        read = self.recorded.reads.get(effect.slot)
        restored = await self._restore_read(read) if read is not None else None
        if restored is not None:  # the model has answered on it: it is not read anew
            self._record_call(effect, restored)
            return restored
        watch = ReadProgress(self._show_count)
        with attach_progress(watch), attach_models(self._build_paid_models()):
            return await run_to_end(self._submit_and_record(effect), watch.stop)

    async def find_own_changes(self, request: UndoRequest) -> UndoAnswer | None:
        return await self._undo.find(request, self.actor, self._session) if self._undo is not None else None

    async def propose_undo(self, request: UndoRequest, slot: str, provenance: Provenance) -> UndoAnswer | None:
        if (undo := self._undo) is None:
            return None

        async def propose() -> JsonObject:
            turn_id = self.turn.turn_id
            answer = await undo.propose(request, self.actor, self._session, mode=self.mode, turn_id=turn_id, provenance=provenance)
            return answer.to_json()

        return UndoAnswer.model_validate(await self.memo(slot, propose))

    def count_changes(self, effect: Effect) -> int:
        """0 for a read."""
        return self._gate.count_changes(effect, actor=self.actor)

    async def find_refusal(self, effect: Effect, records: Sequence[NewRecord]) -> Outcome | None:
        """See `TurnContext.find_refusal`."""
        return await self._gate.find_refusal(effect, records, actor=self.actor, mode=self.mode, ledger=self._session)

    async def needs_consent(self, effect: Effect, made: Collection[tuple[str, int]] = ()) -> bool:
        """Whether a person would be asked because they have not clearly ordered the effect.

        `made` are records that steps of the plan are to make.
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

    async def _restore_read(self, read: CallSucceeded) -> Outcome | None:
        """None if its long result is gone."""
        text = await self._session.load_blob(read.result_blob) if read.result_blob else None
        if read.result_blob and text is None:
            return None
        return build_read_outcome(read, parse_blob(text) if text is not None else read.result)

    async def _restore_told(self, slot: str) -> Outcome | Pending | None:
        """The step is neither sent nor judged again."""
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
            effect.model_copy(update={"came_back": effect.came_back or self._came_back, "planned": self._list_planned(effect.slot)}),
            actor=self.actor,
            mode=self.mode,
            turn_id=self.turn.turn_id,
            ledger=self._session,
            earlier=self._list_earlier_effects(effect.slot),
            denied=self._list_denied(),
        )
        self._record_call(effect, result)
        await self._show_partial(Notice(code="step", args={**step, "state": format_step_state(result)}))
        return result

    def _list_denied(self) -> frozenset[str]:
        return list_denied(self.turn.turn_id, self.recorded.told.joined.values(), self.state)

    def _list_earlier_effects(self, slot: str) -> list[str]:
        """Effects that certainly changed nothing are left out."""
        before = takewhile(lambda place: place != slot, self.proposed_steps)
        return [build_effect_id(place) for place in before if may_have_changed(self.outcomes.get(place))]

    def _list_planned(self, slot: str) -> tuple[Outcome, ...]:
        before = (self.outcomes.get(place) for place in takewhile(lambda place: place != slot, self.proposed_steps))
        return tuple(outcome for outcome in before if isinstance(outcome, Outcome) and outcome.status == "planned")

    def _skip_effect_lookup(self, slot: str) -> None:
        """If an effect is stored after all, storing the new one fails: nothing runs twice."""
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
        return self.recorded.plans.get(iteration)

    async def record(self, event: Event) -> None:
        """Stored before anything external follows, not at once."""
        if isinstance(event, PlanRecorded):
            self._add_proposed_steps(event.steps)
        await self._session.buffer(event, actor=self.actor.key)

    def _add_proposed_steps(self, steps: Sequence[JsonObject]) -> None:
        self.proposed_steps |= {step.slot: step for step in map(PlanStep.from_stored, steps)}

    async def find_effect(self, slot: str) -> EffectRow | None:
        return await self._session.find_effect(build_effect_id(slot))

    async def load_proposed_params(self, card: Card) -> JsonObject:
        row = await self._session.find_effect(card.effect_id)
        order = StoredOrder.from_data(row.call) if row is not None else None
        return to_written_params(card.method, card.params) if order is None or order.is_erased else to_proposed_params(order.call)

    async def describe_change(self, slot: str) -> ProposalLabel | None:
        """None if the step changes nothing."""
        step = self.proposed_steps[slot]
        return await self._gate.describe_effect(Effect(method=step.method, params=step.params, slot=slot), self.actor)

    def record_iteration(self, iteration: int, blocks: JsonObject) -> None:
        """`blocks` are parts of the model's answer."""
        if not self.iterations or self.iterations[-1].number != iteration:
            self.iterations.append(Iteration(number=iteration))
        self.iterations[-1].blocks = blocks
