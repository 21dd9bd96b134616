"""Builds audit records from the events of a turn or decision. Changes nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.effect import EffectOutcome, EffectRecord, StoredCall, to_written_params
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.outputs import Notice
from orchestrator.engines.base import PlanStep
from orchestrator.engines.crm_agent.blocks import Step, parse
from orchestrator.gate.call.kept_files import KEY
from orchestrator.gate.call.serialization import build_effect_id
from orchestrator.gate.decide import refusals
from orchestrator.sessions.audit import CONFIRMATION_KEYS, describe_provider, show_written_keys
from orchestrator.sessions.iterations import describe_service_answer
from orchestrator.sessions.paused_turns import is_node_of
from state.events.base import Event
from state.events.calls import CallOutcomeUnknown, CallRefused, CallStarted, CallSucceeded, OutcomeReconciled
from state.events.confirmations import ConfirmationApproved, ConfirmationDenied, ConfirmationRequested, ConfirmationSuperseded
from state.events.conversation import MessageReceived, ModelAnswered, ModelFailed, PlanRecorded, StepRefused
from state.events.freezing import ConfirmationReopened
from state.events.runs import NodeDone
from state.journal.blobs import parse_blob
from state.journal.store import Store, StoredEvent
from state.model.card import NO_CARD
from state.model.session_state import SessionState
from state.stored import JsonObject

StepEnd = StepRefused | CallSucceeded | CallRefused | CallOutcomeUnknown


@dataclass
class Iteration:
    """A model answer and its plan.

    A turn that answers a question begins with the earlier model answer.
    """

    number: int
    raw: str = ""
    model: str = ""
    tokens: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    provider: str = ""
    failed_before: Sequence[str] = ()
    plan: PlanRecorded | None = None
    service_answers: list[JsonObject] = field(default_factory=list)
    """Answers of models to services that the turn then asked."""
    unplanned: list[StepEnd | ConfirmationRequested] = field(default_factory=list)
    """Results of calls of an engine that records no plans."""


class Turn:
    """Without people's decisions, each of which has its own record."""

    def __init__(self, begun: MessageReceived, actor: str, text: str) -> None:
        self.turn_id = begun.turn_id
        self.actor = actor
        self.text = text
        self.iterations: list[Iteration] = []
        self.results: dict[str, StepEnd | ConfirmationRequested] = {}
        """The first result of each slot ("turn/iteration/number"); a card stays it even if its call ran."""
        self.started: dict[str, CallStarted] = {}
        self.taken_back: set[str] = set()
        """A turn that went on withdraws its cards again."""
        self.withdrawn: list[ConfirmationDenied] = []
        """Cards that the model withdrew, in the order of its steps."""
        self.logged = 0
        """Iterations logged before the turn waited; of them only what ran later is logged."""
        self.told: frozenset[str] = frozenset()
        """Slots whose results are logged."""

    def pause(self) -> dict[str, "Turn"]:
        """By its id; nothing is logged again when it goes on."""
        self.logged, self.told = len(self.iterations), self.told | self.results.keys()
        self.results = {}
        self.withdrawn = []
        for entry in self.iterations:
            entry.tokens, entry.seconds, entry.service_answers, entry.unplanned = {}, 0.0, [], []
        return {self.turn_id: self}

    def take(self, event: Event) -> None:
        """Events of other turns are ignored."""
        match event:
            case ModelAnswered(turn_id=self.turn_id):
                tokens = {"prompt": event.prompt_tokens, "completion": event.completion_tokens}
                self.iterations.append(
                    Iteration(
                        number=event.iteration,
                        raw=event.text,
                        model=event.model,
                        tokens=tokens,
                        seconds=event.seconds,
                        provider=event.provider,
                        failed_before=event.failed_before,
                    )
                )
            case ModelFailed(turn_id=self.turn_id):
                self.iterations.append(Iteration(number=event.iteration))
            case PlanRecorded(turn_id=self.turn_id) if self.iterations:
                self.iterations[-1].plan = event
            case NodeDone(node=node, model=model) if model and self.iterations and is_node_of(node, self.turn_id):
                self.iterations[-1].service_answers.append(describe_service_answer(event))
            case CallStarted(turn_id=self.turn_id):
                self.started.setdefault(event.slot, event)
            case ConfirmationDenied(turn_id=self.turn_id, via="model") if event.confirmation_id not in self.taken_back:
                self.taken_back.add(event.confirmation_id)
                self.withdrawn.append(event)
            case StepRefused() | ConfirmationRequested() | CallSucceeded() | CallRefused() | CallOutcomeUnknown():
                if event.turn_id == self.turn_id and event.slot not in self.told | self.results.keys():
                    self.results[event.slot] = event
                    if self.iterations and self.iterations[-1].plan is None:
                        self.iterations[-1].unplanned.append(event)
            case _:
                pass

    def resume(self, answer: str) -> None:
        """The earlier answer led to a question, which the person has now answered."""
        self.iterations.append(Iteration(number=0, raw=answer))

    @property
    def mode(self) -> str:
        """When the first plan since the turn began or went on was evaluated; "" without one."""
        return next((entry.plan.mode for entry in self.iterations[self.logged :] if entry.plan), "")


Record = dict[str, object]


def build_iteration_records(turn: Turn, store: Store, person: Mapping[str, str]) -> Iterator[Record]:
    """One for each iteration; the caller adds `state`.

    `person` is {"key": …, "name": …}.
    """
    withdrawn = iter([event for event in turn.withdrawn if not event.slot])
    for number, entry in enumerate(turn.iterations):
        steps = _parse_steps(entry) if entry.plan is not None else None
        planned = [] if steps is None else list(_build_calls(entry, steps, turn, store, withdrawn))
        calls = [*planned, *(_build_unplanned(said, turn, store) for said in entry.unplanned if steps is None)]
        if number < turn.logged and not calls:
            continue
        yield {
            "type": "iteration",
            "turn_id": turn.turn_id,
            "iteration": entry.number,
            **({"mode": turn.mode} if turn.mode else {}),
            "requested_by": dict(person),
            "user_message": turn.text,
            "model_response": _build_response(entry),
            "executed_actions": calls,
            "targets": sorted({str(call["method"]) for call in calls}),
            "tokens": entry.tokens,
            "model": entry.model,
            **describe_provider(entry.provider, entry.failed_before),
            "seconds": entry.seconds,
            **({"service_answers": entry.service_answers} if entry.service_answers else {}),
        }


def build_trouble_record(turn: Turn) -> Record:
    return {"type": "trouble", "turn_id": turn.turn_id, "errors": ["turn failed, see the log"]}


def build_decision_record(
    decision: StoredEvent, end: Event, state: SessionState, store: Store, names: Mapping[str, str]
) -> tuple[str, Record]:
    """(who decided, record). `end` closed the card or ended its call; of a denial it is the denial."""
    kind = ConfirmationApproved if decision.type == "ConfirmationApproved" else ConfirmationDenied
    verdict = kind.from_data(decision.data)
    by, name = (
        (verdict.approved_by, verdict.approved_by_name)
        if isinstance(verdict, ConfirmationApproved)
        else (verdict.denied_by, verdict.denied_by_name)
    )
    who = by or decision.actor
    entry = state.cards.get(verdict.confirmation_id) or NO_CARD
    notice, status, outcome = _build_outcome(end, store)
    return who, {
        "type": "decision",
        "decided_by": {"key": who, "name": name or names.get(who, "")},
        "via": verdict.via,
        "user_message": notice or status,
        "executed_actions": [{"method": entry.method, "status": status or entry.status}],
        "confirmation": show_written_keys(entry.select(CONFIRMATION_KEYS)),
        "outcome": outcome,
    }


def _build_outcome(end: Event, store: Store) -> tuple[str, str, Record]:
    """(notice code or "", the call's status or "" without a call, record)."""
    match end:
        case ConfirmationSuperseded():
            return end.why, "", {"notice": end.why}
        case ConfirmationReopened():
            return refusals.FROZEN_CARD, "", {"notice": refusals.FROZEN_CARD}
        case CallSucceeded() | CallRefused() | CallOutcomeUnknown() | OutcomeReconciled():
            row, status = store.find_effect(end.effect_id), _find_status(end)
            outcome_fields = {key: value for key, value in (row.outcome or {}).items() if key not in {"preview", KEY}} if row else {}
            sent = (
                EffectRecord.model_validate(row.call if row else {}).call or StoredCall()
            )  # of an erased person only an outline of the call is left
            method = "" if isinstance(end, OutcomeReconciled) else end.method
            base = {"status": status, "effect_id": end.effect_id, "method": method or sent.method}
            params = to_written_params(method or sent.method, sent.params)
            call_record = {"status": status, "call": params, "result": _load_answer(end, store), "notice": ""}
            return "", status, base | outcome_fields | call_record
        case _:
            return "card-denied", "", {"notice": "card-denied"}


def _parse_steps(entry: Iteration) -> tuple[Step, ...] | None:
    try:
        return parse(entry.raw, may_be_silent=True).steps
    except ModelClientError:
        return None


def _build_response(entry: Iteration) -> Record:
    try:
        blocks = parse(entry.raw, may_be_silent=True)
    except ModelClientError:
        return {"raw": entry.raw}
    action = [{"method": step.method, "params": step.params, "comment": step.comment} for step in blocks.steps]
    return {"thought": blocks.thought, "action": action, "assistant": blocks.assistant}


def _build_calls(
    entry: Iteration, steps: tuple[Step, ...], turn: Turn, store: Store, withdrawn: Iterator[ConfirmationDenied]
) -> Iterator[Record]:
    """Without steps that left no event: not begun, or with a card waiting already.

    `withdrawn` are those that do not name their step, as earlier versions stored them.
    """
    plan = entry.plan
    if plan is None:
        return
    named = {event.slot: event for event in turn.withdrawn}
    for number, (step, item) in enumerate(zip(steps, plan.steps, strict=False), start=1):
        planned, slot = PlanStep.from_stored(item), f"{turn.turn_id}/{plan.iteration}/{number}"
        result = turn.results.get(slot)
        base: Record = {"call_id": build_effect_id(slot), "method": planned.method, "proposed": planned.params}
        if result is not None:
            yield base | _build_result(result, turn.started.get(slot), store)
        elif taken_back := named.get(slot) or (next(withdrawn, None) if step.confirmation_decision == "deny" else None):
            detail = "withdrawn as you asked; nothing was sent"
            yield base | {"status": "refused", "params": taken_back.params, "class": "", "reason": "denied-by-model", "detail": detail}
        elif plan.mode == "shadow" and planned.problem is None:
            yield base | {"status": "planned", "reason": "", "detail": "shadow mode: recorded as a plan, not run"}


def _build_unplanned(event: StepEnd | ConfirmationRequested, turn: Turn, store: Store) -> Record:
    """What was proposed is told as it was judged."""
    call_record = _build_result(event, turn.started.get(event.slot), store)
    return {"call_id": build_effect_id(event.slot), "proposed": call_record.get("params", {}), **call_record}


def _build_result(event: StepEnd | ConfirmationRequested, started: CallStarted | None, store: Store) -> Record:
    if isinstance(event, ConfirmationRequested):
        codes = [Notice.model_validate(reason).code for reason in event.reasons]
        return {"method": event.method, "status": "waiting", "confirmation_id": event.confirmation_id, "reasons": codes}
    params = started.params if started else {} if isinstance(event, CallOutcomeUnknown) else event.params
    call_class = "" if isinstance(event, StepRefused) else event.call_class
    row = None if isinstance(event, StepRefused) else store.find_effect(event.effect_id)
    outcome = EffectOutcome.model_validate((row.outcome if row else None) or {})
    commands = (event.commands if isinstance(event, CallSucceeded | CallRefused) else ()) or outcome.commands
    base: Record = {
        "method": event.method,
        "status": _find_status(event),
        "params": to_written_params(event.method, params),
        "class": call_class,
    }
    base |= {"commands": commands} if commands else {}
    if isinstance(event, CallSucceeded):
        return base | {"answer": _load_answer(event, store)}
    return base | _find_reason(event, outcome.reason) | {"detail": event.detail}


def _find_reason(event: StepRefused | CallRefused | CallOutcomeUnknown, notice: Notice | None) -> Record:
    code = "" if isinstance(event, CallOutcomeUnknown) else event.code
    if notice is None and isinstance(event, CallRefused):
        return {"code": code}
    return {"reason": (notice.code if notice else "") or code}


def _load_answer(event: Event, store: Store) -> object:
    if not isinstance(event, CallSucceeded):
        return None
    if not event.result_blob:
        return event.result
    text = store.load_blob(event.result_blob)
    return parse_blob(text) if text is not None else None


def _find_status(event: Event) -> str:
    if isinstance(event, OutcomeReconciled):
        return {"done": "succeeded", "not_done": "refused"}.get(event.verdict, "unknown")
    return "succeeded" if isinstance(event, CallSucceeded) else "unknown" if isinstance(event, CallOutcomeUnknown) else "refused"
