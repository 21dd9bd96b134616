"""Sandbox portal, filter conditions: decides whether a stored record fulfils a condition such as `">=FIELD": value`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

from sandbox.portal.schema import NUMBER_TYPES, Field, Row
from sandbox.portal.store import Span
from sandbox.portal.values import multifield, parse_moment, store_moment, to_flag, to_float

Predicate = Callable[[Row], bool]
Among = tuple[str, frozenset[int]]
"""A field and the numbers of which it must hold one."""
_OPERATORS = ("!=%", "!=", "!%", "!@", "!", ">=", "<=", "><", ">", "<", "@", "=%", "%=", "%", "=")
_NO_LIKE = frozenset({"crm_status"}) | (NUMBER_TYPES - {"integer", "double"})


@dataclass(frozen=True)
class Condition:
    """One condition of a list filter: `">=OPPORTUNITY": 1000` has the operator `>=`, the field OPPORTUNITY and the value 1000."""

    operator: str
    field: Field
    value: Any


def split_key(key: str) -> tuple[str, str]:
    """Return the operator and the field name of a filter key: (`>=`, `ID`) for `>=ID`. A key without an operator gets `=`."""
    for operator in _OPERATORS:
        if key.startswith(operator):
            return operator, key[len(operator) :]
    return "=", key


def everything(_: Row) -> bool:
    """Return True for every record. `query.run` recognizes this function and then takes the page without testing records."""
    return True


def all_of(tests: list[Predicate]) -> Predicate:
    """Return a predicate that is true if all of the given ones are; without any it is true for every record."""
    if not tests:
        return everything
    if len(tests) == 1:
        return tests[0]
    return lambda row: all(test(row) for test in tests)


def test_of(condition: Condition) -> Predicate:
    """Return a predicate that says whether a record fulfils the condition."""
    field, operator, raw = condition.field, condition.operator, condition.value
    if field.type == "crm_multifield":
        wanted = {str(item) for item in (raw if isinstance(raw, list) else [raw])}
        return lambda row: any(m["VALUE"] in wanted for m in multifield(row, field.name))
    if "%" in operator:
        return _like(field, operator, raw)
    values = [_wanted(field, item) for item in _flat(raw)]
    if operator in {"=", "@", "!", "!=", "!@"}:
        return _among(field, set(values), negative=operator.startswith("!"))
    return _ordered(field, operator, values)


def comparable(field: Field, value: Any) -> Any:
    """Return a value in a form in which filter values and stored values of a field can be compared."""
    if field.type in NUMBER_TYPES:
        return to_float(value)
    if field.type == "bool":
        return to_flag(value)
    if field.type in {"char", "boolean"}:
        return to_flag(value) if value not in (None, "") else "N"
    if value is None:
        return ""
    if field.type in {"date", "datetime"} and value != "":
        return _comparable_moment(field, str(value))
    return str(value).casefold()


def _wanted(field: Field, value: Any) -> Any:
    """Return the value of a filter condition in the form in which `comparable` gives stored values.

    For a custom yes/no field, `Y` and `N` match nothing, because clients filter such a field with 1 and 0. This is assumed, not documented.
    """
    if field.type == "boolean" and field.custom and value in ("Y", "N"):
        return ""
    return comparable(field, value)


def _comparable_moment(field: Field, value: str) -> str:
    if field.type == "date" and len(value) == 10 and value[4] == "-":
        return value
    if field.type == "datetime" and len(value) == 20 and value.endswith("Z"):
        return value
    try:
        moment = parse_moment(value)
    except ValueError:
        return ""
    return moment.date().isoformat() if field.type == "date" else store_moment(moment)


def _flat(raw: Any) -> list[Any]:
    if isinstance(raw, dict):
        return list(raw.values())
    return raw if isinstance(raw, list) and raw else [None] if raw == [] else [raw]


def _stored(field: Field, row: Row) -> Any:
    if field.name in {"HAS_PHONE", "HAS_EMAIL"}:
        return "Y" if any(m["TYPE_ID"] == field.name[4:] for m in row.get("FM", ())) else "N"
    return row.get(field.name)


def _among(field: Field, values: set[Any], *, negative: bool) -> Predicate:
    def holds(row: Row) -> bool:
        stored = _stored(field, row)
        items = stored if isinstance(stored, list) else [stored]
        return any(comparable(field, item) in values for item in items) is not negative

    return holds


def _ordered(field: Field, operator: str, values: list[Any]) -> Predicate:
    low, high = values[0], values[-1]
    compare: Callable[[Any], bool] = {
        ">": lambda v: bool(v > low),
        ">=": lambda v: bool(v >= low),
        "<": lambda v: bool(v < low),
        "<=": lambda v: bool(v <= low),
        "><": lambda v: bool(low <= v <= high),
    }[operator]

    def holds(row: Row) -> bool:
        stored = row.get(field.name)
        if stored is None and field.type not in NUMBER_TYPES:
            return False
        return compare(comparable(field, stored))

    return holds


def _like(field: Field, operator: str, raw: Any) -> Predicate:
    negative = operator.startswith("!")
    if field.type in _NO_LIKE:
        return lambda _: negative
    text = str(raw).casefold()
    if "=" in operator:
        pattern = re.compile("".join({"%": ".*", "_": "."}.get(c, re.escape(c)) for c in text), re.DOTALL)
        return lambda row: bool(pattern.fullmatch(str(row.get(field.name) or "").casefold())) is not negative
    return lambda row: any(text in item.casefold() for item in _texts(row.get(field.name))) is not negative


def _texts(stored: Any) -> list[str]:
    return [str(item) for item in stored] if isinstance(stored, list) and stored else [str(stored or "")]


def take_bounds(conditions: list[Condition]) -> tuple[Span, list[Condition]]:
    """Take the conditions on `ID` with >, >=, < and <= out of a filter: return the span of ids they leave and the other conditions.

    A list can so start after the ids that a client has already read, and count a range, without a look at other records.
    """
    above: list[int] = []
    upto: list[int] = []
    rest: list[Condition] = []
    for condition in conditions:
        bounds = {">": above, ">=": above, "<": upto, "<=": upto}.get(condition.operator)
        if condition.field.name != "ID" or bounds is None or isinstance(condition.value, dict | list):
            rest.append(condition)
            continue
        number = to_float(condition.value)
        bounds.append({">": floor(number), ">=": ceil(number) - 1, "<": ceil(number) - 1, "<=": floor(number)}[condition.operator])
    return Span(max(above, default=None), min(upto, default=None)), rest


def find_among(conditions: list[Condition]) -> Among | None:
    """Return the ids that a condition on the id or the owner of records names, by which they can be looked up; None without one."""
    for condition in conditions:
        if condition.field.name in {"ID", "OWNER_ID"} and condition.operator in {"=", "@"}:
            return condition.field.name, frozenset(int(to_float(value)) for value in _flat(condition.value))
    return None
