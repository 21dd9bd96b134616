"""Sandbox portal, REST v3: parses `select`, `filter`, `order` and `pagination` of the list methods."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

import orjson

from sandbox.portal.errors import V3Error, invalid_request
from sandbox.portal.schema import Row

_LIMIT, _MOST = 50, 1000
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda stored, wanted: bool(stored == wanted),
    "!=": lambda stored, wanted: bool(stored != wanted),
    ">": lambda stored, wanted: bool(stored > wanted),
    ">=": lambda stored, wanted: bool(stored >= wanted),
    "<": lambda stored, wanted: bool(stored < wanted),
    "<=": lambda stored, wanted: bool(stored <= wanted),
    "in": lambda stored, wanted: stored in wanted,
    "between": lambda stored, wanted: bool(wanted[0] <= stored <= wanted[1]),
}
Test = Callable[[Row], bool]


def unknown_property(name: str, entity: str) -> V3Error:
    """Build the error for a field that the object does not have."""
    return V3Error(400, "UNKNOWNDTOPROPERTYEXCEPTION", f"Unknown field `{name}` for entity `{entity}`")


def select_of(params: Row) -> list[str] | None:
    """Return the field names in `select`, or None if there are none. Raises V3Error if it is not a list of names."""
    select = params.get("select")
    if select is None or select == []:
        return None
    if not isinstance(select, list) or not all(isinstance(name, str) for name in select):
        raise V3Error(400, "INVALIDSELECTEXCEPTION", f"Unable to recognize the select parameter `{_text(select)}`")
    return select


def filter_of(params: Row, known: AbstractSet[str], filterable: AbstractSet[str], entity: str) -> Test:
    """Return a predicate for a filter: a list of conditions `[field, operator, value]` and groups. Raises V3Error for a wrong filter.

    All conditions must hold; a group with the logic `or` needs only one. A field must be in `known` and in `filterable`. `entity` is the
    name of the object type in errors.
    """
    conditions = params.get("filter") or []
    if not isinstance(conditions, list):
        raise _bad_filter(conditions)
    tests = [_condition(item, known, filterable, entity) for item in conditions]
    return lambda row: all(test(row) for test in tests)


def order_of(params: Row, sortable: AbstractSet[str]) -> list[tuple[str, int]]:
    """Return the order as pairs of field name and 1 (ascending) or -1. Raises V3Error for an invalid name or direction."""
    order = params.get("order") or {}
    if not isinstance(order, dict):
        raise _bad_order(order)
    steps = []
    for name, way in order.items():
        if name not in sortable or str(way).upper() not in {"ASC", "DESC"}:
            raise _bad_order({name: way})
        steps.append((name, 1 if str(way).upper() == "ASC" else -1))
    return steps


def page_of(params: Row) -> tuple[int, int]:
    """Return the start and length of the page; `page` with its `limit` wins over `offset`, and at most 1000 rows are given."""
    given = params.get("pagination") or {}
    if not isinstance(given, dict) or not all(isinstance(v, int) and not isinstance(v, bool) and v >= 0 for v in given.values()):
        raise _bad_page(given)
    limit = min(given.get("limit", _LIMIT), _MOST)
    if limit == 0:
        raise _bad_page(given)
    page = given.get("page", 0)
    return ((page - 1) * limit if page else given.get("offset", 0)), limit


def _condition(item: Any, known: AbstractSet[str], filterable: AbstractSet[str], entity: str) -> Test:
    if isinstance(item, dict):
        return _group(item, known, filterable, entity)
    if not isinstance(item, list) or len(item) not in {2, 3}:
        raise _bad_filter(item)
    name, value = item[0], item[-1]
    operator = item[1] if len(item) == 3 else "in" if isinstance(value, list) else "="
    if name not in known:
        raise unknown_property(str(name), entity)
    if name not in filterable:
        raise invalid_request({name: f"In DTO `{entity}`, the field `{name}` requires the presence of the `Filterable` attribute"})
    if operator not in _COMPARE:
        raise V3Error(400, "UNKNOWNFILTEROPERATOREXCEPTION", f"Unknown filter operator `{operator}`")
    wanted = value if isinstance(value, list) else [value]
    many = operator in {"in", "between"}
    if many != isinstance(value, list) or (operator == "between" and len(wanted) != 2):
        raise _bad_filter(item)
    if not all(isinstance(v, int) and not isinstance(v, bool) for v in wanted):
        raise invalid_request({name: f"Field `{name}` requires data type `int` for this request"})
    compare = _COMPARE[operator]
    return lambda row: compare(row[name], value)


def _group(item: Row, known: AbstractSet[str], filterable: AbstractSet[str], entity: str) -> Test:
    conditions = item.get("conditions")
    logic = str(item.get("logic", "and")).lower()
    if not isinstance(conditions, list) or logic not in {"and", "or"}:
        raise _bad_filter(item)
    tests = [_condition(inner, known, filterable, entity) for inner in conditions]
    if logic == "or":
        return lambda row: any(test(row) for test in tests)
    return lambda row: all(test(row) for test in tests)


def _bad_filter(given: Any) -> V3Error:
    return V3Error(400, "INVALIDFILTEREXCEPTION", f"Unable to recognize the filter parameter `{_text(given)}`")


def _bad_order(given: Any) -> V3Error:
    return V3Error(400, "INVALIDORDEREXCEPTION", f"Unable to recognize the sorting parameter `{_text(given)}`")


def _bad_page(given: Any) -> V3Error:
    return V3Error(400, "INVALIDPAGINATIONEXCEPTION", f"Unable to recognize the pagination parameter `{_text(given)}`")


def _text(value: Any) -> str:
    return orjson.dumps(value, default=str).decode()
