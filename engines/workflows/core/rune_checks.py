"""Finds what is wrong with a rune by itself: its type, the parameters of that type, and what they say."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final, get_args, get_origin

from pydantic import BaseModel, ValidationError

from engines.workflows.core.definition import Rune, Tuum
from engines.workflows.core.mistakes import Report
from engines.workflows.core.rune_types import AnyRuneType, RuneParams, RuneTypes, list_no_variables
from orchestrator.definitions.model_mistakes import report_model_mistakes
from orchestrator.documents.reports import quote_part
from orchestrator.domain.finding import Path
from orchestrator.expressions.placeholders import WORKFLOW, Template, TemplateRefused

RUNE_LISTS: Final = ("promptRunes", "runes")
"""The fields of a tuum that hold runes."""
_TYPE: Final = "runeType"
_BRACES: Final = re.compile(r"(?<!\\)\{\{[^{}]{0,200}\}\}")
"""What looks like a placeholder of a template."""
_MOST_WRONG: Final = 20
"""How many placeholders of one text are reported."""
_OWN: Final = frozenset(model_field.alias or name for name, model_field in Rune.model_fields.items())


def read_params(kind: AnyRuneType, given: Mapping[str, object]) -> RuneParams | None:
    """Return the parameters of a rune of this type, None if these are none."""
    try:
        params: RuneParams = kind.params.model_validate(given)
    except ValidationError:
        return None
    return params


def report_misspelt(report: Report, path: Path, given: Mapping[str, object], model: type[BaseModel]) -> None:
    """Warn of fields of the object at `path` that look misspelt, also in the parts of which the model consists. Others are the author's."""
    known = [field.alias or name for name, field in model.model_fields.items()]
    for name in given:
        if name not in known and (near := report.suggest(name, known)):
            shown = quote_part(name)
            message = f'there is no field "{shown}" here'
            report.findings.add("finding-field-unknown", message, (*path, name), severity="warning", suggestion=near, args={"name": shown})
    _report_parts(report, path, given, model)


def _report_parts(report: Report, path: Path, given: Mapping[str, object], model: type[BaseModel]) -> None:
    """Look through the parts of a model that are models, and the elements of its lists of such; runes are checked by `check_rune`."""
    for name, field in model.model_fields.items():
        place = field.alias or name
        part, form = given.get(place), field.annotation
        if get_origin(form) is list:
            parts = [((*path, place, index), one, get_args(form)[0]) for index, one in enumerate(part if isinstance(part, list) else ())]
        else:
            parts = [((*path, place), part, form)]
        for at, one, kind in parts:
            if isinstance(kind, type) and issubclass(kind, BaseModel) and kind is not Rune and isinstance(one, Mapping):
                report_misspelt(report, at, one, kind)


def check_rune(report: Report, path: Path, given: Mapping[str, object], types: RuneTypes) -> None:
    """Report what is wrong with the rune at `path`, of which `given` is all that is written; also with one that is switched off."""
    name = given.get(_TYPE)
    if not isinstance(name, str) or not name:
        return  # reported with the form of the tuum
    kind = types.get(name)
    if kind is None:
        report.add("finding-rune-type-unknown", (*path, _TYPE), suggestion=report.suggest(name, types), of_value=True, name=name)
        return
    known = {model_field.alias or field for field, model_field in kind.params.model_fields.items()}
    for field in given:
        if field not in known and field not in _OWN:
            near = report.suggest(field, known | _OWN)
            report.add("finding-rune-field-unknown", (*path, field), suggestion=near, name=field, type=kind.name)
    _report_parts(report, path, given, kind.params)
    report_model_mistakes(report.findings, kind.params, given, path, explain=report.explain)
    _check_template(report, path, given, kind)
    params = read_params(kind, given)
    if params is None:
        return
    for mistake in kind.find_mistakes(params):
        report.add(mistake.code, (*path, *mistake.path), of_value=True, **mistake.args)


def _check_template(report: Report, path: Path, given: Mapping[str, object], kind: AnyRuneType) -> None:
    """Report texts with more placeholders than can be filled, and placeholders that cannot be read: they would stay as they are written."""
    if kind.list_reads is list_no_variables:
        return
    try:
        Template(given, WORKFLOW)
    except TemplateRefused as error:
        report.add("finding-rune-template", path, problem=error.finding.message)
        return
    for name in [field.alias or name for name, field in kind.params.model_fields.items()]:
        for place, text in _list_texts((*path, name), given.get(name)):
            wrong = (one[0] for one in _BRACES.finditer(text) if WORKFLOW.pattern.fullmatch(one[0]) is None)
            for one in islice(wrong, _MOST_WRONG):
                report.add("finding-workflow-template-form", place, name=one)


def _list_texts(path: Path, tree: object) -> Iterator[tuple[Path, str]]:
    """Yield the texts of JSON data with their places."""
    if isinstance(tree, str):
        yield path, tree
    elif isinstance(tree, Mapping):
        for name, one in tree.items():
            yield from _list_texts((*path, name), one)
    elif isinstance(tree, list):
        for index, one in enumerate(tree):
            yield from _list_texts((*path, index), one)


def check_runes(report: Report, path: Path, tuum: Tuum, types: RuneTypes, *, is_stored: bool) -> None:
    """Report what is wrong with the runes of the tuum at `path` that take part, each by itself.

    Of a tuum that is stored elsewhere it is only said which types of runes do not fit: the rest was told when it was saved.
    """
    for name, runes in zip(RUNE_LISTS, (tuum.prompt_runes, tuum.runes), strict=True):
        for index, rune in enumerate(runes):
            given = {_TYPE: rune.rune_type, **(rune.model_extra or {})}
            kind = types.get(rune.rune_type)
            if not rune.enabled or (kind is not None and read_params(kind, given) is not None):
                continue
            if is_stored:
                report.add("finding-workflow-rune-unfit", path, name=rune.rune_type, tuum=tuum.tuum_id)
            else:
                check_rune(report, (*path, name, index), given, types)
