"""The kinds of definitions that workflows and tuums are, and what is wrong in their scripts before they run."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from engines.workflows.core.checks import SCRIPTS, check_tuum, check_workflow
from engines.workflows.core.definition import Proposal, Rune, Tuum, TuumReference, Workflow, is_reference
from engines.workflows.core.entities import ENTITIES, find_entity
from engines.workflows.core.mistakes import Report
from engines.workflows.core.rune_checks import RUNE_LISTS, read_params
from engines.workflows.core.rune_types import RuneTypes
from engines.workflows.core.runes.computing import ScriptParams
from engines.workflows.core.runes.outside import OperationParams, QueryParams, TerminalParams
from engines.workflows.core.script_functions import ALL, EMIT, QUERY, SHOW
from orchestrator.definitions.calls import LATER, mark_later
from orchestrator.definitions.kinds import CallUse, DefinitionKind, MethodUse, Reference, Write
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.domain.finding import WHOLE, Finding, Path, format_path
from orchestrator.expressions.placeholders import WORKFLOW as SYNTAX
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
        for path, script in _list_written(document.data):
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


def _list_written(data: object) -> Iterator[tuple[Path, WrittenScript]]:
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


WORKFLOW: Final = "workflow"
TUUM: Final = "tuum"


def build_kinds(types: RuneTypes) -> tuple[DefinitionKind, DefinitionKind]:
    workflows = DefinitionKind(
        name=WORKFLOW,
        check=lambda document: check_workflow(document, types),
        check_programs=check_scripts,
        check_linked=lambda document, tuums: check_workflow(document, types, tuums),
        list_writes=partial(list_workflow_writes, types=types),
        list_references=list_tuums,
        list_methods=lambda document: _list_methods(_list_own_tuums(document), types),
        list_calls=lambda document: _list_calls(_list_own_tuums(document), types),
        find_title=lambda document: Workflow.model_validate(document).metadata.title,
        key_field="workflowId",
        number_field="version",
    )
    tuums = DefinitionKind(
        name=TUUM,
        check=lambda document: check_tuum(document, types),
        check_programs=check_scripts,
        list_writes=partial(list_tuum_writes, types=types),
        list_methods=lambda document: _list_methods([(WHOLE, Tuum.model_validate(document))], types),
        list_calls=lambda document: _list_calls([(WHOLE, Tuum.model_validate(document))], types),
        find_title=lambda document: Tuum.model_validate(document).metadata.title,
        key_field="tuumId",
        is_told=False,
    )
    return workflows, tuums


def list_tuums(document: object) -> Iterator[Reference]:
    entries = document.get("tuums") if isinstance(document, Mapping) else None
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        tuum = entry.get("tuum") if isinstance(entry, Mapping) else None
        if isinstance(tuum, str) and tuum:
            yield Reference(("tuums", index, "tuum"), TUUM, tuum)


def list_workflow_writes(document: object, types: RuneTypes) -> Sequence[Write] | None:
    """Return None if it cannot be told, as with operations that the terminal takes from a variable."""
    workflow = Workflow.model_validate(document)
    if workflow.terminal.operations is not None:
        return None
    all_writes: list[Write] = []
    for tuum in workflow.tuums:
        if isinstance(tuum, TuumReference):
            continue
        writes = _list_writes(tuum, types)
        if writes is None:
            return None
        all_writes += writes
    return list(dict.fromkeys(all_writes))


def list_tuum_writes(document: object, types: RuneTypes) -> Sequence[Write] | None:
    """None if it cannot be told."""
    return _list_writes(Tuum.model_validate(document), types)


def _list_writes(tuum: Tuum, types: RuneTypes) -> list[Write] | None:
    """Return what a tuum may write, disabled or not; None if it cannot be told."""
    if tuum.may_propose is None and any(may_emit(source) for _, source in _list_scripts(tuum, types)):
        return None
    writes = [_find_write(one) for one in tuum.may_propose or ()]
    for _, rune in _list_runes(tuum):
        kind = types[rune.rune_type]
        match read_params(kind, rune.model_extra or {}):
            case OperationParams(operation_type=operation, entity_type=entity):
                writes.append(("bitrix", find_entity(entity).find_method(operation)))
            case TerminalParams(operations=name) if name is not None:
                return None
            case _ if kind.emits and tuum.may_propose is None:
                return None
    return writes


def _find_write(proposal: Proposal) -> Write:
    operation, _, entity = proposal.partition(" ")
    return "bitrix", ENTITIES[entity].find_method(operation)  # type: ignore[arg-type]  # the pattern of a proposal lets no other word in


def _list_methods(tuums: Iterable[tuple[Path, Tuum]], types: RuneTypes) -> Iterator[MethodUse]:
    for path, tuum in tuums:
        for place, rune in _list_runes(tuum):
            params = read_params(types[rune.rune_type], rune.model_extra or {})
            if isinstance(params, QueryParams):
                yield MethodUse((*path, *place, "method"), params.method, must_read=True)
        for place, source in _list_scripts(tuum, types):
            yield from (MethodUse((*path, *place), method, must_read=True) for method in list_queries(source))


def _list_calls(tuums: Iterable[tuple[Path, Tuum]], types: RuneTypes) -> Iterator[CallUse]:
    for base, rune in (((*path, *place), rune) for path, tuum in tuums for place, rune in _list_runes(tuum)):
        match read_params(types[rune.rune_type], rune.model_extra or {}):
            case QueryParams(method=method, params=params):
                locate = partial(_extend, (*base, "params"))
                yield CallUse(path=(*base, "method"), method=method, params=mark_later(params, SYNTAX), locate=locate)
            case OperationParams(operation_type="CreateEntity") as made:
                entity = find_entity(made.entity_type)
                params = entity.build_add_params(mark_later(made.initial_attributes, SYNTAX))
                within = 0 if entity.is_made_flat else 1  # the name of the parameter that holds the fields is none of the author's
                locate = partial(_extend, (*base, "initialAttributes"), skipped=within)
                yield CallUse(path=(*base, "entityType"), method=entity.add_method, params=params, locate=locate)
            case OperationParams(operation_type="ModifyEntity") as change:
                entity = find_entity(change.entity_type)
                key, value = mark_later([change.attribute_key, change.modify_value if change.modify_operator == "=" else LATER], SYNTAX)
                params = {entity.id_parameter: LATER, entity.fields_parameter: {key: value}}
                yield CallUse(path=(*base, "entityType"), method=entity.update_method, params=params, locate=partial(_find_change, base))


def _extend(base: Path, place: Path, _of_value: bool, *, skipped: int = 0) -> Path:  # noqa: FBT001 - as `CallUse` says
    return (*base, *place[skipped:])


def _find_change(base: Path, _place: Path, of_value: bool) -> Path:  # noqa: FBT001 - as `CallUse` says
    return (*base, "modifyValue" if of_value else "attributeKey")


def _list_own_tuums(document: object) -> Iterator[tuple[Path, Tuum]]:
    """Without stored tuums, which list their own."""
    for index, entry in enumerate(Workflow.model_validate(document).tuums):
        if not isinstance(entry, TuumReference):
            yield ("tuums", index), entry


def _list_scripts(tuum: Tuum, types: RuneTypes) -> Iterator[tuple[Path, str]]:
    for name, script in (("mainScript", tuum.main_script), ("chunkCallback", tuum.chunk_callback)):
        if script is not None:
            yield (name, "source"), script.source
    for place, rune in _list_runes(tuum):
        params = read_params(types[rune.rune_type], rune.model_extra or {})
        if isinstance(params, ScriptParams):
            yield (*place, "source"), params.source


def _list_runes(tuum: Tuum) -> Iterator[tuple[Path, Rune]]:
    for name, runes in (("promptRunes", tuum.prompt_runes), ("runes", tuum.runes)):
        for index, rune in enumerate(runes):
            yield (name, index), rune


_DYNAMIC: Final = ("eval", "exec", "compile", "locals", "globals", "vars", "__")
"""With these a script could reach a function whose name does not stand in it."""
_QUERY: Final = re.compile(rf"""\b{QUERY}\(\s*(?P<quote>["'])(?P<method>[A-Za-z][\w.]*)(?P=quote)\s*[,)]""")


def may_emit(source: str) -> bool:
    """Return True also where it cannot be told. Names are sought in the spelling that the language reads."""
    normalized = unicodedata.normalize("NFKC", source)
    return any(name in normalized for name in (EMIT, *_DYNAMIC))


def list_queries(source: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found["method"] for found in _QUERY.finditer(unicodedata.normalize("NFKC", source))))
