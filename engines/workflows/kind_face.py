from collections.abc import Mapping
from typing import Final

from bot.plugins.kind_face import KindFace, Say, Steps
from engines.workflows.core.chart import build_chart
from engines.workflows.core.registry import load_rune_types
from engines.workflows.core.schema import build_tuum_schema, build_workflow_schema
from orchestrator.domain.finding import Path
from state.stored import JsonObject

_TUUMS: Final = "tuums"
_RUNES: Final = frozenset({"runes", "promptRunes"})


def begin_tuum(say: Say) -> JsonObject:
    return {
        "tuumId": "first",
        "metadata": {"title": say("console-new-title")},
        "outputMappings": {"answer": "ai_final_output"},
        "promptRunes": [{"runeType": "prompt", "template": say("console-new-prompt")}],
        "aiService": "tool",
    }


def begin_workflow(say: Say) -> JsonObject:
    title = say("console-new-title")
    return {"workflowId": "new_one", "metadata": {"title": title}, "tuums": [begin_tuum(say)], "terminal": {"rawText": "answer"}}


def build_item(document: object, path: Path) -> object:
    """Return a rune of the simplest type, a tuum with a free id, or an empty element."""
    if path == (_TUUMS,):
        return {"tuumId": _find_free_id(document)}
    return {"runeType": "prompt", "template": ""} if path[-1] in _RUNES else {}


def _find_free_id(document: object) -> str:
    tuums = document.get(_TUUMS) if isinstance(document, Mapping) else None
    tuum_ids = [tuum.get("tuumId") for tuum in tuums if isinstance(tuum, Mapping)] if isinstance(tuums, list) else []
    ids = {tuum_id for tuum_id in tuum_ids if isinstance(tuum_id, str) and tuum_id}
    return next(tuum_id for number in range(len(ids) + 1, 2 * len(ids) + 3) if (tuum_id := f"tuum{number}") not in ids)


WORKFLOW_FACE: Final = KindFace(
    begin=begin_workflow,
    build_schema=lambda: build_workflow_schema(load_rune_types()),
    build_item=build_item,
    steps=Steps(
        field=_TUUMS,
        draw=lambda document, parts: build_chart(document, load_rune_types(), parts),
        are_in_order=False,
        names=("id", "tuumId", "tuum"),
    ),
)
TUUM_FACE: Final = KindFace(begin=begin_tuum, build_schema=lambda: build_tuum_schema(load_rune_types()), build_item=build_item)
