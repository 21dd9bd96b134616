"""What the audit log tells of one answer of the model and of the calls after it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from orchestrator.domain.effect import Effect, Outcome, Pending, to_written_params
from orchestrator.gate.approve.duplicates import REPEATED
from state.events.runs import NodeDone
from state.stored import JsonObject


@dataclass(kw_only=True)
class Iteration:
    """Audit data of one answer of the model and its calls (S004-43 … S004-47)."""

    number: int
    blocks: JsonObject = field(default_factory=dict)
    calls: list[JsonObject] = field(default_factory=list)
    tokens: dict[str, int] = field(default_factory=dict)
    model: str = ""
    model_seconds: float = 0.0
    provider: str = ""
    failed_before: Sequence[str] = ()
    raw: str = ""
    service_answers: list[JsonObject] = field(default_factory=list)
    """Answers of models to services of this process."""


def describe_service_answer(done: NodeDone) -> JsonObject:
    return {
        "model": done.model,
        "provider": done.provider,
        "failed_before": list(done.failed_before),
        "tokens": {"prompt": done.prompt_tokens, "completion": done.completion_tokens},
        "seconds": done.seconds,
    }


def build_call_record(effect: Effect, result: Outcome | Pending) -> JsonObject:
    """In the form of the audit log (S004-45, S004-46, S004-71)."""
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


def may_have_changed(result: Outcome | Pending | None) -> bool:
    if not isinstance(result, Outcome):
        return True
    return result.status in {"succeeded", "unknown"} and result.call_class not in {"", "R"} and not result.repeat_of


def format_step_state(result: Outcome | Pending) -> str:
    """ "waiting", "done", "refused" or "unknown"."""
    return "waiting" if isinstance(result, Pending) else {"succeeded": "done"}.get(result.status, result.status)
