"""Notices from the rows that the portal left out a condition of a filter: it then answers with all records, and a total of those. Pure.

Only conditions whose meaning is certain are compared: bounds of times and numbers, and people, stages, funnels and flags.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from orchestrator.directory.date_places import split_operator
from orchestrator.gate.call import fields
from orchestrator.gate.call.critical_fields import to_field_code
from orchestrator.gate.call.effect import Call
from state.stored import JsonObject

_CODES: Final = frozenset({"stage", "category", "user"})
_BOUNDS: Final = frozenset({">", ">=", "<", "<="})
_EQUAL: Final = frozenset({"", "=", "@"})
_FLAGS: Final = {"Y": True, "1": True, "TRUE": True, "N": False, "0": False, "FALSE": False}
_ZONES: Final = timedelta(days=2)
"""A day is another moment in another zone, and the bound of a day may be its beginning or its end."""


def find_ignored_field(call: Call, rows: object) -> str:
    """The field of a condition that a row contradicts; "" if all fit as far as can be said."""
    if call.spec.verb != "list" or not call.reads_only or not isinstance(rows, Sequence):
        return ""
    records = [row for row in rows if isinstance(row, Mapping)]
    for operator, name, condition in _list_conditions(call.params.get("filter")):
        if any(_contradicts(call, operator, name, condition, row) for row in records):
            return to_field_code(call, name)
    return ""


def _list_conditions(conditions: object) -> Iterator[tuple[str, str, object]]:
    """Those that all must hold; groups are left out."""
    if not isinstance(conditions, Mapping) or any(str(key).lower() == "logic" for key in conditions):
        return
    for key, condition in conditions.items():
        operator, name = split_operator(str(key))
        if operator in _BOUNDS | _EQUAL and condition not in (None, "", [], {}) and not isinstance(condition, Mapping):
            yield operator, name, condition


def _contradicts(call: Call, operator: str, name: str, condition: object, row: JsonObject) -> bool:
    info = fields.find_field_info(call.entities.get(call.entity), name)
    value = fields.find_value(row, name, call.entity) if fields.has_field(row, name, call.entity) else None
    if info is None or isinstance(value, list | Mapping) or fields.is_blank(value):
        return False
    if operator in _BOUNDS:
        return _is_beyond(operator, info.kind, condition, value)
    wanted = condition if isinstance(condition, list) else [condition]
    if info.kind == "flag":
        return all(_is_other_flag(one, value) for one in wanted)
    return info.kind in _CODES and all(_is_other_code(one, value) for one in wanted)


def _is_beyond(operator: str, kind: str, condition: object, value: object) -> bool:
    if kind in {"money", "number"}:
        bound, number = fields.parse_number(condition), fields.parse_number(value)
        return bound is not None and number is not None and (number < bound if operator[0] == ">" else number > bound)
    if kind not in {"date", "datetime"}:
        return False
    limit, moment = _parse_moment(condition), _parse_moment(value)
    return limit is not None and moment is not None and (moment < limit - _ZONES if operator[0] == ">" else moment > limit + _ZONES)


def _parse_moment(value: object) -> datetime | None:
    """Without its zone."""
    try:
        return datetime.fromisoformat(str(value).strip()).replace(tzinfo=None)
    except ValueError:
        return None


def _is_other_flag(condition: object, value: object) -> bool:
    wanted, flag = _FLAGS.get(str(condition).upper()), _FLAGS.get(str(value).upper())
    return wanted is not None and flag is not None and wanted != flag


def _is_other_code(condition: object, value: object) -> bool:
    """Only plain codes and numbers: 0 and negative ones may have a meaning of their own in a filter."""
    wanted, code = str(condition).strip(), str(value).strip()
    is_plain = wanted.isascii() and wanted.replace("_", "").replace(":", "").isalnum() and wanted != "0"
    return is_plain and wanted.upper() != code.upper()
