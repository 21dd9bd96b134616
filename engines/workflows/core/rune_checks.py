"""Finds what is wrong with a rune by itself."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final, get_args, get_origin

from pydantic import BaseModel, ValidationError

from engines.workflows.core.definition import Rune, Tuum
from engines.workflows.core.mistakes import Report
from engines.workflows.core.rune_types import AnyRuneType, RuneParams, RuneTypes, list_no_variables
from orchestrator.definitions.mistakes import report_mistake
from orchestrator.definitions.model_mistakes import report_model_mistakes
from orchestrator.documents.reports import quote_part
from orchestrator.domain.finding import Path
from orchestrator.expressions.placeholders import WORKFLOW, Template, TemplateRefused

RUNE_LISTS: Final = ("promptRunes", "runes")
_TYPE: Final = "runeType"
_BRACES: Final = re.compile(r"(?<!\\)\{\{[^{}]{0,200}\}\}")
_MOST_WRONG: Final = 20
_OWN: Final = frozenset(model_field.alias or name for name, model_field in Rune.model_fields.items())


def read_params(kind: AnyRuneType, raw: Mapping[str, object]) -> RuneParams | None:
    """None if these are none."""
    try:
        params: RuneParams = kind.params.model_validate(raw)
    except ValidationError:
        return None
    return params


def report_misspelt(report: Report, path: Path, raw: Mapping[str, object], model: type[BaseModel]) -> None:
    """Warn of misspelt fields, also in the parts of the model; others are the author's."""
    known = [field.alias or name for name, field in model.model_fields.items()]
    for name in raw:
        if name not in known and (near := report.suggest(name, known)):
            place = (*path, name)
            report_mistake(report.findings, "finding-field-unknown", place, severity="warning", suggestion=near, name=quote_part(name))
    _report_parts(report, path, raw, model)


def _report_parts(report: Report, path: Path, raw: Mapping[str, object], model: type[BaseModel]) -> None:
    for name, field in model.model_fields.items():
        place = field.alias or name
        part, form = raw.get(place), field.annotation
        if get_origin(form) is list:
            parts = [
                ((*path, place, index), part_json, get_args(form)[0])
                for index, part_json in enumerate(part if isinstance(part, list) else ())
            ]
        else:
            parts = [((*path, place), part, form)]
        for at, part_json, kind in parts:
            if isinstance(kind, type) and issubclass(kind, BaseModel) and kind is not Rune and isinstance(part_json, Mapping):
                report_misspelt(report, at, part_json, kind)


def check_rune(report: Report, path: Path, rune_json: Mapping[str, object], types: RuneTypes) -> None:
    """Check a rune, also a disabled one; `rune_json` is all that is written."""
    name = rune_json.get(_TYPE)
    if not isinstance(name, str) or not name:
        return  # reported with the form of the tuum
    kind = types.get(name)
    if kind is None:
        report.add("finding-rune-type-unknown", (*path, _TYPE), suggestion=report.suggest(name, types), of_value=True, name=name)
        return
    known = {model_field.alias or field for field, model_field in kind.params.model_fields.items()}
    for field in rune_json:
        if field not in known and field not in _OWN:
            near = report.suggest(field, known | _OWN)
            report.add("finding-rune-field-unknown", (*path, field), suggestion=near, name=field, type=kind.name)
    _report_parts(report, path, rune_json, kind.params)
    report_model_mistakes(report.findings, kind.params, rune_json, path, explain=report.explain)
    _check_template(report, path, rune_json, kind)
    params = read_params(kind, rune_json)
    if params is None:
        return
    for mistake in kind.find_mistakes(params):
        report.add(mistake.code, (*path, *mistake.path), of_value=True, **mistake.args)


def _check_template(report: Report, path: Path, rune_json: Mapping[str, object], kind: AnyRuneType) -> None:
    if kind.list_reads is list_no_variables:
        return
    try:
        Template(rune_json, WORKFLOW)
    except TemplateRefused as error:
        report.add("finding-rune-template", path, problem=error.finding.message)
        return
    for name in [field.alias or name for name, field in kind.params.model_fields.items()]:
        for place, text in _list_texts((*path, name), rune_json.get(name)):
            wrong = (match[0] for match in _BRACES.finditer(text) if WORKFLOW.pattern.fullmatch(match[0]) is None)
            for match in islice(wrong, _MOST_WRONG):
                report.add("finding-workflow-template-form", place, name=match)


def _list_texts(path: Path, tree: object) -> Iterator[tuple[Path, str]]:
    if isinstance(tree, str):
        yield path, tree
    elif isinstance(tree, Mapping):
        for name, subtree in tree.items():
            yield from _list_texts((*path, name), subtree)
    elif isinstance(tree, list):
        for index, subtree in enumerate(tree):
            yield from _list_texts((*path, index), subtree)


def check_runes(report: Report, path: Path, tuum: Tuum, types: RuneTypes, *, is_stored: bool) -> None:
    """Check the enabled runes, each by itself."""
    for name, runes in zip(RUNE_LISTS, (tuum.prompt_runes, tuum.runes), strict=True):
        for index, rune in enumerate(runes):
            rune_json = {_TYPE: rune.rune_type, **(rune.model_extra or {})}
            kind = types.get(rune.rune_type)
            if not rune.enabled or (kind is not None and read_params(kind, rune_json) is not None):
                continue
            if is_stored:
                report.add("finding-workflow-rune-unfit", path, name=rune.rune_type, tuum=tuum.tuum_id)
            else:
                check_rune(report, (*path, name, index), rune_json, types)
