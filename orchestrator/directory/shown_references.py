"""Resolves "@shown:3" to a row of the list shown last. The person named it only if their own message does."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from bitrix.catalogue.names import to_field_key
from orchestrator.directory.answers import Resolution, Resolved, Unresolved
from orchestrator.directory.current_records import LETTERS, is_binding_field
from orchestrator.directory.naming import Naming
from orchestrator.directory.reference_data import QUOTE, to_own_kind
from orchestrator.domain.address import parse_target
from orchestrator.domain.outputs import Notice
from orchestrator.language.positions import names_row
from state.model.session_state import SessionState
from state.stored import JsonObject

_OF_CALL: Final = frozenset({"", "id", "ownerid", "entityid"})
"""Normalized fields with the id of the call's own record."""
_KINDS: Final = ("deal", "lead", "contact", "company", "task", "quote")
_PERSON: Final = re.compile(r"assignedby|responsible|created?by|modifyby|movedby|observers?|accomplices|auditors|author|user", re.ASCII)
_IDS: Final = re.compile(r"ids?$", re.ASCII)
_OPERATORS: Final = "<>=!@%*?~"


@dataclass(frozen=True, slots=True)
class ShownPlace:
    method: str
    params: JsonObject
    state: SessionState
    text: str


def resolve_shown(words: str, reference: str, place: ShownPlace, naming: Naming) -> Resolution:
    """Unresolved if there is no such row or its record does not fit."""
    numbered_list = place.state.numbered_list
    if numbered_list is None or not numbered_list.rows:
        return Unresolved(notice=Notice(code="no-list-shown"), detail="no list was shown in this conversation; name the record")
    number = int(words) if words.isascii() and words.isdecimal() and len(words) <= _LONGEST else 0
    count = numbered_list.first + len(numbered_list.rows) - 1
    if not numbered_list.first <= number <= count:
        notice = Notice(code="no-such-row", args={"number": words[:20], "count": count})
        return Unresolved(
            notice=notice, detail=f"the list shown last has the rows {numbered_list.first} to {count}, and no row {words[:20]!r}"
        )
    row = numbered_list.rows[number - numbered_list.first]
    if not row.record:
        return Unresolved(notice=Notice(code="row-no-record", args={"number": number}), detail=f"row {number} stands for no record")
    kind, record_id = parse_target(row.record)
    fields = set(_list_fields(reference, place.params))
    ties = {field for field in fields if is_binding_field(field)} if kind in LETTERS else set()
    needed_kinds = {_find_kind(field, place, naming) for field in fields - ties}
    if needed_kinds - {_to_one_kind(kind)}:
        needs = ", ".join(sorted(one or "an unknown kind of record" for one in needed_kinds))
        notice = Notice(code="row-other-kind", args={"number": number, "label": row.label})
        return Unresolved(notice=notice, detail=f"row {number} of the list shown last is {row.record}, and here {needs} is needed")
    is_named = names_row(place.text, number, rows=count, is_known=row.record in place.state.trusted)
    return Resolved(value=record_id, label=row.label, target=row.record, named_by_person=is_named)


_LONGEST: Final = 3


def _list_fields(reference: str, value: object, name: str = "") -> Iterator[str]:
    """At any depth."""
    if value == reference:
        yield name
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _list_fields(reference, item, str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _list_fields(reference, item, name)


def _find_kind(field: str, place: ShownPlace, naming: Naming) -> str:
    """By its name, or that of the call; "" if neither is known."""
    key = to_field_key(field.lstrip(_OPERATORS))
    if key in _OF_CALL:
        return _to_one_kind(naming.find_entity(place.method, place.params))
    kind = _IDS.sub("", key)
    return _to_one_kind(kind) if kind in _KINDS else "user" if _PERSON.fullmatch(kind) else ""


def _to_one_kind(kind: str) -> str:
    return QUOTE if kind == "quote" else to_own_kind(kind)
