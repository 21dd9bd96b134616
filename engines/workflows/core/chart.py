"""The picture of a workflow: its tuums, the variables between them, what the start gives, and the result."""

from collections.abc import Iterator, Mapping
from typing import Final

from engines.workflows.core.checks import NO_TUUMS, read_entry, read_part
from engines.workflows.core.compile import Graph, Node, build_graph, list_nodes
from engines.workflows.core.definition import Terminal, Tuum
from engines.workflows.core.mistakes import Report
from engines.workflows.core.rune_types import RuneTypes
from orchestrator.charts.chart import Arrow, Box, Chart, cut_text
from orchestrator.documents.findings import Findings
from orchestrator.engines.shared.declared import LaunchParameter
from state.stored import JsonObject

_LONGEST_LINE: Final = 34
_UNKNOWN: Final = "?"
_MAIN: Final = "mainScript"
_UUID_SIGNS: Final = 36
_SHOWN_SIGNS: Final = 8
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


class _Drawing:
    def __init__(self, graph: Graph, terminal: Terminal, types: RuneTypes) -> None:
        self._graph, self._terminal = graph, terminal
        self._boxes = [_build_box(node, types) for node in graph.nodes]
        self._others: dict[Box, int] = {}

    def build(self, title: str) -> Chart:
        arrows = [arrow for position in range(len(self._graph.nodes)) for arrow in self._list_inputs(position)]
        return Chart(title=title, boxes=self._boxes, arrows=[*arrows, *self._list_results()])

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
        return self._find_other(Box(title=cut_text(name, _LONGEST_LINE), text="", shape="question"))

    def _find_result(self) -> int:
        return self._find_other(Box(title=RESULT, text="", shape="end"))

    def _find_other(self, box: Box) -> int:
        if box not in self._others:
            self._others[box] = len(self._boxes)
            self._boxes.append(box)
        return self._others[box]


def _build_box(node: Node, types: RuneTypes) -> Box:
    name = node.id[: _SHOWN_SIGNS if len(node.id) == _UUID_SIGNS else None] or _UNKNOWN
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
