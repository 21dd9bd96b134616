"""Finds mistakes in scripts of workflows before they run."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from engines.workflows.core.checks import SCRIPTS
from engines.workflows.core.definition import is_reference
from engines.workflows.core.mistakes import Report
from engines.workflows.core.rune_checks import RUNE_LISTS
from engines.workflows.core.script_functions import ALL, SHOW
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.domain.finding import WHOLE, Finding, Path, format_path
from orchestrator.expressions.scripts.checking import ScriptChecker
from orchestrator.expressions.scripts.failures import ScriptFailed

MOST_SCRIPTS: Final = 100
"""Different scripts of one document; each takes some 25 ms."""
_CALLBACK: Final = "chunkCallback"


@dataclass(frozen=True, slots=True)
class WrittenScript:
    source: str
    names: tuple[str, ...]
    functions: tuple[str, ...]


def check_scripts(document: Document) -> tuple[Finding, ...]:
    """Check the scripts of any draft. Starts a process if there are any."""
    findings = Findings(document)
    known: dict[WrittenScript, tuple[Finding, ...]] = {}
    with ScriptChecker() as checker:
        for path, script in _list_scripts(document.data):
            if script not in known and len(known) == MOST_SCRIPTS:
                Report(findings).add("finding-workflow-scripts-many", path, most=MOST_SCRIPTS)
                break
            try:
                if script not in known:
                    known[script] = checker.check(script.source, script.names, script.functions)
            except ScriptFailed as error:
                Report(findings).add("finding-workflow-scripts-unchecked", path, problem=error.finding.message)
                break
            findings.extend(_place(document, path, finding) for finding in known[script])
    return findings.list_all()


def _place(document: Document, path: Path, finding: Finding) -> Finding:
    line, column = document.find_inside(path, finding.line, finding.column)
    return replace(finding, path=format_path(path), line=line, column=column, step=document.find_step(path))


def _list_scripts(data: object) -> Iterator[tuple[Path, WrittenScript]]:
    if not isinstance(data, Mapping):
        return
    entries = data.get("tuums")
    tuums: Iterable[tuple[Path, object]] = [(WHOLE, data)]
    if isinstance(entries, list):
        tuums = [(("tuums", index), one) for index, one in enumerate(entries) if not is_reference(one)]
    for path, tuum in tuums:
        if not isinstance(tuum, Mapping):
            continue
        for name in SCRIPTS:
            yield from _read_script((*path, name), tuum.get(name), (SHOW,) if name == _CALLBACK else ALL)
        for name in RUNE_LISTS:
            runes = tuum.get(name)
            for index, rune in enumerate(runes if isinstance(runes, list) else ()):
                if isinstance(rune, Mapping) and rune.get("runeType") == "script":
                    yield from _read_script((*path, name, index), rune, ALL)


def _read_script(path: Path, script_json: object, functions: tuple[str, ...]) -> Iterator[tuple[Path, WrittenScript]]:
    if not isinstance(script_json, Mapping) or not isinstance(script_json.get("source"), str):
        return
    names = script_json.get("consumes")
    read = tuple(one for one in names if isinstance(one, str)) if isinstance(names, list) else ()
    yield (*path, "source"), WrittenScript(script_json["source"], read, functions)
