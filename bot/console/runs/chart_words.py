"""Says the chart of a definition in the words of those who watch a run: titles of steps and what they do, no ids and no codes. Pure.

Authors read the chart with its ids in the editor, beside the text that has the same ids.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from bot.i18n.translate import Translator, split_method
from engines.scenarios.core.kind import KIND as SCENARIO
from engines.workflows.core.kind import WORKFLOW
from orchestrator.charts.chart import Box, Chart

_TITLES: Final = ("title", "name")
"""Fields of the author's own by which a step of a scenario may have a title."""
_BETWEEN: Final = " · "
"""What stands in a chart between the id of a step and its title."""
_ENDS: Final = frozenset({"end", "failure"})


def say_chart(tr: Translator, engine: str, document: object, chart: Chart) -> Chart:
    """Return the chart in words; its boxes keep their places and keys."""
    steps = _list_steps(document) if engine == SCENARIO else ()
    boxes = [_say_step(tr, box, steps[place]) if place < len(steps) else _say_box(tr, box) for place, box in enumerate(chart.boxes)]
    arrows = [replace(arrow, label=_say_way(tr, engine, arrow.label)) for arrow in chart.arrows]
    return replace(chart, boxes=boxes, arrows=arrows)


def _list_steps(document: object) -> Sequence[Mapping[str, object]]:
    listed = document.get("steps") if isinstance(document, Mapping) else None
    return [step if isinstance(step, Mapping) else {} for step in listed] if isinstance(listed, list) else []


def _say_step(tr: Translator, box: Box, step: Mapping[str, object]) -> Box:
    """Return the box of a scenario's step: with its title if its author gave one, else with what it does."""
    own = next((" ".join(title.split()) for name in _TITLES if isinstance(title := step.get(name), str) and title.strip()), "")
    if own:
        return replace(box, title=own, text="")
    kind, params = str(step.get("type") or ""), step.get("params")
    given = params if isinstance(params, Mapping) else {}
    if kind == "action":
        kind = str(given.get("action_type") or kind)
    method = given.get("method")
    act = tr.describe_call(method, *split_method(method)) if isinstance(method, str) else ""
    if act:
        return replace(box, title=act, text="")
    return replace(box, title=tr.translate("console-form-value", place=f"type-{kind}", value=kind))


def _say_box(tr: Translator, box: Box) -> Box:
    """Return the box of a step of a flow or workflow by its title alone, and the end of either as a word."""
    if not box.key:
        return replace(box, title=tr.translate("console-runs-end", end=box.title)) if box.shape in _ENDS else box
    name, _, title = box.title.partition(_BETWEEN)
    return replace(box, title=title if title and box.key.startswith(name) else box.title, text="")


def _say_way(tr: Translator, engine: str, label: str) -> str:
    """Return when an arrow is followed; on those of a workflow stand names of variables, which say nothing to people."""
    return tr.translate("console-runs-way", way=label.replace(", ", "-")) if label and engine != WORKFLOW else ""
