"""Ties of tasks to CRM records: "D_481" is the deal 481."""

from collections.abc import Mapping
from typing import Any, Final

from state.stored import JsonObject

LETTERS: Final = {"lead": "L", "deal": "D", "contact": "C", "company": "CO"}
_FIELDS: Final = frozenset({"UF_CRM_TASK", "UFCRMTASK"})
_OPERATORS: Final = "<>=!@%*?~"


def is_binding_field(name: str) -> bool:
    return name.lstrip(_OPERATORS).upper() in _FIELDS


def to_binding(kind: str, number: object) -> str:
    """Empty if tasks are not tied to this kind."""
    return f"{LETTERS[kind]}_{number}" if kind in LETTERS else ""


def strip_letters(params: JsonObject) -> JsonObject:
    return {name: _strip(value, name) for name, value in params.items()}


def find_bound_references(value: object, name: str = "") -> list[str]:
    """Without those to records yet to be made."""
    if isinstance(value, Mapping):
        return [bound_reference for key, item in value.items() for bound_reference in find_bound_references(item, str(key))]
    if isinstance(value, list):
        return [bound_reference for item in value for bound_reference in find_bound_references(item, name)]
    is_reference = isinstance(value, str) and value.startswith("@") and not value.startswith("@created")
    return [str(value)] if is_reference and is_binding_field(name) else []


def replace_bound_references(value: object, bindings: Mapping[str, str], name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: replace_bound_references(item, bindings, str(key)) for key, item in value.items()}
    if isinstance(value, list):
        return [replace_bound_references(item, bindings, name) for item in value]
    return bindings.get(value, value) if isinstance(value, str) and is_binding_field(name) else value


def _strip(value: object, name: str) -> object:
    if isinstance(value, dict):
        return {key: _strip(item, str(key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_strip(item, name) for item in value]
    if isinstance(value, str) and is_binding_field(name):
        letter, sign, rest = value.partition("_@")
        return f"@{rest}" if sign and letter.strip().upper() in LETTERS.values() else value
    return value
