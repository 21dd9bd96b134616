"""What doors ask of workflows and tuums: beginnings and schemas."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

from bot.plugins.kind_face import KindFace, Say, Steps
from engines.workflows.charts import build_chart
from engines.workflows.choices import TUUM, list_variables, open_choices
from engines.workflows.core.definition import VARIABLE, Rune, Tuum, TuumReference, Workflow
from engines.workflows.core.registry import load_rune_types
from engines.workflows.core.rune_types import AnyRuneType, RuneTypes
from engines.workflows.deeds import build_deeds, find_free_id
from orchestrator.documents.json_schema import REFS, split_schema, write_schema
from orchestrator.domain.finding import Path
from state.stored import JsonObject

_TYPE: Final = "runeType"
_VARIABLE: Final = r"^(?:[A-Za-z_]|[^\x00-\x7F])(?:[A-Za-z0-9_]|[^\x00-\x7F]){0,99}$"
"""For editors whose expressions know only Latin letters: other signs are left to the check."""


def build_workflow_schema(types: RuneTypes) -> JsonObject:
    whole, defs = split_schema(Workflow)
    inline = {"$ref": REFS + Tuum.__name__}
    whole["properties"]["tuums"]["items"] = {
        "if": {"required": ["tuum"]},
        "then": {"$ref": REFS + TuumReference.__name__},
        "else": inline,
    }
    return _write("Workflow of Sdelka", whole, defs, types)


def build_tuum_schema(types: RuneTypes) -> JsonObject:
    return _write("Tuum of Sdelka", *split_schema(Tuum), types)


def _write(title: str, whole: JsonObject, defs: dict[str, Any], types: RuneTypes) -> JsonObject:
    rune: dict[str, Any] = defs[Rune.__name__]
    for type_ in types.values():
        defs.update(_build_params(type_))
    known = [{"const": rune_type.name, "description": rune_type.summary} for rune_type in types.values()]
    rune["properties"][_TYPE] = {"description": rune["properties"][_TYPE]["description"], "oneOf": known}
    rune["allOf"] = [_build_rule(rune_type) for rune_type in types.values()]
    schema: JsonObject = _widen_names(write_schema(title, whole, defs))
    return schema


def _build_params(kind: AnyRuneType) -> dict[str, Any]:
    definitions: dict[str, Any] = kind.params.model_json_schema(ref_template=f"{REFS}{kind.name}.{{model}}")
    inner = {f"{kind.name}.{name}": one for name, one in definitions.pop("$defs", {}).items()}
    definitions.pop("additionalProperties", None)  # the fields that all runes have stand beside the parameters
    return {kind.name: definitions, **inner}


def _build_rule(kind: AnyRuneType) -> JsonObject:
    return {"if": {"properties": {_TYPE: {"const": kind.name}}, "required": [_TYPE]}, "then": {"$ref": REFS + kind.name}}


def _widen_names(tree: Any) -> Any:
    if isinstance(tree, list):
        return [_widen_names(one) for one in tree]
    if isinstance(tree, Mapping):
        widened = {_VARIABLE if name == VARIABLE else name: _widen_names(one) for name, one in tree.items()}
        return {**widened, "additionalProperties": False} if "patternProperties" in tree else widened
    return _VARIABLE if tree == VARIABLE else tree


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
        return {"tuumId": find_free_id(document)}
    return {"runeType": "prompt", "template": ""} if path[-1] in _RUNES else {}


WORKFLOW_FACE: Final = KindFace(
    begin=begin_workflow,
    build_schema=lambda: build_workflow_schema(load_rune_types()),
    build_item=build_item,
    steps=Steps(
        field=_TUUMS,
        draw=lambda document, parts: build_chart(document, load_rune_types(), parts),
        are_in_order=False,
        names=("id", "tuumId", "tuum"),
        deeds=build_deeds(),
    ),
    templates=(files("engines.workflows") / "examples" / "meeting_notes.yaml",),
    offers={TUUM: False},
    names_fields=True,
    open_choices=open_choices,
    list_variables=list_variables,
)
TUUM_FACE: Final = KindFace(
    begin=begin_tuum,
    build_schema=lambda: build_tuum_schema(load_rune_types()),
    build_item=build_item,
    names_fields=True,
    open_choices=open_choices,
    list_variables=list_variables,
)
