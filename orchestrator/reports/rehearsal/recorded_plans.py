from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from orchestrator.domain.address import is_run
from orchestrator.domain.effect import MessageFacts, Provenance
from orchestrator.domain.errors import ModelClientError
from orchestrator.engines.base import PlanStep
from orchestrator.engines.crm_agent.blocks import parse
from orchestrator.gate.call.serialization import build_effect_id, build_node_slot
from orchestrator.language.orders import count_orders, is_plain
from orchestrator.reports.reading.damaged_records import UnreadableEvent
from orchestrator.reports.reading.journal_reader import bind_reader, read_stream
from orchestrator.sessions.paused_turns import list_denied
from state.events import fold
from state.events.calls import CallOutcomeUnknown, CallRefused, CallStarted, CallSucceeded
from state.events.confirmations import (
    ConfirmationApproved,
    ConfirmationDenied,
    ConfirmationExpired,
    ConfirmationRequested,
    ConfirmationSuperseded,
)
from state.events.conversation import MessageReceived, ModelAnswered, PlanRecorded, StepRefused, TurnFinished
from state.events.fold import list_open_confirmations
from state.events.runs import NodeDone
from state.journal.blobs import parse_blob
from state.journal.store import Store, StoredEvent
from state.model.session_state import AgentState, OpenTurn, SessionState
from state.stored import JsonObject

Fate = Literal["planned", "ran", "asked", "refused", "unnamed", "no record"]
_ANSWERS: Final = {"CallSucceeded": "done", "CallOutcomeUnknown": "outcome unknown"}


@dataclass(kw_only=True)
class RecordedStep:
    """`fate` is what became of it."""

    slot: str
    number: int
    method: str
    params: JsonObject
    comment: str = ""
    requires_confirmation: bool = False
    confirmation_decision: str | None = None
    name_problem: str = ""
    """Why a name ("@deal:Ромашка") was not resolved and the gate never saw the step."""
    fate: Fate = "no record"
    fate_note: str = ""
    """The code of the refusal, or the card's fate; "" for other fates."""
    detail: str = ""
    """The sentence of a refusal; "" for other fates."""
    before: JsonObject | None = None
    """As stored with the card or call; None if neither did."""
    provenance: Provenance | None = None
    """What the model had read, as stored with a card; None without one."""

    @property
    def call(self) -> str:
        """As the journal, the audit log and `journal why` show it."""
        return build_effect_id(self.slot)

    @property
    def fate_with_note(self) -> str:
        """Such as "refused: gate-delete"."""
        return f"{self.fate}: {self.fate_note}" if self.fate_note else self.fate


@dataclass(kw_only=True)
class RecordedPlan:
    session: str
    turn_id: str
    iteration: int
    at: str
    mode: str
    person: str
    text: str
    targets: frozenset[str]
    message: MessageFacts | None
    """None for a step of a run, which no message has to order."""
    prose: bool
    labels: tuple[str, ...]
    read_before: bool
    """The labels that those reads returned are not recorded."""
    state: SessionState
    denied: frozenset[str]
    """Essences of calls denied in the turn before."""
    steps: list[RecordedStep] = field(default_factory=list)
    left_out: Literal["", "erased", "unreadable"] = ""
    """Why the steps are not known; "" if they are."""


@dataclass(kw_only=True)
class _Turn:
    """What is known of a turn so far."""

    person: str
    text: str
    prose: bool = False
    is_plain: bool = False
    labels: tuple[str, ...] = ()
    answer: str = ""
    plans: int = 0
    joined: frozenset[str] = frozenset()
    """Places of steps of other turns for whose cards it waited."""


def _read_message(plan_recorded: PlanRecorded, turn: _Turn) -> MessageFacts:
    """Plans of earlier versions did not record it."""
    if plan_recorded.message:
        return MessageFacts.model_validate(plan_recorded.message)
    return MessageFacts(orders=count_orders(turn.text), is_plain=turn.is_plain and is_plain(turn.text), changes=0)


def read_plans(store: Store, *, since: str = "") -> Iterator[RecordedPlan]:
    """From `since` on (ISO time with "Z"; "": all), session by session, in order of time.

    Raises the errors of the store (S004-35).
    """
    for stream in store.list_streams():
        if may_hold_plans(stream):
            yield from read_stream_plans(store, stream, since=since)


def may_hold_plans(stream: str) -> bool:
    """Streams of sessions and runs."""
    return stream.startswith("session:") or is_run(stream)


def read_stream_plans(store: Store, stream: str, *, since: str = "") -> list[RecordedPlan]:
    """From `since` on, in order of time. Raises the errors of the store."""
    reader = _Reader(stream.removeprefix("session:"), store)
    for event in read_stream(store, stream):
        reader.take(event)
    return [plan for plan in reader.plans if plan.at >= since]


class _Reader:
    def __init__(self, session: str, store: Store) -> None:
        self.plans: list[RecordedPlan] = []
        self._session, self._store = session, store
        self._state: SessionState = fold.create_state()
        self._turns: dict[str, _Turn] = {}
        self._steps: dict[str, RecordedStep] = {}
        self._calls: dict[str, RecordedStep] = {}
        self._cards: dict[str, RecordedStep] = {}

    def take(self, event: StoredEvent) -> None:
        """Before the event changes the session's state."""
        note = _RECORDERS.get(event.type)
        if note is not None:
            note(self, event)
        fold.fold_events(self._state, ((event.type, dict(event.data), event.ts),))

    def record_message(self, message_received: MessageReceived, event: StoredEvent) -> None:
        """An answer keeps text and taint of the turn that asked."""
        question = self._state.question if message_received.answers else None
        turn = _Turn(person=event.actor, text=message_received.text, prose=bool(message_received.quoted))
        turn.is_plain = not message_received.quoted and not message_received.answers_others
        if question:
            turn.text, turn.answer = question.text, question.answer
            turn.prose, turn.labels = turn.prose or question.prose, tuple(question.labels)
        self._turns[message_received.turn_id] = turn

    def record_answer(self, answered: ModelAnswered, event: StoredEvent) -> None:
        """With whether the model had read prose before it."""
        turn = self._get_turn(answered.turn_id, event)
        turn.answer, turn.prose = answered.text, turn.prose or answered.prose

    def record_pause(self, turn_finished: TurnFinished, event: StoredEvent) -> None:
        """The cards of other turns for which it waits."""
        turn = self._get_turn(turn_finished.turn_id, event)
        turn.joined |= frozenset(turn_finished.joined_slots.values())

    def record_plan(self, plan_recorded: PlanRecorded, event: StoredEvent) -> None:
        """With a copy of the state; later events tell the fate of its steps."""
        turn = self._get_turn(plan_recorded.turn_id, event)
        turn.plans += 1
        entries = [PlanStep.from_stored(entry) for entry in plan_recorded.steps]
        steps = [_build_step(entry, number) for number, entry in enumerate(entries, start=1)]
        _set_flags(steps, turn.answer)
        recorded_plan = RecordedPlan(
            session=self._session,
            turn_id=plan_recorded.turn_id,
            iteration=plan_recorded.iteration,
            at=event.ts,
            mode=plan_recorded.mode,
            person=turn.person,
            text=turn.text,
            targets=frozenset(plan_recorded.targets),
            message=_read_message(plan_recorded, turn),
            prose=turn.prose or any(entry.prose for entry in entries),
            labels=turn.labels,
            read_before=turn.plans > 1,
            state=_copy_state(self._state, plan_recorded.turn_id),
            denied=list_denied(plan_recorded.turn_id, turn.joined, self._state),
            steps=steps,
            left_out="unreadable" if isinstance(event, UnreadableEvent) else "erased" if event.erased else "",
        )
        for step in recorded_plan.steps:
            if plan_recorded.mode == "shadow" and step.fate == "no record":
                step.fate = "planned"
            self._steps[step.slot] = self._calls[step.call] = step
        self.plans.append(recorded_plan)

    def record_refusal(self, step_refused: StepRefused, _event: StoredEvent) -> None:
        step = self._set_fate(step_refused.slot, "refused", step_refused.code)
        if step is not None:
            step.detail = step_refused.detail

    def record_request(self, confirmation_requested: ConfirmationRequested, event: StoredEvent) -> None:
        """Old values and provenance come from the card."""
        self._record_node(confirmation_requested.slot, event, confirmation_requested.method, confirmation_requested.params)
        step = self._set_fate(confirmation_requested.slot, "asked", "waits")
        if step is None:
            return
        self._cards[confirmation_requested.confirmation_id] = step
        if not event.erased:
            step.before, step.provenance = confirmation_requested.before, Provenance.model_validate(confirmation_requested.provenance)

    def record_decision(
        self, decision: ConfirmationApproved | ConfirmationDenied | ConfirmationExpired | ConfirmationSuperseded, event: StoredEvent
    ) -> None:
        """Without a known card the model tried to withdraw one that did not exist: a refusal."""
        step = self._cards.get(decision.confirmation_id)
        if step is not None:
            step.fate_note = event.type.removeprefix("Confirmation").lower()
            return
        step = self._calls.get(decision.effect_id)
        if step is not None:
            step.fate, step.fate_note = "refused", "gate-withdrawn"

    def record_start(self, call_started: CallStarted, event: StoredEvent) -> None:
        self._record_node(call_started.slot, event, call_started.method, call_started.params)
        step = self._steps.get(call_started.slot)
        if step is not None:
            step.before = step.before if event.erased else call_started.before
            if not call_started.confirmation_id:
                step.fate = "ran"

    def record_end(self, ended: CallSucceeded | CallRefused | CallOutcomeUnknown, event: StoredEvent) -> None:
        """Done, not done with the code, or of unknown outcome."""
        step = self._steps.get(ended.slot)
        if step is None:
            return
        ending = f"not done ({ended.code})" if isinstance(ended, CallRefused) else _ANSWERS[event.type]
        if ended.confirmation_id:
            step.fate_note = f"{step.fate_note}, {ending}"
        else:
            step.fate, step.fate_note = "ran", ending

    def record_node(self, done: NodeDone, event: StoredEvent) -> None:
        """Without a card or call: it was only planned, or refused."""
        if done.kind != "effect":
            return
        output = done.output
        if done.output_blob and (text := self._store.load_blob(done.output_blob)) is not None:
            output = parse_blob(text)
        if isinstance(output, Mapping) and output.get("status") in {"planned", "refused"}:
            slot = build_node_slot(self._session, done.node, done.attempt)
            self._record_node(slot, event, str(output.get("method", "")), output.get("call") or {})
            step = self._steps[slot]
            if step.fate == "no record":
                reason = output.get("reason")
                step.fate, step.detail = ("planned" if output["status"] == "planned" else "refused"), str(output.get("detail", ""))
                step.fate_note = str(reason.get("code", "")) if isinstance(reason, Mapping) else ""

    def _record_node(self, slot: str, event: StoredEvent, method: str, params: JsonObject) -> None:
        """As a plan of one step, unless it is known."""
        run = self._state.run
        if run is None or slot in self._steps or not slot.startswith(f"{self._session}/"):
            return
        step = RecordedStep(slot=slot, number=1, method=method, params=params)
        self._steps[slot] = self._calls[step.call] = step
        self.plans.append(
            RecordedPlan(
                session=self._session,
                turn_id=slot,
                iteration=1,
                at=event.ts,
                mode=run.mode,
                person=run.owner,
                text="",
                targets=frozenset(),
                message=None,
                prose=False,
                labels=(),
                read_before=True,  # what the run had read is known from the card only
                state=_copy_state(self._state, slot),
                denied=frozenset(),  # a person may have a run try again
                steps=[step],
                left_out="unreadable" if isinstance(event, UnreadableEvent) else "erased" if event.erased else "",
            )
        )

    def _get_turn(self, turn_id: str, event: StoredEvent) -> _Turn:
        return self._turns.setdefault(turn_id, _Turn(person=event.actor, text=""))

    def _set_fate(self, slot: str, fate: Fate, more: str) -> RecordedStep | None:
        step = self._steps.get(slot)
        if step is not None:
            step.fate, step.fate_note = fate, more
        return step


def _build_step(entry: PlanStep, number: int) -> RecordedStep:
    step = RecordedStep(slot=entry.slot, number=number, method=entry.method, params=entry.params, comment=entry.comment)
    if problem := entry.name_problem:
        step.name_problem, step.fate, step.detail = problem.notice.code, "unnamed", problem.detail
    return step


def _set_flags(steps: list[RecordedStep], answer: str) -> None:
    """From the answer, since plans do not hold them."""
    try:
        answer_steps = parse(answer).steps
    except ModelClientError:
        return
    if [step.method.strip() for step in steps] == [step.method for step in answer_steps]:
        for step, answer_step in zip(steps, answer_steps, strict=True):
            step.requires_confirmation, step.confirmation_decision = answer_step.requires_confirmation, answer_step.confirmation_decision


def _copy_state(state: SessionState, turn_id: str) -> SessionState:
    """The parts that the gate needs, with `turn_id` open if no turn is."""
    waiting = {entry.confirmation_id: entry for entry in list_open_confirmations(state)}
    return SessionState(
        agent=AgentState(confirmations=waiting, in_progress=list(state.agent.in_progress)),
        unknown=dict(state.unknown),
        denied=dict(state.denied),
        turn=state.turn or OpenTurn.create(turn_id=turn_id, started=""),
    )


_RECORDERS: Final = {
    **bind_reader(MessageReceived, _Reader.record_message),
    **bind_reader(ModelAnswered, _Reader.record_answer),
    **bind_reader(PlanRecorded, _Reader.record_plan),
    **bind_reader(TurnFinished, _Reader.record_pause),
    **bind_reader(StepRefused, _Reader.record_refusal),
    **bind_reader(ConfirmationRequested, _Reader.record_request),
    **bind_reader(ConfirmationApproved, _Reader.record_decision),
    **bind_reader(ConfirmationDenied, _Reader.record_decision),
    **bind_reader(ConfirmationExpired, _Reader.record_decision),
    **bind_reader(ConfirmationSuperseded, _Reader.record_decision),
    **bind_reader(CallStarted, _Reader.record_start),
    **bind_reader(CallSucceeded, _Reader.record_end),
    **bind_reader(CallRefused, _Reader.record_end),
    **bind_reader(CallOutcomeUnknown, _Reader.record_end),
    **bind_reader(NodeDone, _Reader.record_node),
}
