"""What is needed where pydantic refuses a value; never quotes it, it may be secret."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # `--help` passes here
    from pydantic import ValidationError

_TEXT, _NUMBER, _WHOLE, _YES_NO = "a text is needed", "a number is needed", "a whole number is needed", "true or false is needed"
_LIST, _KEYS, _DATE = "a list is needed", "keys with values are needed", "a date such as 2026-12-31 is needed"
_TIME, _DURATION = "a time such as 2026-12-31T18:00:00+03:00 is needed", "a duration such as 24h, 90m or 2d is needed"
_SENTENCES: Final[Mapping[str, str]] = {
    "missing": "is missing; add it",
    "extra_forbidden": "no such key; remove it",
    "invalid_key": "a name that is a text is needed",
    "literal_error": "one of {expected} is needed",
    "enum": "one of {expected} is needed",
    "union_tag_invalid": "{discriminator} must be one of {expected_tags}",
    "union_tag_not_found": "{discriminator} is missing; add it",
    "string_type": _TEXT,
    "string_pattern_mismatch": "a text of the form {pattern} is needed",
    "string_too_short": "{min_length} characters or more are needed",
    "string_too_long": "{max_length} characters or fewer are needed",
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "int_parsing_size": "a smaller number is needed",
    "multiple_of": "a multiple of {multiple_of} is needed",
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "decimal_type": _NUMBER,
    "decimal_parsing": _NUMBER,
    "finite_number": "a finite number is needed",
    "greater_than": "a number above {gt} is needed",
    "greater_than_equal": "{ge} or more is needed",
    "less_than": "a number below {lt} is needed",
    "less_than_equal": "{le} or less is needed",
    "bool_type": _YES_NO,
    "bool_parsing": _YES_NO,
    "list_type": _LIST,
    "tuple_type": _LIST,
    "set_type": _LIST,
    "frozen_set_type": _LIST,
    "dict_type": _KEYS,
    "mapping_type": _KEYS,
    "model_type": _KEYS,
    "model_attributes_type": _KEYS,
    "dataclass_type": _KEYS,
    "date_type": _DATE,
    "date_parsing": _DATE,
    "date_from_datetime_parsing": _DATE,
    "date_from_datetime_inexact": _DATE,
    "datetime_type": _TIME,
    "datetime_parsing": _TIME,
    "datetime_from_date_parsing": _TIME,
    "timezone_aware": _TIME,
    "time_delta_type": _DURATION,
    "time_delta_parsing": _DURATION,
    "path_type": "a path is needed",
    "url_parsing": "an address such as https://host/path is needed",
    "json_invalid": "JSON is needed",
}
_LENGTHS: Final = {"too_short": "{min_length} {unit} or more are needed", "too_long": "{max_length} {unit} or fewer are needed"}


def describe_fault(fault: Mapping[str, Any]) -> str:
    kind, context = str(fault["type"]), fault.get("ctx") or {}
    if isinstance(cause := context.get("error"), Exception):
        return str(cause)
    if kind in _LENGTHS:  # a value that is not shown has characters, too
        return _LENGTHS[kind].format(**context, unit="characters" if context.get("field_type") == "Value" else "entries")
    return _SENTENCES.get(kind, "a value of another form is needed").format_map(context)


def describe_faults(error: "ValidationError", content: object) -> str:
    places: dict[str, list[str]] = {}
    for fault in error.errors(include_url=False):
        place = find_place(fault, content)
        places.setdefault(place or "the file", []).append(describe_fault(fault))
    return "; ".join(f"{place}: {', or '.join(dict.fromkeys(needs))}" for place, needs in places.items())


def find_place(fault: Mapping[str, Any], content: object) -> str:
    """Without pydantic's names of validators and variants; "" for the whole."""
    path: list[str] = []
    loc: Sequence[int | str] = fault["loc"]
    for part in loc:
        inner = _list_values(content)
        if part in inner:
            content = inner[part]
        elif not (fault["type"] == "missing" and part is loc[-1]):
            continue
        path.append(str(part))
    return ".".join(path)


def _list_values(content: object) -> Mapping[Any, object]:
    if isinstance(content, Mapping):
        return content
    return dict(enumerate(content)) if isinstance(content, list | tuple) else {}
