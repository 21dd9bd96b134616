"""Orders the tuums of a workflow by the variables that they need and publish (S003-14, S003-27…31)."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from engines.workflows.core.definition import Mappings, Terminal, Tuum, TuumEntry, TuumReference, Workflow
from engines.workflows.core.mistakes import Report
from engines.workflows.core.rune_checks import check_runes
from engines.workflows.core.rune_types import RuneTypes
from engines.workflows.core.scheduler import find_cycles
from engines.workflows.core.variables import AFTER_ANSWER, Variables, list_unproposed_of, read_variables
from orchestrator.definitions.mistakes import report_name_twice
from orchestrator.documents.findings import Findings
from orchestrator.domain.finding import WHOLE, DefinitionRefused, Path
from orchestrator.engines.shared.declared import LaunchParameter, ParameterType


@dataclass(frozen=True, slots=True)
class CompiledTuum:
    """A tuum in its place in the graph. Positions are those in `CompiledWorkflow.tuums`."""

    index: int
    id: str
    tuum: Tuum
    """With the mappings of the reference, if that has any."""
    inputs: Mapping[str, str]
    """Local name: global name of what it needs; without one of them it fails (S003-X4)."""
    reads: Mapping[str, str]
    """Local name: global name of what it reads only if it is there."""
    outputs: Mapping[str, str]
    needs: tuple[int, ...]
    level: int
    """0 for one that waits for nothing."""


@dataclass(frozen=True, slots=True)
class CompiledWorkflow:
    """The enabled tuums in the order of the file, and who waits for whom."""

    workflow: Workflow
    tuums: tuple[CompiledTuum, ...]
    dependents: tuple[tuple[int, ...], ...]
    levels: tuple[tuple[int, ...], ...]
    """Positions by level: the batches of the seed (S003-31)."""
    has_scripts: bool


def compile_workflow(workflow: Workflow, tuums: Mapping[str, Tuum], types: RuneTypes) -> CompiledWorkflow:
    """Order the workflow; `tuums` are by what its references say. Raises DefinitionRefused with every error, no warnings."""
    report = Report(Findings(), suggests=False)
    nodes = list(list_nodes(workflow.tuums, tuums, types, report))
    for node in nodes:
        if node.tuum is None:
            report.add("finding-workflow-tuum-missing", node.path, name=node.id)
        elif not node.variables.is_whole:
            check_runes(report, node.path, node.tuum, types, is_stored=node.own is not None)
    graph = build_graph(nodes, workflow.trigger_parameters, workflow.terminal, report, record=workflow.record)
    if report.has_errors:
        raise DefinitionRefused([finding for finding in report.findings.list_all() if finding.severity == "error"])
    compiled = tuple(_compile_nodes(graph))
    has_scripts = any(_has_scripts(compiled_tuum.tuum) for compiled_tuum in compiled)
    return CompiledWorkflow(workflow, compiled, graph.list_dependents(), graph.list_levels(), has_scripts)


def _has_scripts(tuum: Tuum) -> bool:
    if tuum.main_script is not None or tuum.chunk_callback is not None:
        return True
    return any(rune.rune_type == "script" for rune in (*tuum.prompt_runes, *tuum.runes))


def _compile_nodes(graph: "Graph") -> Iterator[CompiledTuum]:
    for position, node in enumerate(graph.nodes):
        if node.tuum is not None:
            needs, level = graph.needs[position], graph.levels[position]
            yield CompiledTuum(
                node.index, node.id, node.tuum, node.inputs, graph.reads[position], node.tuum.output_mappings, tuple(needs), level
            )


@dataclass(frozen=True, slots=True)
class Node:
    index: int
    id: str
    tuum: Tuum | None
    """None if it is not at hand or cannot be read."""
    variables: Variables
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    given: Mappings | None
    own: frozenset[str] | None
    """None if the whole tuum stands in the document; else its own fields."""
    is_open: bool
    """It may publish more than `outputs`."""

    @property
    def path(self) -> Path:
        return ("tuums", self.index)

    @property
    def id_place(self) -> Path:
        return self.place(("tuumId",)) if self.own is None else self.place(("id" if "id" in self.own else "tuum",))

    def place(self, path: Path) -> Path:
        """A part that is stored elsewhere stands at the reference."""
        return place_part(self.index, self.own, path)

    def find_input_place(self, local: str) -> Path:
        if self.given is not None:
            return self.place(("inputMappings", local))
        return self.place(self.variables.needs.get(local) or self.variables.reads.get(local, WHOLE))


def place_part(index: int, own: frozenset[str] | None, path: Path) -> Path:
    """`own` as in `Node`."""
    return ("tuums", index, *path) if own is None or (path[:1] and path[0] in own) else ("tuums", index)


@dataclass(frozen=True, slots=True)
class UnreadTuum:
    """What can be read of a place that is no tuum: None where its mappings cannot."""

    id: str = ""
    inputs: Mappings | None = None
    outputs: Mappings | None = None
    enabled: bool = True


def list_nodes(entries: Iterable[TuumEntry | UnreadTuum], tuums: Mapping[str, Tuum], types: RuneTypes, report: Report) -> Iterator[Node]:
    """Yield the tuums that take part, and report each one's mistakes; those of unread ones were reported before."""
    for index, entry in enumerate(entries):
        if isinstance(entry, UnreadTuum):
            if entry.enabled:
                inputs, outputs = entry.inputs or {}, entry.outputs or {}
                yield Node(index, entry.id, None, Variables(), inputs, outputs, entry.inputs, None, is_open=entry.outputs is None)
        elif entry.enabled and (node := _read_node(index, entry, tuums, types, report)) is not None:
            yield node


def _read_node(index: int, entry: TuumEntry, tuums: Mapping[str, Tuum], types: RuneTypes, report: Report) -> Node | None:
    """Return None if it is stored elsewhere and takes no part."""
    own: frozenset[str] | None = None
    if isinstance(entry, TuumReference):
        own = _list_own(entry)
        stored = tuums.get(entry.tuum)
        if stored is None:
            return _build_unknown(index, entry, own)
        if not stored.enabled:
            return None
        tuum, name = _put_mappings(stored, entry), entry.id or stored.tuum_id
    else:
        tuum, name = entry, entry.tuum_id
    variables = read_variables(tuum, types, report, lambda path: place_part(index, own, path))
    input_mappings = tuum.input_mappings
    inputs = input_mappings if input_mappings is not None else {one: one for one in variables.needs}
    return Node(index, name, tuum, variables, inputs, tuum.output_mappings, input_mappings, own, is_open=False)


def _list_own(entry: TuumReference) -> frozenset[str]:
    fields = {"id": entry.id, "tuum": entry.tuum, "inputMappings": entry.input_mappings, "outputMappings": entry.output_mappings}
    return frozenset(name for name, one in fields.items() if one is not None)


def _build_unknown(index: int, entry: TuumReference, own: frozenset[str]) -> Node:
    outputs, input_mappings = entry.output_mappings, entry.input_mappings
    name = entry.id or entry.tuum.partition("@")[0]
    return Node(index, name, None, Variables(), input_mappings or {}, outputs or {}, input_mappings, own, is_open=outputs is None)


def _put_mappings(tuum: Tuum, entry: TuumReference) -> Tuum:
    own = {"input_mappings": entry.input_mappings, "output_mappings": entry.output_mappings}
    return tuum.model_copy(update={name: one for name, one in own.items() if one is not None})


def build_graph(
    nodes: Sequence[Node],
    parameters: Sequence[LaunchParameter],
    terminal: Terminal | None,
    report: Report,
    *,
    is_open: bool = False,
    record: str | None = None,
) -> "Graph":
    """An unreadable `terminal` is None; `is_open`: nothing counts as missing; `record` is a global that the start gives."""
    known = {parameter.name: parameter for parameter in parameters}
    if record in known:
        place = next(index for index, parameter in enumerate(parameters) if parameter.name == record)
        report.add("finding-workflow-parameter-record", ("triggerParameters", place, "name"), name=record)
    record_parameter = {record: LaunchParameter(name=record, type="string")} if record is not None else {}
    graph = Graph(nodes, {**known, **record_parameter}, record)
    _report_ids(nodes, report)
    _Linking(graph, report, is_open=is_open).link(terminal)
    for cycle in graph.order():
        names = [nodes[one].id for one in (*cycle, cycle[0])]
        report.add("finding-workflow-cycle", nodes[cycle[0]].path, names=names)
    return graph


def _report_ids(nodes: Sequence[Node], report: Report) -> None:
    seen: set[str] = set()
    for node in nodes:
        if node.id and node.id in seen:
            report_name_twice(report.findings, node.id_place, node.id)
        seen.add(node.id)


@dataclass(slots=True)
class Graph:
    """Who waits for whom. Positions are those in `nodes`."""

    nodes: Sequence[Node]
    parameters: Mapping[str, LaunchParameter]
    record: str | None = None
    needs: list[list[int]] = field(default_factory=list)
    reads: list[dict[str, str]] = field(default_factory=list)
    """Local name: global name of the optional inputs that something gives."""
    levels: list[int] = field(default_factory=list)
    producers: dict[str, int] = field(default_factory=dict)

    def takes_trigger(self, position: int, name: str) -> bool:
        """Return whether nobody else publishes the variable anew (S003-A2)."""
        return name in self.parameters and self.producers.get(name, position) == position

    def list_dependents(self) -> tuple[tuple[int, ...], ...]:
        dependents: list[list[int]] = [[] for _ in self.nodes]
        for position, needs in enumerate(self.needs):
            for source in needs:
                dependents[source].append(position)
        return tuple(map(tuple, dependents))

    def list_levels(self) -> tuple[tuple[int, ...], ...]:
        by_level: list[list[int]] = [[] for _ in range(max(self.levels, default=-1) + 1)]
        for position, level in enumerate(self.levels):
            by_level[level].append(position)
        return tuple(map(tuple, by_level))

    def order(self) -> list[list[int]]:
        """Give each node its level; return the cycles that prevent it, in the direction of the data."""
        dependents = self.list_dependents()
        waits = [len(needs) for needs in self.needs]
        self.levels = [0] * len(waits)
        ready = deque(position for position, count in enumerate(waits) if not count)
        done = 0
        while ready:
            position = ready.popleft()
            done += 1
            for dependent in dependents[position]:
                self.levels[dependent] = max(self.levels[dependent], self.levels[position] + 1)
                waits[dependent] -= 1
                if not waits[dependent]:
                    ready.append(dependent)
        return [] if done == len(waits) else find_cycles(dependents, [position for position, count in enumerate(waits) if count])


class _Linking:
    def __init__(self, graph: Graph, report: Report, *, is_open: bool) -> None:
        self._graph, self._report = graph, report
        self._used: set[str] = set()
        """Globals that some tuum takes, or that are part of the result."""
        self._is_open = is_open or any(node.is_open for node in graph.nodes)

    def link(self, terminal: Terminal | None) -> None:
        graph = self._graph
        self._find_producers()
        known = (*graph.producers, *graph.parameters)
        folded = {name.casefold(): name for name in reversed(known)}
        for position, node in enumerate(graph.nodes):
            needs: set[int] = set()
            for local, name in node.inputs.items():
                self._link_input(position, local, name, needs)
            graph.reads.append(self._link_reads(position, folded, needs))
            graph.needs.append(sorted(needs))
        self._check_terminal(terminal or Terminal())
        if terminal is not None and not self._is_open and all(node.tuum is not None and node.variables.is_whole for node in graph.nodes):
            self._report_unused(terminal)

    def _find_producers(self) -> None:
        producers = self._graph.producers
        folded = {name.casefold(): name for name in self._graph.parameters}
        for position, node in enumerate(self._graph.nodes):
            for name in node.outputs:
                first = producers.setdefault(name, position)
                alike = folded.setdefault(name.casefold(), name)
                if alike != name:
                    self._report.add("finding-workflow-names-alike", node.place(("outputMappings", name)), name=name, other=alike)
                if first != position:
                    place = node.place(("outputMappings", name))
                    other = self._graph.nodes[first].id
                    self._report.add("finding-workflow-two-producers", place, name=name, first=other, second=node.id)

    def _link_input(self, position: int, local: str, name: str, needs: set[int]) -> None:
        node, report = self._graph.nodes[position], self._report
        if self._add_source(position, local, name, needs):
            parameter = self._graph.parameters.get(name)
            if parameter is not None and not parameter.required and parameter.default is None and self._graph.takes_trigger(position, name):
                report.add("finding-workflow-parameter-optional", node.find_input_place(local), name=name)
        elif not self._is_open:
            known = (*self._graph.producers, *self._graph.parameters, *AFTER_ANSWER)
            place = node.find_input_place(local)
            if local in node.variables.late:
                report.add("finding-tuum-variable-late", place, name=name)
            else:
                suggestion = report.suggest(name, known)
                report.add("finding-workflow-no-source", place, suggestion=suggestion, of_value=node.given is not None, name=name)

    def _link_reads(self, position: int, folded: Mapping[str, str], needs: set[int]) -> dict[str, str]:
        """Return the optional inputs that something gives; case does not count in templates (S003-X7)."""
        node = self._graph.nodes[position]
        linked: dict[str, str] = {}
        for local in node.variables.reads:
            name = local if local in self._graph.producers or local in self._graph.parameters else folded.get(local.casefold(), local)
            if self._add_source(position, local, name, needs):
                linked[local] = name
            elif not self._is_open:
                path = node.find_input_place(local)
                self._report.add(
                    "finding-workflow-template-empty", path, suggestion=self._report.suggest(local, folded.values()), name=local
                )
        return linked

    def _add_source(self, position: int, local: str, name: str, needs: set[int]) -> bool:
        """Return whether there is a source."""
        self._used.add(name)
        source = self._graph.producers.get(name)
        if self._graph.takes_trigger(position, name):
            self._compare_types(position, local, name, self._graph.parameters[name].type)
            return True
        if source is None:
            return False
        needs.add(source)
        producer = self._graph.nodes[source]
        variable_type = producer.tuum.variable_types.get(producer.outputs[name]) if producer.tuum is not None else None
        self._compare_types(position, local, name, variable_type)
        return True

    def _compare_types(self, position: int, local: str, name: str, parameter_type: ParameterType | None) -> None:
        node = self._graph.nodes[position]
        needed_type = node.tuum.variable_types.get(local) if node.tuum is not None else None
        if needed_type is not None and parameter_type is not None and needed_type != parameter_type:
            self._report.add(
                "finding-workflow-types", node.place(("variableTypes", local)), name=name, given=parameter_type, wanted=needed_type
            )

    def _check_terminal(self, terminal: Terminal) -> None:
        graph, report = self._graph, self._report
        for name, global_name in (("rawText", terminal.raw_text), ("operations", terminal.operations)):
            if global_name is None:
                continue
            self._used.add(global_name)
            if global_name not in graph.producers and global_name not in graph.parameters and not self._is_open:
                near = report.suggest(global_name, (*graph.producers, *graph.parameters))
                report.add("finding-workflow-terminal-empty", ("terminal", name), suggestion=near, of_value=True, name=global_name)
        if terminal.operations is not None and (position := graph.producers.get(terminal.operations)) is not None:
            self._check_proposals(graph.nodes[position], terminal.operations)
        makers = [position for position, node in enumerate(graph.nodes) if node.variables.terminals]
        dependents = graph.list_dependents() if makers else ()
        for count, position in enumerate(makers):
            node = graph.nodes[position]
            place = node.place(node.variables.terminals[0])
            if count or terminal != Terminal():
                report.add("finding-workflow-terminal-twice", place)
            if others := [dependent for dependent in dependents[position] if dependent != position]:
                report.add("finding-workflow-terminal-inside", place, name=graph.nodes[others[0]].id)

    def _check_proposals(self, node: Node, name: str) -> None:
        if node.tuum is None or not node.variables.is_whole:
            return
        literal = node.variables.written.get(node.outputs[name])
        for code, kind in list_unproposed_of(name, literal, node.tuum.may_propose):
            near = self._report.suggest(kind, node.tuum.may_propose or ())
            self._report.add(code, node.place(("outputMappings", name)), suggestion=near, name=kind)

    def _report_unused(self, terminal: Terminal) -> None:
        """Without a terminal all globals are the result (S003-A8)."""
        for index, name in enumerate(self._graph.parameters):
            if name not in self._used and name != self._graph.record:
                self._report.add("finding-workflow-parameter-unused", ("triggerParameters", index), name=name)
        if terminal == Terminal() and not any(node.variables.terminals for node in self._graph.nodes):
            return
        for name, position in self._graph.producers.items():
            if name not in self._used:
                self._report.add("finding-workflow-output-unused", self._graph.nodes[position].place(("outputMappings", name)), name=name)
