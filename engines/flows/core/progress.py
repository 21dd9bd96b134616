"""What a person reads of a flow while it works: its steps as lines with a sign each, so that every language reads it."""

from collections.abc import Mapping
from typing import Final, Literal

from engines.flows.core.definition import Flow, FlowStep

MOST_LINES: Final = 12
"""How many steps a message about progress shows."""
StepMark = Literal["done", "failed", "working", "ahead"]
_SIGNS: Final[Mapping[StepMark, str]] = {"done": "✅", "failed": "❌", "working": "⏳", "ahead": "⚪"}


def draw_progress(flow: Flow, marks: Mapping[str, StepMark], attempt: int) -> str:
    """Return the steps as lines with a sign each, without words so that every language reads it; `attempt` is that of the one at work.

    Of a flow with more steps than `MOST_LINES` those around the one at work are shown.
    """
    count = len(flow.steps)
    working = next((index for index, step in enumerate(flow.steps) if marks.get(step.id) == "working"), 0)
    first = max(0, min(working - MOST_LINES // 2, count - MOST_LINES))
    last = min(first + MOST_LINES, count)
    lines = [_draw_line(step, marks.get(step.id, "ahead"), attempt) for step in flow.steps[first:last]]
    shown = [*(["…"] if first else []), *lines, *(["…"] if last < count else [])]
    return "\n".join([flow.metadata.title, *shown] if flow.metadata.title else shown)


def _draw_line(step: FlowStep, mark: StepMark, attempt: int) -> str:
    tries = f" ({attempt}/{step.max_attempts})" if mark == "working" and attempt > 1 else ""
    return f"{_SIGNS[mark]} {step.name or step.id}{tries}"
