"""What editors show of checklists."""

from typing import Final

from bot.plugins.kind_face import KindFace, Say, Steps
from orchestrator.domain.finding import Path
from state.stored import JsonObject

from .core import build_chart, build_schema


def begin(say: Say) -> JsonObject:
    """Return a first checklist."""
    return {"title": say("checklist-new-title"), "points": [{"id": "first", "text": say("checklist-new-point")}]}


def build_item(_document: object, path: Path) -> object:
    """Return a new point."""
    return {"id": "", "text": ""} if path == ("points",) else {}


CHECKLIST_FACE: Final = KindFace(
    begin=begin,
    build_schema=build_schema,
    build_item=build_item,
    steps=Steps(field="points", draw=lambda document, _parts: build_chart(document)),
    named_lists=(("points",),),
)
