"""What doors ask of workflows and tuums: beginnings, schemas, and the picture of tuums, the variables between them and the result."""

from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any, Final

from bot.plugins.kind_face import KindFace, Say, Steps
from engines.workflows.core.checks import NO_TUUMS, read_entry
from engines.workflows.core.compile import Graph, Node, build_graph, list_nodes
from engines.workflows.core.definition import VARIABLE, Rune, Terminal, Tuum, TuumReference, Workflow
from engines.workflows.core.mistakes import Report
from engines.workflows.core.registry import load_rune_types
from engines.workflows.core.rune_types import AnyRuneType, RuneTypes
from orchestrator.charts.chart import Arrow, Box, Chart, Drawing, cut_text, shorten_id
from orchestrator.definitions.model_mistakes import read_part
from orchestrator.documents.findings import Findings
from orchestrator.documents.json_schema import REFS, split_schema, write_schema
from orchestrator.domain.finding import Path
from orchestrator.engines.shared.declared import LaunchParameter
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


_LONGEST_LINE: Final = 34
_UNKNOWN: Final = "?"
_MAIN: Final = "mainScript"
RESULT: Final = "result"


def build_chart(document: object, types: RuneTypes, tuums: Mapping[str, object] = NO_TUUMS) -> Chart:
    """Draw a workflow, also one with mistakes; `tuums` are by what references say."""
    raw: JsonObject = document if isinstance(document, Mapping) else {}
    known = {name: tuum for name, one in tuums.items() if (tuum := read_part(Tuum, one)) is not None}
    report = Report(Findings(), suggests=False)
    nodes = list(list_nodes(map(read_entry, _list(raw.get("tuums"))), known, types, report))
    read = [read_part(LaunchParameter, one) for one in _list(raw.get("triggerParameters"))]
    terminal = read_part(Terminal, raw.get("terminal", {})) or Terminal()
    graph = build_graph(nodes, [launch_parameter for launch_parameter in read if launch_parameter is not None], terminal, report)
    metadata = raw.get("metadata")
    title = str(metadata.get("title") or "") if isinstance(metadata, Mapping) else ""
    return _Drawing(graph, terminal, types).build(title or str(raw.get("workflowId") or ""))


def _list(raw: object) -> list[object]:
    return raw if isinstance(raw, list) else []


class _Drawing(Drawing):
    def __init__(self, graph: Graph, terminal: Terminal, types: RuneTypes) -> None:
        self._graph, self._terminal = graph, terminal
        super().__init__(_build_box(node, types) for node in graph.nodes)

    def build(self, title: str) -> Chart:
        arrows = [arrow for position in range(len(self._graph.nodes)) for arrow in self._list_inputs(position)]
        return Chart(title=title, boxes=self.boxes, arrows=[*arrows, *self._list_results()])

    def _list_inputs(self, position: int) -> Iterator[Arrow]:
        graph, names_by_source = self._graph, dict[int, list[str]]()
        for name in dict.fromkeys([*graph.nodes[position].inputs.values(), *graph.reads[position].values()]):
            if graph.takes_trigger(position, name):
                yield Arrow(source=self._find_parameter(name), target=position, way="data")
            elif name in graph.producers:
                names_by_source.setdefault(graph.producers[name], []).append(name)
        for source, names in names_by_source.items():
            yield Arrow(source=source, target=position, label=cut_text(", ".join(names), _LONGEST_LINE))

    def _list_results(self) -> Iterator[Arrow]:
        graph = self._graph
        for field, name in (("rawText", self._terminal.raw_text), ("operations", self._terminal.operations)):
            if name is None:
                continue
            if name in graph.producers:
                label = field if name == field else cut_text(f"{field}: {name}", _LONGEST_LINE)
                yield Arrow(source=graph.producers[name], target=self._find_result(), label=label)
            elif name in graph.parameters:
                yield Arrow(source=self._find_parameter(name), target=self._find_result(), label=field, way="data")
        for position, node in enumerate(graph.nodes):
            if node.variables.terminals:
                yield Arrow(source=position, target=self._find_result())

    def _find_parameter(self, name: str) -> int:
        return self.find_other(Box(title=cut_text(name, _LONGEST_LINE), text="", shape="question"))

    def _find_result(self) -> int:
        return self.find_other(Box(title=RESULT, text="", shape="end"))


def _build_box(node: Node, types: RuneTypes) -> Box:
    name = shorten_id(node.id) or _UNKNOWN
    if node.tuum is None:
        return Box(title=cut_text(name, _LONGEST_LINE), text=_UNKNOWN if node.id else "", shape="step", key=node.id)
    tuum = node.tuum
    before, after = ([rune.rune_type for rune in runes if rune.enabled] for runes in (tuum.prompt_runes, tuum.runes))
    after += [_MAIN] if tuum.main_script is not None else []
    done = [before, [tuum.ai_service] if tuum.ai_service is not None else [], after]
    emits = any(one in types and types[one].emits for one in after)
    return Box(
        title=cut_text(f"{name} · {tuum.metadata.title}" if tuum.metadata.title else name, _LONGEST_LINE),
        text=cut_text(" → ".join(", ".join(dict.fromkeys(one)) for one in done if one), _LONGEST_LINE),
        shape="effect" if emits else "step",
        key=node.id,
    )


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
    templates=(files("engines.workflows") / "examples" / "meeting_notes.yaml",),
)
TUUM_FACE: Final = KindFace(begin=begin_tuum, build_schema=lambda: build_tuum_schema(load_rune_types()), build_item=build_item)
