"""Finds every mistake of a workflow or a tuum before it runs, with its place (S003-X6)."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from engines.workflows.core.compile import UnreadTuum, build_graph, list_nodes
from engines.workflows.core.definition import VARIABLE, Mappings, Script, Terminal, Tuum, TuumEntry, TuumReference, Workflow, is_reference
from engines.workflows.core.mistakes import Report
from engines.workflows.core.rune_checks import RUNE_LISTS, check_rune, check_runes, report_misspelt
from engines.workflows.core.rune_types import RuneTypes
from engines.workflows.core.variables import read_variables
from orchestrator.definitions.mistakes import report_name_twice
from orchestrator.definitions.model_mistakes import read_part, report_model_mistakes
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.domain.finding import WHOLE, Finding, Path
from orchestrator.engines.shared.declared import RECORDS, LaunchParameter
from orchestrator.engines.shared.parameters import check_launch_parameter
from orchestrator.expressions.scripts.checking import is_variable_name

NO_TUUMS: Final[Mapping[str, object]] = {}
SCRIPTS: Final = ("chunkCallback", "mainScript")
_LATE: Final = ConfigDict(defer_build=True)  # the pattern of variables takes 35 ms to compile, and not every process checks workflows
_ENTRY: Final[TypeAdapter[TuumEntry]] = TypeAdapter(TuumEntry, config=_LATE)
_MAPPINGS: Final[TypeAdapter[Mappings]] = TypeAdapter(Mappings, config=_LATE)
_ONLY_TUUMS: Final = frozenset(to_camel(name) for name in Tuum.model_fields.keys() - TuumReference.model_fields.keys() - {"tuum_id"})
"""The fields of a tuum that a reference does not have; `tuumId` counts as misspelt there."""
_PARAMETERS: Final = "triggerParameters"
_VARIABLE: Final = re.compile(VARIABLE)


def check_workflow(document: Document, types: RuneTypes, tuums: Mapping[str, object] = NO_TUUMS) -> Iterable[Finding]:
    """Return all mistakes; `tuums` are documents by what is written in references."""
    checking = _Checking(document, types)
    checking.check_workflow(tuums)
    return checking.findings.list_all()


def check_tuum(document: Document, types: RuneTypes) -> Iterable[Finding]:
    """Each workflow that names the tuum says where its inputs come from."""
    checking = _Checking(document, types)
    checking.check_tuum()
    return checking.findings.list_all()


class _Checking:
    def __init__(self, document: Document, types: RuneTypes) -> None:
        self.findings = Findings(document)
        self._report = Report(self.findings)
        self._data, self._types = document.data, types

    def check_tuum(self) -> None:
        report_model_mistakes(self.findings, Tuum, self._data, WHOLE, explain=self._report.explain)
        if isinstance(self._data, Mapping):
            self._check_parts(WHOLE, self._data)
        tuum = read_part(Tuum, self._data)
        if tuum is not None:
            read_variables(tuum, self._types, self._report, lambda path: path)

    def check_workflow(self, tuums: Mapping[str, object]) -> None:
        data = self._data
        report_model_mistakes(self.findings, Workflow, data, WHOLE, explain=self._report.explain)
        if not isinstance(data, Mapping):
            return
        report_misspelt(self._report, WHOLE, data, Workflow)
        metadata = data.get("metadata")
        if not (isinstance(metadata, Mapping) and metadata.get("title")):
            self._report.add("finding-workflow-title-missing", ("metadata",))
        budget = data.get("budget")
        if isinstance(budget, Mapping) and budget.get("maxSteps") is not None:
            self._report.add("finding-workflow-budget-steps", ("budget", "maxSteps"))
        parameters = self._check_parameters(data.get(_PARAMETERS))
        terminal = read_part(Terminal, data.get("terminal", {}))
        raw = data.get("tuums")
        entries = raw if isinstance(raw, list) else []
        for index, entry_json in enumerate(entries):
            if isinstance(entry_json, Mapping):
                self._check_entry(("tuums", index), entry_json)
        known = {name: tuum for name, tuum_json in tuums.items() if (tuum := read_part(Tuum, tuum_json)) is not None}
        nodes = list(list_nodes(map(read_entry, entries), known, self._types, self._report))
        for node in nodes:
            if node.tuum is not None and node.own is not None and not node.variables.is_whole:
                check_runes(self._report, node.path, node.tuum, self._types, is_stored=True)
        if entries and not nodes:
            self._report.add("finding-workflow-all-off", ("tuums",))
        record = data.get("record")
        record = record if isinstance(record, str) and record in RECORDS else None
        build_graph(nodes, parameters or [], terminal, self._report, is_open=parameters is None, record=record)

    def _check_parameters(self, parameters: object) -> list[LaunchParameter] | None:
        """Return None if not all can be read."""
        if parameters is None:
            return [] if _PARAMETERS not in self._data else None
        if not isinstance(parameters, list):
            return None
        launch_parameters: list[LaunchParameter] = []
        seen: set[str] = set()
        for index, parameter in enumerate(parameters):
            path: Path = (_PARAMETERS, index)
            read = read_part(LaunchParameter, parameter)
            if read is None:
                continue
            launch_parameters.append(read)
            if read.name in seen:
                report_name_twice(self.findings, (*path, "name"), read.name)
            elif _VARIABLE.fullmatch(read.name) is None:
                self._report.add("finding-workflow-name-form", (*path, "name"), of_value=True, name=read.name)
            seen.add(read.name)
            check_launch_parameter(self.findings, path, read)
        return launch_parameters if len(launch_parameters) == len(parameters) else None

    def _check_entry(self, path: Path, entry_json: Mapping[str, object]) -> None:
        if is_reference(entry_json):
            report_misspelt(self._report, path, entry_json, TuumReference)
            for name in entry_json:
                if name in _ONLY_TUUMS:
                    self._report.add("finding-workflow-reference-field", (*path, name), name=name)
        else:
            self._check_parts(path, entry_json)

    def _check_parts(self, path: Path, tuum_json: Mapping[str, object]) -> None:
        report_misspelt(self._report, path, tuum_json, Tuum)
        for name in SCRIPTS:
            script = tuum_json.get(name)
            if isinstance(script, Mapping):
                self._check_script((*path, name), script)
        for name in RUNE_LISTS:
            runes = tuum_json.get(name)
            for index, rune in enumerate(runes if isinstance(runes, list) else ()):
                if isinstance(rune, Mapping):
                    check_rune(self._report, (*path, name, index), rune, self._types)

    def _check_script(self, path: Path, script_json: Mapping[str, object]) -> None:
        report_misspelt(self._report, path, script_json, Script)
        names = script_json.get("consumes")
        for index, consumed in enumerate(names if isinstance(names, list) else ()):
            if isinstance(consumed, str) and _VARIABLE.fullmatch(consumed) and not is_variable_name(consumed):
                self._report.add("finding-script-variable-word", (*path, "consumes", index), of_value=True, name=consumed)


def read_entry(raw: object) -> TuumEntry | UnreadTuum:
    """Read what can be read also of a draft, so that it hides no mistakes of others."""
    try:
        return _ENTRY.validate_python(raw)
    except ValidationError:
        if not isinstance(raw, Mapping) or is_reference(raw):
            return UnreadTuum()
    name = raw.get("tuumId")
    return UnreadTuum(
        id=name if isinstance(name, str) else "",
        inputs=_read_mappings(raw.get("inputMappings")),
        outputs=_read_mappings(raw.get("outputMappings", {})),
        enabled=raw.get("enabled") is not False,
    )


def _read_mappings(raw: object) -> Mappings | None:
    try:
        return _MAPPINGS.validate_python(raw)
    except ValidationError:
        return None
