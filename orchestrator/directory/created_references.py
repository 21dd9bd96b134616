"""Resolves "@created:1", the record of an earlier step of the plan, where a call can hold its number."""

import re
from collections.abc import Mapping
from typing import Final

from orchestrator.directory.answers import Resolution, Resolved, Unresolved
from orchestrator.directory.current_records import is_binding_field, to_binding
from orchestrator.directory.naming import Naming
from orchestrator.directory.value_references import find_field, find_siblings
from orchestrator.domain.outputs import Notice
from state.stored import JsonObject

REFERENCE: Final = re.compile(r"@created:\s*([1-9][0-9]?)", re.ASCII)
_KINDS: Final = frozenset({"lead", "deal", "contact", "company", "task", "quote"})
_OWNER_TYPES: Final = {"1": "lead", "2": "deal", "3": "contact", "4": "company", "7": "quote"}
_TYPE_FIELDS: Final = ("OWNERTYPEID", "ENTITYTYPEID", "ENTITYTYPE", "OWNERTYPE")


def place_created(reference: str, target: str, method: str, params: JsonObject, naming: Naming) -> Resolution:
    """Unresolved if the place is for a record of another kind, or if its kind cannot be told."""
    kind, _, number = target.rpartition(":")
    field = find_field(reference, params)
    if is_binding_field(field) and (binding := to_binding(kind, number)):
        return Resolved(value=binding, target=target, named_by_person=True)
    needed_kind = _find_wanted_kind(reference, field, method, params, naming)
    if needed_kind != kind:
        detail = f"{reference} stands for a new {kind}; the place {field or 'in this call'} needs {needed_kind or 'something else'}"
        return Unresolved(notice=Notice(code="created-misplaced"), detail=detail)
    return Resolved(value=int(number), target=target, named_by_person=True)


def _find_wanted_kind(reference: str, field: str, method: str, params: JsonObject, naming: Naming) -> str:
    field_kind = re.sub(r"_?ids?$", "", field, flags=re.IGNORECASE).lower()
    if field_kind in _KINDS:
        return field_kind
    if field_kind in {"owner", "entity"}:
        return _find_owner_kind(find_siblings(reference, params)) or naming.find_entity(method, params)
    return naming.find_entity(method, params) if field_kind == "" else ""


def _find_owner_kind(siblings: Mapping[str, object]) -> str:
    """By its number, such as 2, or its word, such as "deal"."""
    kinds_by_field = {key.replace("_", "").upper(): str(value).lower() for key, value in siblings.items()}
    value = next((kinds_by_field[key] for key in _TYPE_FIELDS if key in kinds_by_field), "")
    return _OWNER_TYPES.get(value, value if value in _KINDS else "")
