"""What the pages of runs show of checklists."""

from dataclasses import replace
from typing import Final

from bot.console.runs.run_face import RunFace
from bot.i18n.translate import Translator
from orchestrator.charts.chart import Box


def say_box(tr: Translator, _document: object, place: int, box: Box) -> Box | None:
    """Return the box of a point with its number."""
    return replace(box, title=tr.translate("checklist-point", number=place + 1, text=box.title))


RUN_FACE: Final = RunFace(say_box=say_box)
