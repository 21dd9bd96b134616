"""Reports what a pydantic model objects to in a document as findings, each at its place and in words for the author."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from orchestrator.definitions.mistakes import SENTENCES, report_missing, report_shape, report_unknown_fields, report_unknown_value
from orchestrator.definitions.rules import KEY_PATTERN, LONGEST_KEY
from orchestrator.documents.findings import Findings
from orchestrator.documents.reports import quote_part, quote_sentence
from orchestrator.domain.finding import Path, format_path

_SHAPES: Final[Mapping[str, Literal["object", "list", "text", "number", "integer", "boolean"]]] = {
    "dict_type": "object",
    "mapping_type": "object",
    "model_type": "object",
    "model_attributes_type": "object",
    "list_type": "list",
    "tuple_type": "list",
    "frozen_set_type": "list",
    "string_type": "text",
    "int_type": "integer",
    "int_from_float": "integer",
    "int_parsing": "integer",
    "float_type": "number",
    "float_parsing": "number",
    "decimal_type": "number",
    "decimal_parsing": "number",
    "finite_number": "number",
    "bool_type": "boolean",
    "bool_parsing": "boolean",
}
_BOUNDS: Final[Mapping[str, tuple[str, str]]] = {
    "greater_than": ("finding-value-least-open", "gt"),
    "greater_than_equal": ("finding-value-least", "ge"),
    "less_than": ("finding-value-most-open", "lt"),
    "less_than_equal": ("finding-value-most", "le"),
    "string_too_long": ("finding-text-long", "max_length"),
    "too_long": ("finding-list-long", "max_length"),
}
_EMPTY: Final = frozenset({"string_too_short", "too_short"})
Explain = Callable[[str, Path, str], bool]
"""Reports that a text at a place does not fit a pattern, in words of its own; returns False for a pattern of which it knows none."""


def explain_nothing(_pattern: str, _path: Path, _value: str) -> bool:
    """Report nothing."""
    return False


def report_model_mistakes(
    findings: Findings,
    model: type[BaseModel],
    given: object,
    path: Path,
    *,
    is_open: Callable[[object], bool] = lambda _: False,
    explain: Explain = explain_nothing,
) -> bool:
    """Report everything that `model` objects to in the value at `path`, and return whether it is free of that.

    `is_open` tells of a value in the document whether it is known only later, as a text with placeholders: it is not objected to.
    `explain` reports patterns of the model that pydantic would only quote.
    """
    try:
        model.model_validate(given)
    except ValidationError as error:
        found = [one for one in error.errors(include_url=False) if not _is_open(one, given, is_open)]
        for one in found:
            report_objection(findings, one, given, path, explain)
        return not found
    return True


def _is_open(error: ErrorDetails, given: object, is_open: Callable[[object], bool]) -> bool:
    return error["type"] != "missing" and is_open(_find_part(given, _strip(error["loc"], given))[1])


def _strip(place: Sequence[int | str], given: object) -> Path:
    """Return a place without what pydantic adds of its own, such as the member of a union."""
    found: list[str | int] = []
    part = given
    for step in place:
        is_there, below = _find_part(part, (step,))
        if is_there:
            found.append(step)
            part = below
    return tuple(found)


def _find_part(given: object, place: Path) -> tuple[bool, object]:
    part: Any = given
    for step in place:
        try:
            part = part[step]
        except (LookupError, TypeError):
            return False, None
    return True, part


def report_objection(findings: Findings, error: ErrorDetails, given: object, path: Path, explain: Explain = explain_nothing) -> None:
    """Report one objection of pydantic to the value at `path`."""
    kind, context = error["type"], error.get("ctx", {})
    place = _strip(error["loc"], given)
    full = (*path, *place)
    name = quote_part(format_path(place[-1:]) or format_path(path[-1:]) or "/")
    if kind == "missing":
        report_missing(findings, full, str(error["loc"][-1]))
    elif kind == "extra_forbidden":
        report_unknown_fields(findings, full[:-1], {str(error["loc"][-1]): None}, ())
    elif kind in _SHAPES:
        report_shape(findings, full, name, _SHAPES[kind])
    elif kind in {"literal_error", "enum"}:
        report_unknown_value(findings, full, _find_part(given, place)[1], list_expected(str(context.get("expected", ""))))
    elif kind in _BOUNDS:
        code, key = _BOUNDS[kind]
        _add(findings, code, full, name=name, bound=str(context.get(key, "")))
    elif kind == "string_pattern_mismatch" and context.get("pattern") == KEY_PATTERN:
        value = quote_part(str(_find_part(given, place)[1]))
        _add(findings, "finding-definition-key", full, key=value, most=LONGEST_KEY)
    elif kind == "string_pattern_mismatch" and explain(str(context.get("pattern", "")), full, str(error["input"])):
        return
    elif kind in _EMPTY:
        _add(findings, "finding-field-empty", full, name=name)
    else:
        _add(findings, "finding-value-unfit", full, name=name, problem=quote_sentence(error["msg"]))


def list_expected(written: str) -> list[str]:
    """Return the words of pydantic's list 'a', 'b' or 'c'."""
    return [one for one in written.replace(" or ", ", ").replace("'", "").split(", ") if one]


def _add(findings: Findings, code: str, path: Path, **args: str | int) -> None:
    findings.add(code, SENTENCES[code].format(**args), path, of_value=True, args=dict(args))
