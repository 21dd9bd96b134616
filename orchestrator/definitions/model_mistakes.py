"""Reports what a pydantic model objects to, in words for the author."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from orchestrator.definitions.mistakes import report_missing, report_mistake, report_shape, report_unknown_fields, report_unknown_value
from orchestrator.definitions.rules import KEY_PATTERN, LONGEST_KEY
from orchestrator.documents.findings import Findings
from orchestrator.documents.reports import quote_part, quote_sentence
from orchestrator.domain.finding import Path, format_path
from orchestrator.domain.value_faults import describe_fault

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
ModelT = TypeVar("ModelT", bound=BaseModel)
Explain = Callable[[str, Path, str], bool]
"""Reports that a text does not fit a pattern it knows, otherwise False."""


def read_part(model: type[ModelT], raw: object) -> ModelT | None:
    """Return None for an unfit part, which is reported with the whole."""
    try:
        return model.model_validate(raw)
    except ValidationError:
        return None


def explain_nothing(_pattern: str, _path: Path, _value: str) -> bool:
    return False


def report_model_mistakes(
    findings: Findings,
    model: type[BaseModel],
    document_part: object,
    path: Path,
    *,
    is_open: Callable[[object], bool] = lambda _: False,
    explain: Explain = explain_nothing,
) -> bool:
    """Return whether there is no mistake.

    What `is_open` holds for is known only later; `explain` reports patterns in words.
    """
    try:
        model.model_validate(document_part)
    except ValidationError as error:
        objections = [objection for objection in error.errors(include_url=False) if not _is_open(objection, document_part, is_open)]
        for objection in objections:
            report_objection(findings, objection, document_part, path, explain)
        return not objections
    return True


def _is_open(error: ErrorDetails, document_part: object, is_open: Callable[[object], bool]) -> bool:
    return error["type"] != "missing" and is_open(_find_part(document_part, _strip(error["loc"], document_part))[1])


def _strip(place: Sequence[int | str], document_part: object) -> Path:
    """Without what pydantic adds, such as the member of a union."""
    own_steps: list[str | int] = []
    part = document_part
    for step in place:
        is_there, below = _find_part(part, (step,))
        if is_there:
            own_steps.append(step)
            part = below
    return tuple(own_steps)


def _find_part(document_part: object, place: Path) -> tuple[bool, object]:
    part: Any = document_part
    for step in place:
        try:
            part = part[step]
        except (LookupError, TypeError):
            return False, None
    return True, part


def report_objection(
    findings: Findings, error: ErrorDetails, document_part: object, path: Path, explain: Explain = explain_nothing
) -> None:
    kind, context = error["type"], error.get("ctx", {})
    place = _strip(error["loc"], document_part)
    full = (*path, *place)
    name = quote_part(format_path(place[-1:]) or format_path(path[-1:]) or "/")
    if kind == "missing":
        report_missing(findings, full, str(error["loc"][-1]))
    elif kind == "extra_forbidden":
        report_unknown_fields(findings, full[:-1], {str(error["loc"][-1]): None}, ())
    elif kind in _SHAPES:
        report_shape(findings, full, name, _SHAPES[kind])
    elif kind in {"literal_error", "enum"}:
        report_unknown_value(findings, full, _find_part(document_part, place)[1], list_expected(str(context.get("expected", ""))))
    elif kind in _BOUNDS:
        code, key = _BOUNDS[kind]
        report_mistake(findings, code, full, of_value=True, name=name, bound=str(context.get(key, "")))
    elif kind == "string_pattern_mismatch" and context.get("pattern") == KEY_PATTERN:
        value = quote_part(str(_find_part(document_part, place)[1]))
        report_mistake(findings, "finding-definition-key", full, of_value=True, key=value, most=LONGEST_KEY)
    elif kind == "string_pattern_mismatch" and explain(str(context.get("pattern", "")), full, str(error["input"])):
        return
    elif kind in _EMPTY:
        report_mistake(findings, "finding-field-empty", full, of_value=True, name=name)
    else:
        report_mistake(findings, "finding-value-unfit", full, of_value=True, name=name, problem=quote_sentence(describe_fault(error)))


def list_expected(sentence: str) -> list[str]:
    return [one for one in sentence.replace(" or ", ", ").replace("'", "").split(", ") if one]
