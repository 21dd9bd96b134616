""" "@deal:Ромашка" and the like in the params of a step: finding and replacing them. Values are put in, text is never pasted."""

import re
from collections.abc import Mapping
from typing import Any

_REFERENCE = re.compile(r"@(?:(?:deal|lead|contact|company|task|user|stage|category|date|sum):\S.*|me|current)", re.DOTALL)


def find_references(value: Any) -> list[str]:
    """Every string that is wholly a reference, in the order of the params, each once."""
    found: list[str] = []
    _collect(value, found)
    return list(dict.fromkeys(found))


def replace_references(value: Any, values: Mapping[str, Any]) -> Any:
    """`value` with the references that `values` knows replaced by their values, types kept."""
    if isinstance(value, str):
        return values.get(value, value)
    if isinstance(value, Mapping):
        return {key: replace_references(item, values) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [replace_references(item, values) for item in value]
    return value


def _collect(value: Any, found: list[str]) -> None:
    if isinstance(value, str):
        if _REFERENCE.fullmatch(value):
            found.append(value)
    elif isinstance(value, Mapping):
        for item in value.values():
            _collect(item, found)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _collect(item, found)
