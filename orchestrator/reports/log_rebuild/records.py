"""Collects the journal events of one turn or decision and builds audit records from them. Changes nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.effect import EffectOutcome, EffectRecord, StoredCall, to_written_params
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.outputs import Notice
from orchestrator.engines.base import PlanStep
from orchestrator.engines.crm_agent.blocks import Step, parse
from orchestrator.gate.call.serialization import build_effect_id
from orchestrator.gate.decide import freeze_check
from orchestrator.sessions.audit import CONFIRMATION_KEYS, describe_provider, show_written_keys
from orchestrator.sessions.paused_turns import is_node_of
from orchestrator.sessions.turn_context import describe_service_answer
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
    """One iteration of a turn: an answer of the model and the plan made from it.

    If the person answered a question of the bot, the first iteration uses again the model's answer that led to the question.
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
    """The answers of models to services that the turn asked after this answer of its own."""
    unplanned: list[StepEnd | ConfirmationRequested] = field(default_factory=list)
    """The results of calls of an engine that records no plans: those that came after this answer of the model."""


class Turn:
    """Collects the events of one turn; decisions of people made during the turn are not collected, since each gets a record of its own."""

    def __init__(self, begun: MessageReceived, actor: str, text: str) -> None:
        """Start with `begun`, the turn's first event; `actor` is the person's key, and `text` their request."""
        self.turn_id = begun.turn_id
        self.actor = actor
        self.text = text
        self.iterations: list[Iteration] = []
        self.results: dict[str, StepEnd | ConfirmationRequested] = {}
        """The first result of each step, by slot ("turn/iteration/number"); a card stays the result even if its call ran in this turn."""
        self.started: dict[str, CallStarted] = {}
        self.taken_back: set[str] = set()
        """The cards that the model withdrew; a turn that went on withdraws them again."""
        self.withdrawn: list[ConfirmationDenied] = []
        """Cards that the model withdrew, in the order of its steps."""
        self.logged = 0
        """How many of the iterations were logged before the turn waited for its cards; of these, only what ran afterwards is logged."""
        self.told: frozenset[str] = frozenset()
        """The slots whose results were logged with them."""

    def pause(self) -> dict[str, "Turn"]:
        """Let the turn wait for its cards, and return it by its id: what was logged of it is not logged again when it goes on."""
        self.logged, self.told = len(self.iterations), self.told | self.results.keys()
        self.results = {}
        self.withdrawn = []
        for entry in self.iterations:
            entry.tokens, entry.seconds, entry.service_answers, entry.unplanned = {}, 0.0, [], []
        return {self.turn_id: self}

    def take(self, said: Event) -> None:
        """Add what the event says to the turn. An event that belongs to another turn is ignored."""
        match said:
            case ModelAnswered(turn_id=self.turn_id):
                tokens = {"prompt": said.prompt_tokens, "completion": said.completion_tokens}
                self.iterations.append(
                    Iteration(
                        number=said.iteration,
                        raw=said.text,
                        model=said.model,
                        tokens=tokens,
                        seconds=said.seconds,
                        provider=said.provider,
                        failed_before=said.failed_before,
                    )
                )
            case ModelFailed(turn_id=self.turn_id):
                self.iterations.append(Iteration(number=said.iteration))
            case PlanRecorded(turn_id=self.turn_id) if self.iterations:
                self.iterations[-1].plan = said
            case NodeDone(node=node, model=model) if model and self.iterations and is_node_of(node, self.turn_id):
                self.iterations[-1].service_answers.append(describe_service_answer(said))
            case CallStarted(turn_id=self.turn_id):
                self.started.setdefault(said.slot, said)
            case ConfirmationDenied(turn_id=self.turn_id, via="model") if said.confirmation_id not in self.taken_back:
                self.taken_back.add(said.confirmation_id)
                self.withdrawn.append(said)
            case StepRefused() | ConfirmationRequested() | CallSucceeded() | CallRefused() | CallOutcomeUnknown():
                if said.turn_id == self.turn_id and said.slot not in self.told | self.results.keys():
                    self.results[said.slot] = said
                    if self.iterations and self.iterations[-1].plan is None:
                        self.iterations[-1].unplanned.append(said)
            case _:
                pass

    def resume(self, answer: str) -> None:
        """Add an iteration that uses an earlier answer of the model again.

        This earlier answer led to a question to the person, who has now chosen an option.
        """
        self.iterations.append(Iteration(number=0, raw=answer))

    @property
    def mode(self) -> str:
        """The bot's mode (such as "shadow") when the turn's first plan was evaluated; "" if the turn had no plan."""
        return next((entry.plan.mode for entry in self.iterations if entry.plan), "")


Record = dict[str, object]


def build_iteration_records(turn: Turn, store: Store, person: Mapping[str, str]) -> Iterator[Record]:
    """Yield one audit record for each iteration of the turn. The caller has to add the field `state` (the session's state).

    `person` is the person who made the request, as {"key": …, "name": …}.
    """
    withdrawn = iter(turn.withdrawn)
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
    """Build the record of a turn that ended in an internal error."""
    return {"type": "trouble", "turn_id": turn.turn_id, "errors": ["turn failed, see the log"]}


def build_decision_record(
    decision: StoredEvent, end: Event, state: SessionState, store: Store, names: Mapping[str, str]
) -> tuple[str, Record]:
    """Return (key of the person who decided, audit record of the decision and its outcome).

    `end` is the event with the outcome: the one that closed the approved card or ended its call. For a denial it is the denial itself.
    """
    kind = ConfirmationApproved if decision.type == "ConfirmationApproved" else ConfirmationDenied
    said = kind.from_data(decision.data)
    by, name = (
        (said.approved_by, said.approved_by_name) if isinstance(said, ConfirmationApproved) else (said.denied_by, said.denied_by_name)
    )
    who = by or decision.actor
    entry = state.cards.get(said.confirmation_id) or NO_CARD
    notice, status, outcome = _build_outcome(end, store)
    return who, {
        "type": "decision",
        "decided_by": {"key": who, "name": name or names.get(who, "")},
        "via": said.via,
        "user_message": notice or status,
        "executed_actions": [{"method": entry.method, "status": status or entry.status}],
        "confirmation": show_written_keys(entry.select(CONFIRMATION_KEYS)),
        "outcome": outcome,
    }


def _build_outcome(end: Event, store: Store) -> tuple[str, str, Record]:
    """Return (notice code, status of the call, audit record) for the outcome of a decision.

    The notice code names the message that the person got, "" for none. The status is "" if no call was made. `end` is the event with the
    outcome.
    """
    match end:
        case ConfirmationSuperseded():
            return end.why, "", {"notice": end.why}
        case ConfirmationReopened():
            return freeze_check.CARD, "", {"notice": freeze_check.CARD}
        case CallSucceeded() | CallRefused() | CallOutcomeUnknown() | OutcomeReconciled():
            row, status = store.find_effect(end.effect_id), _find_status(end)
            kept = {key: value for key, value in (row.outcome or {}).items() if key != "preview"} if row else {}
            sent = (
                EffectRecord.model_validate(row.call if row else {}).call or StoredCall()
            )  # of an erased person only an outline of the call is left
            method = "" if isinstance(end, OutcomeReconciled) else end.method
            base = {"status": status, "effect_id": end.effect_id, "method": method or sent.method}
            params = to_written_params(method or sent.method, sent.params)
            told = {"status": status, "call": params, "result": _load_answer(end, store), "notice": ""}
            return "", status, base | kept | told
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
    """Yield the audit record of each step of the iteration's plan.

    Two kinds of steps left no event and are skipped: those that were not started, and those for whose call a card was already waiting. A
    step that withdraws a card takes the next one from `withdrawn`, the cards that the model withdrew in this turn.
    """
    plan = entry.plan
    if plan is None:
        return
    for number, (step, item) in enumerate(zip(steps, plan.steps, strict=False), start=1):
        planned, slot = PlanStep.from_stored(item), f"{turn.turn_id}/{plan.iteration}/{number}"
        result = turn.results.get(slot)
        base: Record = {"call_id": build_effect_id(slot), "method": planned.method, "proposed": planned.params}
        if result is not None:
            yield base | _build_result(result, turn.started.get(slot), store)
        elif step.confirmation_decision == "deny" and (taken_back := next(withdrawn, None)):
            detail = "withdrawn as you asked; nothing was sent"
            yield base | {"status": "refused", "params": taken_back.params, "reason": "denied-by-model", "detail": detail}
        elif plan.mode == "shadow" and planned.problem is None:
            yield base | {"status": "planned", "reason": "", "detail": "shadow mode: recorded as a plan, not run"}


def _build_unplanned(said: StepEnd | ConfirmationRequested, turn: Turn, store: Store) -> Record:
    """Return the audit record of a call that no plan names; what was proposed is told as it was judged."""
    told = _build_result(said, turn.started.get(said.slot), store)
    return {"call_id": build_effect_id(said.slot), "proposed": told.get("params", {}), **told}


def _build_result(said: StepEnd | ConfirmationRequested, started: CallStarted | None, store: Store) -> Record:
    if isinstance(said, ConfirmationRequested):
        codes = [Notice.model_validate(reason).code for reason in said.reasons]
        return {"method": said.method, "status": "waiting", "confirmation_id": said.confirmation_id, "reasons": codes}
    params = started.params if started else {} if isinstance(said, CallOutcomeUnknown) else said.params
    call_class = "" if isinstance(said, StepRefused) else said.call_class
    row = None if isinstance(said, StepRefused) else store.find_effect(said.effect_id)
    outcome = EffectOutcome.model_validate((row.outcome if row else None) or {})
    commands = (said.commands if isinstance(said, CallSucceeded | CallRefused) else ()) or outcome.commands
    base: Record = {
        "method": said.method,
        "status": _find_status(said),
        "params": to_written_params(said.method, params),
        "class": call_class,
    }
    base |= {"commands": commands} if commands else {}
    if isinstance(said, CallSucceeded):
        return base | {"answer": _load_answer(said, store)}
    return base | _find_reason(said, outcome.reason) | {"detail": said.detail}


def _find_reason(said: StepRefused | CallRefused | CallOutcomeUnknown, notice: Notice | None) -> Record:
    """Return {"reason": code} for a step that did not succeed, as the event `said` records.

    `notice` is the notice about the step that the person got, if any. The code is that of the notice; if there is no notice, it is that of
    the event. A refusal by the portal without a notice (a refused read) gives {"code": the portal's error code} instead.
    """
    code = "" if isinstance(said, CallOutcomeUnknown) else said.code
    if notice is None and isinstance(said, CallRefused):
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
