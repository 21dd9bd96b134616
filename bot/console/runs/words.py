"""The words of the pages of runs: statuses with their tones, kinds, origins, and why something was refused."""

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
    """Return a run's status in words."""
    return visit.say("console-runs-status", status=status)


def say_state(visit: Visit, state: StepState | None) -> str:
    """Return in words how a step or node stands; "" for one of which nothing is known."""
    return visit.say("console-runs-state", state=state) if state is not None else ""


def say_engine(visit: Visit, engine: str) -> str:
    """Return what an engine executes: a scenario, a flow, a workflow; the engine's own name for another one."""
    return visit.say("console-runs-engine", engine=engine)


def say_refusal(visit: Visit, error: ApiError) -> str:
    """Return why something was refused, in the person's words; the program's own sentence where there are none."""
    code = _REFUSALS.get(error.code)
    return visit.say(code) if code is not None else visit.say("console-runs-refused", why=error.message)


def say_failure(visit: Visit, error: RunError, failed: str = "") -> str:
    """Return why a run or a node failed, as the chat says it; of a sentence that needs more than the step not all is known any more.

    `failed` is the step that failed last, for an error that does not say its node.
    """
    step = name_step(error.node) or failed
    if said := visit.tr.translate_complete(error.code, **({"step": step} if step else {})):
        return said
    return visit.say("console-runs-failed-step" if step else "console-runs-failed", step=step)


def say_left(visit: Visit, changes: RunChanges) -> str:
    """Return how much of what a run proposed was not made; "" if nothing was left."""
    return visit.say("console-runs-left", made=changes.made, left=changes.left) if changes.left else ""


def say_origins(visit: Visit, origins: Sequence[str]) -> str:
    """Return in words where a value comes from."""
    if not origins:
        return visit.say("console-runs-origin", origin="program")
    return ", ".join(visit.say("console-runs-origin", origin=origin) for origin in origins)


def say_use(visit: Visit, tokens: int, seconds: float) -> str:
    """Return how much of models something used; "" for nothing."""
    if not tokens and not seconds:
        return ""
    return visit.say("console-runs-use", tokens=tokens, spent=format_duration(visit.tr, seconds) if seconds else "none")


def say_kind(visit: Visit, node: NodeLine) -> str:
    """Return in words what a node does."""
    return visit.say("console-runs-kind", kind=node.kind)
