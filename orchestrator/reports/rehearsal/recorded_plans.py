"""Reads the recorded plans from the journal, each step with its taint, values and result at that time. Reads only, judges nothing."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from orchestrator.domain.effect import Provenance
from orchestrator.domain.errors import ModelClientError
from orchestrator.engines.crm_agent.blocks import parse
from orchestrator.gate.call.serialization import build_effect_id
from orchestrator.reports.reading.damaged_records import UnreadableEvent
from state.events import fold
from state.events.fold import list_open_confirmations
from state.journal.store import Store, StoredEvent
from state.session_state import AgentState, OpenTurn, SessionState

PAGE = 1000
Fate = Literal["planned", "ran", "asked", "refused", "unnamed", "no record"]


@dataclass(kw_only=True)
class RecordedStep:
    """One step of a plan with everything the journal says about it."""

    slot: str
    number: int
    method: str
    params: dict[str, Any]
    comment: str = ""
    requires_confirmation: bool = False
    confirmation_decision: str | None = None
    name_problem: str = ""
    """Why a name in it could not be resolved; such a step never reached the gate."""
    fate: Fate = "no record"
    fate_note: str = ""
    """For a refusal its code, for a card what became of it."""
    detail: str = ""
    """For a refusal its sentence."""
    before: dict[str, Any] | None = None
    """The before-image that the card or the call kept; None where neither did."""
    provenance: Provenance | None = None
    """Complete, where a card kept it."""

    @property
    def call(self) -> str:
        """The call's id, which the journal, the audit log and `journal why` use."""
        return build_effect_id(self.slot)


@dataclass(kw_only=True)
class RecordedPlan:
    """The steps of one iteration of one turn, and the session's state before them."""

    session: str
    turn_id: str
    iteration: int
    at: str
    mode: str
    person: str
    text: str
    targets: frozenset[str]
    prose: bool
    labels: tuple[str, ...]
    read_before: bool
    """Whether earlier iterations of the turn ran reads, whose labels are not recorded."""
    state: SessionState
    steps: list[RecordedStep] = field(default_factory=list)
    left_out: Literal["", "erased", "unreadable"] = ""
    """Why its steps are not known."""


@dataclass(kw_only=True)
class _Turn:
    """What the events of an open turn have said so far."""

    person: str
    text: str
    prose: bool = False
    labels: tuple[str, ...] = ()
    answer: str = ""
    plans: int = 0


def read_plans(store: Store, *, since: str = "") -> Iterator[RecordedPlan]:
    """Yield every plan made at or after `since` (ISO, UTC, Z), session by session in order; store errors are not caught (S004-35)."""
    for stream in store.list_streams():
        if stream.startswith("session:"):
            reader = _Reader(stream.removeprefix("session:"))
            for event in _read_events(store, stream):
                reader.take(event)
            yield from (plan for plan in reader.plans if plan.at >= since)


def _read_events(store: Store, stream: str) -> Iterator[StoredEvent]:
    after = 0
    while page := store.read_events(stream, after=after, limit=PAGE):
        yield from page
        after = page[-1].seq


class _Reader:
    """Reads the journal of one session, event by event."""

    def __init__(self, session: str) -> None:
        self.plans: list[RecordedPlan] = []
        self._session = session
        self._state: SessionState = fold.create_state()
        self._turns: dict[str, _Turn] = {}
        self._steps: dict[str, RecordedStep] = {}
        self._calls: dict[str, RecordedStep] = {}
        self._cards: dict[str, RecordedStep] = {}

    def take(self, event: StoredEvent) -> None:
        """Record what `event` says, then fold it into the state."""
        note = _RECORDERS.get(event.type)
        if note is not None:
            note(self, event, event.data)
        fold.fold_events(self._state, ((event.type, dict(event.data), event.ts),))

    def record_message(self, event: StoredEvent, data: Mapping[str, Any]) -> None:
        """Start a turn; a turn that answers a question takes over what the question's turn had read."""
        question = self._state.question if data.get("answers") else None
        turn = _Turn(person=event.actor, text=data["text"], prose=bool(data.get("quoted")))
        if question:
            turn.text, turn.answer = question.text, question.answer
            turn.prose, turn.labels = turn.prose or question.prose, tuple(question.labels)
        self._turns[data["turn_id"]] = turn

    def record_answer(self, event: StoredEvent, data: Mapping[str, Any]) -> None:
        """Record the model's answer, and whether it had read prose by then."""
        turn = self._get_turn(event, data)
        turn.answer, turn.prose = data["text"], turn.prose or data.get("prose", False)

    def record_plan(self, event: StoredEvent, data: Mapping[str, Any]) -> None:
        """Record the plan with the current state of the session; later events add the results of its steps."""
        turn = self._get_turn(event, data)
        turn.plans += 1
        steps = [_build_step(entry, number) for number, entry in enumerate(data["steps"], start=1)]
        _set_flags(steps, turn.answer)
        made = RecordedPlan(
            session=self._session,
            turn_id=data["turn_id"],
            iteration=data["iteration"],
            at=event.ts,
            mode=data["mode"],
            person=turn.person,
            text=turn.text,
            targets=frozenset(data.get("targets", ())),
            prose=turn.prose or any(entry.get("prose") for entry in data["steps"]),
            labels=turn.labels,
            read_before=turn.plans > 1,
            state=_copy_state(self._state, data["turn_id"]),
            steps=steps,
            left_out="unreadable" if isinstance(event, UnreadableEvent) else "erased" if event.erased else "",
        )
        for step in made.steps:
            if data["mode"] == "shadow" and step.fate == "no record":
                step.fate = "planned"
            self._steps[step.slot] = self._calls[step.call] = step
        self.plans.append(made)

    def record_refusal(self, event: StoredEvent, data: Mapping[str, Any]) -> None:
        """Record that the gate refused the step."""
        del event
        step = self._set_fate(data, "refused", data["code"])
        if step is not None:
            step.detail = data.get("detail", "")

    def record_request(self, event: StoredEvent, data: Mapping[str, Any]) -> None:
        """Record that a person was asked; the card keeps the values and the taint."""
        step = self._set_fate(data, "asked", "waits")
        if step is None:
            return
        self._cards[data["confirmation_id"]] = step
        if not event.erased:
            step.before, step.provenance = data["before"], Provenance.model_validate(data["provenance"])

    def record_decision(self, event: StoredEvent, data: Mapping[str, Any]) -> None:
        """Record what became of a card; a step that withdrew a card that did not exist counts as refused."""
        step = self._cards.get(data["confirmation_id"])
        if step is not None:
            step.fate_note = event.type.removeprefix("Confirmation").lower()
            return
        step = self._calls.get(data["effect_id"])
        if step is not None:
            step.fate, step.fate_note = "refused", "gate-withdrawn"

    def record_start(self, event: StoredEvent, data: Mapping[str, Any]) -> None:
        """Record that the call was about to be sent."""
        step = self._steps.get(data["slot"])
        if step is not None:
            step.before = step.before if event.erased else data["before"]
            if not data.get("confirmation_id"):
                step.fate = "ran"

    def record_end(self, event: StoredEvent, data: Mapping[str, Any]) -> None:
        """Record the portal's answer."""
        step = self._steps.get(data["slot"])
        if step is None:
            return
        said = {"CallSucceeded": "done", "CallRefused": f"not done ({data.get('code', '')})"}.get(event.type, "outcome unknown")
        if data.get("confirmation_id"):
            step.fate_note = f"{step.fate_note}, {said}"
        else:
            step.fate, step.fate_note = "ran", said

    def _get_turn(self, event: StoredEvent, data: Mapping[str, Any]) -> _Turn:
        return self._turns.setdefault(data["turn_id"], _Turn(person=event.actor, text=""))

    def _set_fate(self, data: Mapping[str, Any], fate: Fate, more: str) -> RecordedStep | None:
        step = self._steps.get(data["slot"])
        if step is not None:
            step.fate, step.fate_note = fate, more
        return step


def _build_step(entry: Mapping[str, Any], number: int) -> RecordedStep:
    step = RecordedStep(
        slot=entry["slot"], number=number, method=entry["method"], params=dict(entry["params"]), comment=entry.get("comment", "")
    )
    if entry.get("problem"):
        step.name_problem, step.fate, step.detail = entry["problem"]["code"], "unnamed", entry["problem"]["detail"]
    return step


def _set_flags(steps: list[RecordedStep], answer: str) -> None:
    """Take the flags of the steps from the recorded answer, since the recorded plan does not keep them."""
    try:
        written = parse(answer).steps
    except ModelClientError:
        return
    if [step.method for step in steps] == [step.method for step in written]:
        for step, said in zip(steps, written, strict=True):
            step.requires_confirmation, step.confirmation_decision = said.requires_confirmation, said.confirmation_decision


def _copy_state(state: SessionState, turn_id: str) -> SessionState:
    """Return a copy of the state's parts that the gate needs, since the fold goes on changing them."""
    waiting = {entry.confirmation_id: entry for entry in list_open_confirmations(state)}
    return SessionState(
        agent=AgentState(confirmations=waiting, in_progress=list(state.agent.in_progress)),
        unknown=dict(state.unknown),
        denied=dict(state.denied),
        turn=state.turn or OpenTurn.create(turn_id=turn_id, started=""),
    )


_RECORDERS: dict[str, Callable[[_Reader, StoredEvent, Mapping[str, Any]], None]] = {
    "MessageReceived": _Reader.record_message,
    "ModelAnswered": _Reader.record_answer,
    "PlanRecorded": _Reader.record_plan,
    "StepRefused": _Reader.record_refusal,
    "ConfirmationRequested": _Reader.record_request,
    "ConfirmationApproved": _Reader.record_decision,
    "ConfirmationDenied": _Reader.record_decision,
    "ConfirmationExpired": _Reader.record_decision,
    "ConfirmationSuperseded": _Reader.record_decision,
    "CallStarted": _Reader.record_start,
    "CallSucceeded": _Reader.record_end,
    "CallRefused": _Reader.record_end,
    "CallOutcomeUnknown": _Reader.record_end,
}
