"""Collects the events of one turn or decision and builds audit records from them. Changes nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.domain.errors import ModelClientError
from orchestrator.engines.crm_agent.blocks import Step, parse
from orchestrator.gate.call.serialization import build_effect_id
from orchestrator.gate.decide import freeze_check
from orchestrator.runtime.audit import CONFIRMATION_KEYS
from state.canonical import loads
from state.card import NO_CARD
from state.journal.store import EffectRow, Store, StoredEvent
from state.session_state import SessionState

_RESULTS = frozenset({"StepRefused", "ConfirmationRequested", "CallSucceeded", "CallRefused", "CallOutcomeUnknown"})


@dataclass
class Iteration:
    """One answer of the model, or an earlier answer that is used again after the person's choice."""

    number: int
    raw: str = ""
    model: str = ""
    tokens: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    plan: dict[str, Any] = field(default_factory=dict)


class Turn:
    """Collects the events of one turn; decisions made during the turn are left to their own records."""

    def __init__(self, begun: StoredEvent, text: str) -> None:
        """Start with the turn's first event; `text` is the person's request."""
        self.turn_id: str = begun.data["turn_id"]
        self.actor = begun.actor
        self.text = text
        self.iterations: list[Iteration] = []
        self.results: dict[str, StoredEvent] = {}
        """The first result of each step by slot: a card, even if its call ran before the turn was over."""
        self.started: dict[str, StoredEvent] = {}
        self.withdrawn: list[StoredEvent] = []
        """Cards that the model withdrew, in the order of its steps."""

    def take(self, event: StoredEvent) -> None:
        """Add the event if it belongs to this turn."""
        data = event.data
        if data.get("turn_id") != self.turn_id:
            return
        match event.type:
            case "ModelAnswered":
                self._add_answer(event)
            case "ModelFailed":
                self.iterations.append(Iteration(number=data["iteration"]))
            case "PlanRecorded" if self.iterations:
                self.iterations[-1].plan = dict(data)
            case "CallStarted":
                self.started.setdefault(data["slot"], event)
            case "ConfirmationDenied" if data["via"] == "model":
                self.withdrawn.append(event)
            case _ if event.type in _RESULTS:
                self.results.setdefault(data["slot"], event)
            case _:
                pass

    def resume(self, answer: str) -> None:
        """Go on with the earlier answer `answer` that led to a question, now that the person chose; the model was not asked again."""
        self.iterations.append(Iteration(number=0, raw=answer))

    @property
    def mode(self) -> str:
        """The mode in which the turn's plans were judged; "" where it had no plan."""
        return next((str(entry.plan["mode"]) for entry in self.iterations if entry.plan), "")

    def _add_answer(self, event: StoredEvent) -> None:
        data = event.data
        tokens = {"prompt": data["prompt_tokens"], "completion": data["completion_tokens"]}
        self.iterations.append(
            Iteration(number=data["iteration"], raw=data["text"], model=data["model"], tokens=tokens, seconds=data["seconds"])
        )


Record = dict[str, Any]


def build_iteration_records(turn: Turn, store: Store, person: Mapping[str, str]) -> Iterator[Record]:
    """Yield one record for each iteration, complete except for the state."""
    withdrawn = iter(turn.withdrawn)
    for entry in turn.iterations:
        steps = _parse_steps(entry)
        calls = [] if steps is None else list(_build_calls(entry, steps, turn, store, withdrawn))
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
            "seconds": entry.seconds,
        }


def build_trouble_record(turn: Turn) -> Record:
    """Build the record of a turn that ended in an internal error."""
    return {"type": "trouble", "turn_id": turn.turn_id, "errors": ["turn failed, see the log"]}


def build_decision_record(
    decision: StoredEvent, end: StoredEvent, state: SessionState, store: Store, names: Mapping[str, str]
) -> tuple[str, Record]:
    """Return the person who decided, and the record of the decision with its outcome.

    `end` is the event that ended the matter; for a denial it is the decision itself.
    """
    data = decision.data
    who = data.get("approved_by") or data.get("denied_by") or decision.actor
    name = data.get("approved_by_name") or data.get("denied_by_name") or names.get(who, "")
    entry = state.cards.get(data["confirmation_id"]) or NO_CARD
    outcome = _build_outcome(end, store)
    return who, {
        "type": "decision",
        "decided_by": {"key": who, "name": name},
        "via": data["via"],
        "user_message": outcome["notice"] or outcome.get("status") or "",
        "executed_actions": [{"method": entry.method, "status": outcome.get("status") or entry.status}],
        "confirmation": entry.select(CONFIRMATION_KEYS),
        "outcome": outcome,
    }


def _build_outcome(end: StoredEvent, store: Store) -> Record:
    match end.type:
        case "ConfirmationDenied":
            return {"notice": "card-denied"}
        case "ConfirmationSuperseded":
            return {"notice": end.data["why"]}
        case "ConfirmationReopened":
            return {"notice": freeze_check.CARD}
        case _:
            row = store.find_effect(end.data["effect_id"])
            kept = {key: value for key, value in (row.outcome or {}).items() if key != "preview"} if row else {}
            sent = (row.call or {}).get("call", {}) if row else {}  # of an erased person only an outline of the call is left
            method = end.data.get("method") or sent.get("method", "")
            base = {"status": _find_status(end), "effect_id": end.data["effect_id"], "method": method}
            return (
                base
                | kept
                | {"status": _find_status(end), "call": sent.get("params", {}), "result": _load_answer(end, store), "notice": ""}
            )


def _parse_steps(entry: Iteration) -> tuple[Step, ...] | None:
    try:
        return parse(entry.raw).steps
    except ModelClientError:
        return None


def _build_response(entry: Iteration) -> Record:
    try:
        blocks = parse(entry.raw)
    except ModelClientError:
        return {"raw": entry.raw}
    action = [{"method": step.method, "params": step.params, "comment": step.comment} for step in blocks.steps]
    return {"thought": blocks.thought, "action": action, "assistant": blocks.assistant}


def _build_calls(entry: Iteration, steps: tuple[Step, ...], turn: Turn, store: Store, withdrawn: Iterator[StoredEvent]) -> Iterator[Record]:
    """Yield the result of each step of a plan; steps without a trace (not started, or their card waited already) are left out."""
    plan = entry.plan
    for number, (step, planned) in enumerate(zip(steps, plan.get("steps", ()), strict=False), start=1):
        slot = f"{turn.turn_id}/{plan['iteration']}/{number}"
        event = turn.results.get(slot)
        base = {"call_id": build_effect_id(slot), "method": planned["method"], "proposed": planned["params"]}
        if event is not None:
            yield base | _build_result(event, turn.started.get(slot), store)
        elif step.confirmation_decision == "deny" and (taken_back := next(withdrawn, None)):
            detail = "withdrawn as you asked; nothing was sent"
            yield base | {"status": "refused", "params": taken_back.data["params"], "reason": "denied-by-model", "detail": detail}
        elif plan["mode"] == "shadow" and "problem" not in planned:
            yield base | {"status": "planned", "reason": "", "detail": "shadow mode: recorded as a plan, not run"}


def _build_result(event: StoredEvent, started: StoredEvent | None, store: Store) -> Record:
    data = event.data
    if event.type == "ConfirmationRequested":
        codes = [reason["code"] for reason in data["reasons"]]
        return {"method": data["method"], "status": "waiting", "confirmation_id": data["confirmation_id"], "reasons": codes}
    params = started.data["params"] if started else data.get("params", {})
    base: Record = {"method": data["method"], "status": _find_status(event), "params": params, "class": data.get("call_class", "")}
    row = None if event.type == "StepRefused" else store.find_effect(data["effect_id"])
    commands = data.get("commands") or ((row.outcome or {}).get("commands") if row else None)
    if commands:
        base["commands"] = commands
    if event.type == "CallSucceeded":
        return base | {"answer": _load_answer(event, store)}
    return base | _find_reason(event, row) | {"detail": data.get("detail", "")}


def _find_reason(event: StoredEvent, row: EffectRow | None) -> Record:
    """Return the reason that the person was told, where gate or effect keep it; for a refused read, only the portal's error code."""
    told = ((row.outcome or {}).get("reason") or {}) if row else {}
    if told or event.type != "CallRefused":
        return {"reason": str(told.get("code") or event.data.get("code") or "")}
    return {"code": event.data["code"]}


def _load_answer(event: StoredEvent, store: Store) -> Any:
    if event.type != "CallSucceeded":
        return None
    if not event.data.get("result_blob"):
        return event.data.get("result")
    text = store.load_blob(event.data["result_blob"])
    return loads(text) if text is not None else None


def _find_status(event: StoredEvent) -> str:
    if event.type == "OutcomeReconciled":
        return {"done": "succeeded", "not_done": "refused"}.get(event.data["verdict"], "unknown")
    return {"CallSucceeded": "succeeded", "CallOutcomeUnknown": "unknown"}.get(event.type, "refused")
