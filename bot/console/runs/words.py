"""Words of the pages of runs."""

from collections.abc import Mapping, Sequence
from typing import Final

from bot.console.runs.history import NodeLine, StepState, name_step
from bot.console.visit import Visit
from bot.console.words import format_duration
from bot.http_api.runs.run_models import RunChanges, RunError, Status
from bot.http_api.server.errors import ApiError

TONES: Final[Mapping[str, str]] = {
    "running": "live",
    "waiting": "warn",
    "paused": "plain",
    "done": "good",
    "failed": "bad",
    "cancelled": "plain",
    "skipped": "plain",
}
STATUSES: Final[Sequence[Status]] = ("running", "waiting", "paused", "done", "failed", "cancelled")
_REFUSALS: Final[Mapping[str, str]] = {
    "not_your_run": "console-runs-not-yours",
    "order_late": "console-runs-late",
    "question_closed": "console-runs-question-closed",
    "not_your_question": "console-runs-not-your-question",
    "run_paused": "console-runs-is-paused",
    "answer_unfit": "console-runs-answer-unfit",
    "invalid_request": "console-runs-answer-unfit",
    "definition_not_found": "console-runs-no-definition",
    "not_allowed": "console-runs-not-allowed",
    "not_from_programs": "console-runs-not-from-here",
    "definition_off": "console-runs-definition-off",
    "definition_damaged": "console-runs-definition-damaged",
    "definition_unpublished": "console-runs-no-definition",
    "run_not_found": "console-not-found",
}


def say_status(visit: Visit, status: str) -> str:
    return visit.say("console-runs-status", status=status)


def say_state(visit: Visit, state: StepState | None) -> str:
    """ "" for one of which nothing is known."""
    return visit.say("console-runs-state", state=state) if state is not None else ""


def say_engine(visit: Visit, engine: str) -> str:
    """The engine's own name for an unknown one."""
    return visit.say("console-runs-engine", engine=engine)


def say_refusal(visit: Visit, error: ApiError) -> str:
    """The program's own sentence where there are no words."""
    code = _REFUSALS.get(error.code)
    return visit.say(code) if code is not None else visit.say("console-runs-refused", why=error.message)


def say_failure(visit: Visit, error: RunError, failed: str = "") -> str:
    """As the chat says it; `failed` is the step that failed last, for an error without its node."""
    step = name_step(error.node) or failed
    if sentence := visit.tr.translate_complete(error.code, **({"step": step} if step else {})):
        return sentence
    return visit.say("console-runs-failed-step" if step else "console-runs-failed", step=step)


def say_left(visit: Visit, changes: RunChanges) -> str:
    """ "" if nothing was left."""
    return visit.say("console-runs-left", made=changes.made, left=changes.left) if changes.left else ""


def say_origins(visit: Visit, origins: Sequence[str]) -> str:
    if not origins:
        return visit.say("console-runs-origin", origin="program")
    return ", ".join(visit.say("console-runs-origin", origin=origin) for origin in origins)


def say_use(visit: Visit, tokens: int, seconds: float) -> str:
    """ "" for nothing."""
    if not tokens and not seconds:
        return ""
    return visit.say("console-runs-use", tokens=tokens, spent=format_duration(visit.tr, seconds) if seconds else "none")


def say_step(visit: Visit, state: StepState | None, tokens: int, seconds: float) -> str:
    """For a node of a chart."""
    return " · ".join(part for part in (say_state(visit, state), say_use(visit, tokens, seconds)) if part)


def say_kind(visit: Visit, node: NodeLine) -> str:
    return visit.say("console-runs-kind", kind=node.kind)
