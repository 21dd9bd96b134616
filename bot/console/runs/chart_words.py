"""Says the chart of a definition in the words of those who watch a run: titles of steps and what they do, no ids and no codes. Pure.

Authors read the chart with its ids in the editor, beside the text that has the same ids.
"""

from dataclasses import replace
from typing import Final

from bot.console.runs.run_face import RunFace
from bot.i18n.translate import Translator
from orchestrator.charts.chart import Box, Chart

_BETWEEN: Final = " · "
"""What stands in a chart between the id of a step and its title."""
_ENDS: Final = frozenset({"end", "failure"})


def say_chart(tr: Translator, face: RunFace, document: object, chart: Chart) -> Chart:
    """Return the chart in words; its boxes keep their places and keys."""
    boxes = [face.say_box(tr, document, place, box) or _say_box(tr, box) for place, box in enumerate(chart.boxes)]
    arrows = [replace(arrow, label=_say_way(tr, arrow.label) if face.says_ways else "") for arrow in chart.arrows]
    return replace(chart, boxes=boxes, arrows=arrows)


def _say_box(tr: Translator, box: Box) -> Box:
    """Return the box of a step of a flow or workflow by its title alone, and the end of either as a word."""
    if not box.key:
        return replace(box, title=tr.translate("console-runs-end", end=box.title)) if box.shape in _ENDS else box
    name, _, title = box.title.partition(_BETWEEN)
    return replace(box, title=title if title and box.key.startswith(name) else box.title, text="")


def _say_way(tr: Translator, label: str) -> str:
    """Return when an arrow is followed."""
    return tr.translate("console-runs-way", way=label.replace(", ", "-")) if label else ""
