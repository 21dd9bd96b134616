"""The picture of a workflow: where it starts, its tuums with the variables that they give, and the result."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engines.workflows.core.checks import NO_TUUMS, read_entry
from engines.workflows.core.compile import Graph, Node, build_graph, list_nodes
from engines.workflows.core.definition import Terminal, Tuum
from engines.workflows.core.mistakes import Report
from engines.workflows.core.rune_types import RuneTypes
from engines.workflows.core.variables import FINAL_OUTPUT
from orchestrator.charts.chart import Arrow, Box, Chart, Port, cut_text
from orchestrator.definitions.model_mistakes import read_part
from orchestrator.definitions.references import is_version_id
from orchestrator.documents.findings import Findings
from orchestrator.domain.finding import Path
from orchestrator.engines.shared.declared import RECORDS, LaunchParameter
from state.stored import JsonObject

RESULT: Final = "result"
START: Final = "start"
START_KEY: Final = ":start"
RESULT_KEY: Final = ":result"
"""No tuum may be called so."""
BETWEEN: Final = " · "
"""Between id and title of a tuum."""
OUTPUTS: Final = "outputMappings"
STORED: Final = "stored"
_TUUMS: Final = "tuums"
_PARAMETERS: Final = "triggerParameters"
_NAMES: Final = ("id", "tuumId", "tuum")
_LONGEST_LINE: Final = 34
_UNKNOWN: Final = "?"
_MAIN: Final = "mainScript"
_OFF: Final = "off"
_RESULT: Final = Box(title=RESULT, text="", shape="end", key=RESULT_KEY, path=("terminal",), kind=RESULT, word="workflow-box-result")


@dataclass(frozen=True, slots=True)
class Output:
    """What a tuum gives or could give to others."""

    name: str
    """The global."""
    local: str
    is_published: bool


@dataclass(frozen=True, slots=True)
class Wiring:
    """A workflow as far as it can be read; positions are those of the graph's nodes."""

    entries: Sequence[object]
    graph: Graph
    terminal: Terminal
    starts: Mapping[str, Path]
    """The places of what the start gives, by name."""

    def find_key(self, position: int) -> str:
        return name_entry(self.entries[self.graph.nodes[position].index])

    def find_position(self, key: str) -> int | None:
        keys = (position for position in range(len(self.graph.nodes)) if self.find_key(position) == key)
        return next(keys, None) if key else None

    def list_outputs(self, position: int) -> Sequence[Output]:
        """Those that are published; of a tuum that publishes nothing what it could."""
        node = self.graph.nodes[position]
        outputs = [Output(name, local, is_published=True) for name, local in node.outputs.items()]
        if outputs or node.tuum is None or node.own is not None:
            return outputs
        locals_ = [FINAL_OUTPUT] if node.tuum.ai_service is not None else []
        locals_ += node.tuum.main_script.produces if node.tuum.main_script is not None else []
        return [Output(self._name_global(node, local), local, is_published=False) for local in dict.fromkeys(locals_)]

    def _name_global(self, node: Node, local: str) -> str:
        name = f"{node.id}_answer" if local == FINAL_OUTPUT else local
        name = re.sub(r"\W", "_", name if name[:1].isalpha() else f"t{name}")
        return find_free_name(name, {*self.graph.producers, *self.graph.parameters})


def name_entry(entry: object) -> str:
    """As the document names it, also where it names a stored tuum alone."""
    names = [entry.get(name) for name in _NAMES] if isinstance(entry, Mapping) else []
    return next((name for name in names if isinstance(name, str) and name), "")


def find_free_name(name: str, taken: set[str]) -> str:
    """Case does not count."""
    folded = {one.casefold() for one in taken}
    names = (name if not number else f"{name}_{number + 1}" for number in range(len(folded) + 1))
    return next(one for one in names if one.casefold() not in folded)


def read_wiring(document: object, types: RuneTypes, tuums: Mapping[str, object] = NO_TUUMS) -> Wiring:
    """`tuums` are by what references say."""
    raw: JsonObject = document if isinstance(document, Mapping) else {}
    entries = _list(raw.get(_TUUMS))
    known = {name: tuum for name, one in tuums.items() if (tuum := read_part(Tuum, one)) is not None}
    report = Report(Findings(), suggests=False)
    nodes = list(list_nodes(map(read_entry, entries), known, types, report))
    read = [read_part(LaunchParameter, one) for one in _list(raw.get(_PARAMETERS))]
    starts: dict[str, Path] = {one.name: (_PARAMETERS, index) for index, one in enumerate(read) if one is not None}
    terminal = read_part(Terminal, raw.get("terminal", {})) or Terminal()
    record = raw.get("record")
    record = record if isinstance(record, str) and record in RECORDS else None
    if record is not None:
        starts[record] = ("record",)
    graph = build_graph(nodes, [one for one in read if one is not None], terminal, report, record=record)
    return Wiring(entries, graph, terminal, starts)


def _list(raw: object) -> list[object]:
    return raw if isinstance(raw, list) else []


def build_chart(document: object, types: RuneTypes, tuums: Mapping[str, object] = NO_TUUMS) -> Chart:
    """Draw a workflow, also one with mistakes; `tuums` are by what references say."""
    raw: JsonObject = document if isinstance(document, Mapping) else {}
    metadata = raw.get("metadata")
    title = str(metadata.get("title") or "") if isinstance(metadata, Mapping) else ""
    return _Drawing(read_wiring(document, types, tuums), types).build(title or str(raw.get("workflowId") or ""))


class _Drawing:
    def __init__(self, wiring: Wiring, types: RuneTypes) -> None:
        self._wiring, self._graph = wiring, wiring.graph
        self._outputs = [wiring.list_outputs(position) for position in range(len(self._graph.nodes))]
        self._parameters = list(wiring.starts)
        steps = [*(self._build_box(position, types) for position in range(len(self._graph.nodes))), *self._list_disabled()]
        self._boxes = [_build_start(wiring.starts), *steps, _RESULT] if steps else []

    def build(self, title: str) -> Chart:
        arrows = [arrow for position in range(len(self._graph.nodes)) for arrow in self._list_inputs(position)]
        return Chart(title=title, boxes=self._boxes, arrows=[*arrows, *(self._list_results() if self._boxes else ())])

    def _list_inputs(self, position: int) -> Iterator[Arrow]:
        graph = self._graph
        for name in dict.fromkeys([*graph.nodes[position].inputs.values(), *graph.reads[position].values()]):
            if graph.takes_trigger(position, name):
                yield Arrow(source=0, target=position + 1, way="data", label=_cut(name), port=self._parameters.index(name))
            elif name in graph.producers:
                source = graph.producers[name]
                yield Arrow(source=source + 1, target=position + 1, label=_cut(name), port=self._find_port(source, name))

    def _find_port(self, position: int, name: str) -> int:
        return next(port for port, output in enumerate(self._outputs[position]) if output.name == name)

    def _list_results(self) -> Iterator[Arrow]:
        graph, terminal, result = self._graph, self._wiring.terminal, len(self._boxes) - 1
        for field, name in (("rawText", terminal.raw_text), ("operations", terminal.operations)):
            if name is None:
                continue
            if name in graph.producers:
                source = graph.producers[name]
                label = field if name == field else _cut(f"{field}: {name}")
                yield Arrow(source=source + 1, target=result, label=label, port=self._find_port(source, name))
            elif name in graph.parameters:
                yield Arrow(source=0, target=result, label=field, way="data", port=self._parameters.index(name))
        for position, node in enumerate(graph.nodes):
            if node.variables.terminals:
                yield Arrow(source=position + 1, target=result, port=len(self._outputs[position]))

    def _build_box(self, position: int, types: RuneTypes) -> Box:
        node = self._graph.nodes[position]
        key, path = self._wiring.find_key(position), (_TUUMS, node.index)
        ports = tuple(_build_port((*path, OUTPUTS), one) for one in self._outputs[position])
        if node.variables.terminals:
            ports += (Port(path=node.place(node.variables.terminals[0]), word="workflow-way-result"),)
        if node.tuum is None:
            is_told = bool(node.id) and not is_version_id(node.id)
            return Box(
                title=_cut(node.id if is_told else _UNKNOWN),
                text=_UNKNOWN if is_told else "",
                shape="step",
                key=key,
                path=path,
                kind=STORED if node.own is not None else "",
                ports=ports,
                word="" if is_told else "workflow-box-stored" if node.own is not None else "workflow-box-unnamed",
            )
        text, emits = _tell_work(node.tuum, types)
        title = node.tuum.metadata.title
        return Box(
            title=_cut(f"{node.id}{BETWEEN}{title}" if title else node.id),
            text=text,
            shape="effect" if emits else "step",
            key=key,
            path=path,
            kind=STORED if node.own is not None else _find_kind(node.tuum),
            ports=ports,
        )

    def _list_disabled(self) -> Iterator[Box]:
        """They take no part, and can be switched on again."""
        drawn = {node.index for node in self._graph.nodes}
        for index, entry in enumerate(self._wiring.entries):
            if index not in drawn and (key := name_entry(entry)):
                told = "" if is_version_id(key) else key
                word = "" if told else "workflow-box-stored"
                yield Box(title=_cut(told or _UNKNOWN), text="", shape="step", key=key, path=(_TUUMS, index), kind=_OFF, word=word)


def _cut(text: str) -> str:
    return cut_text(text, _LONGEST_LINE)


def _build_port(outputs: Path, output: Output) -> Port:
    is_answer = output.local == FINAL_OUTPUT and not output.is_published
    word = "workflow-way-answer" if is_answer else ""
    return Port(path=(*outputs, output.name), word=word, label="" if is_answer else _cut(output.name))


def _build_start(starts: Mapping[str, Path]) -> Box:
    return Box(
        title=START,
        text=_cut(", ".join(starts)),
        shape="question",
        key=START_KEY,
        path=(_PARAMETERS,),
        kind=START,
        ports=tuple(Port(path=path, label=_cut(name)) for name, path in starts.items()),
        word="workflow-box-start",
        is_first=True,
    )


def _tell_work(tuum: Tuum, types: RuneTypes) -> tuple[str, bool]:
    """What it does in its order, and whether it proposes changes."""
    before, after = ([rune.rune_type for rune in runes if rune.enabled] for runes in (tuum.prompt_runes, tuum.runes))
    after += [_MAIN] if tuum.main_script is not None else []
    done = [before, [tuum.ai_service] if tuum.ai_service is not None else [], after]
    text = _cut(" → ".join(", ".join(dict.fromkeys(one)) for one in done if one))
    return text, any(one in types and types[one].emits for one in after)


def _find_kind(tuum: Tuum) -> str:
    if tuum.ai_service is not None:
        return "query" if any(rune.rune_type == "query" for rune in tuum.prompt_runes) else "model"
    return "script"
