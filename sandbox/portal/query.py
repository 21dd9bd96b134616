"""Sandbox portal, query: filter, order, select and pages of the list methods over rows in memory; no SQL, no HTTP."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from sandbox.portal.conditions import (
    Among,
    Condition,
    Predicate,
    all_of,
    comparable,
    everything,
    find_among,
    split_key,
    take_bounds,
    test_of,
)
from sandbox.portal.errors import PortalError, classic, invalid_argument
from sandbox.portal.rendering import Rows
from sandbox.portal.schema import Field, Row, Schema
from sandbox.portal.store import ALL, Span, Table
from sandbox.portal.values import MULTIFIELDS

PAGE = 50


@dataclass(frozen=True)
class Page:
    """One page of a list answer: the rows, the `total` number of matches, and in `next` the start of the next page (None at the end)."""

    rows: list[Any]
    total: int
    next: int | None = None
    box: str = ""  # `items` wraps the rows: {"items": [...]}
    ready: Rows | None = None  # the rows as rendered JSON, instead of `rows`
    keyed: Row | None = None  # the rows by their ids, instead of `rows`


@dataclass(frozen=True)
class Plan:
    """A parsed list request: a predicate, the order (pairs of field and 1 or -1) and the start of the page.

    `span` bounds the ids, `among` names the records that can be looked up; `test` says the same as `among` and more.
    """

    test: Predicate
    order: tuple[tuple[Field, int], ...]
    start: int
    span: Span = ALL
    among: Among | None = None

    def narrow(self, test: Predicate) -> Plan:
        """Return the plan for those of its records that pass a further test."""
        return replace(self, test=all_of([test] if self.test is everything else [self.test, test]))


def want_array(params: Row, name: str) -> Any:
    """Return a parameter that must be a list or a map. A missing or empty one gives an empty map. Raises PortalError for a scalar."""
    value = params.get(name)
    if not value and not isinstance(value, int):
        return {}
    if not isinstance(value, dict | list):
        raise classic(f"Parameter '{name}' must be array.")
    return value


def plan_classic(schema: Schema, params: Row) -> Plan:
    """Return the parsed request of an old list method (`crm.deal.list` and the like). Unknown names in filter and order are ignored."""
    conditions = [
        Condition(operator, schema.fields[name.upper()], value)
        for key, value in _items(want_array(params, "filter"))
        for operator, name in (split_key(key),)
        if name.upper() in schema.fields
    ]
    order = tuple(
        (schema.fields[name.upper()], -1 if str(way).upper() == "DESC" else 1)
        for name, way in _items(want_array(params, "order"))
        if name.upper() in schema.fields
    )
    span, rest = take_bounds(conditions)
    return Plan(all_of([test_of(c) for c in rest]), order, start_of(params), span, find_among(rest))


def plan_universal(schema: Schema, params: Row) -> Plan:
    """Return the parsed request of crm.item.list. Unknown field names, and sort directions other than ASC and DESC, are refused."""
    raw = want_array(params, "filter")
    plain = _universal_conditions(schema, raw)
    order = []
    for name, way in _items(want_array(params, "order")):
        field = _universal_field(schema, name)
        if field is None:
            raise invalid_argument(f"Invalid order: field '{name}' is not allowed in order")
        if str(way).upper() not in {"ASC", "DESC"}:
            raise invalid_argument(f"Invalid order: direction '{way}' is not allowed")
        order.append((field, -1 if str(way).upper() == "DESC" else 1))
    if not _flat_filter(raw):
        return Plan(_universal_test(schema, raw), tuple(order), start_of(params))
    span, rest = take_bounds(plain)
    return Plan(all_of([test_of(c) for c in rest]), tuple(order), start_of(params), span, find_among(rest))


def run(table: Table, plan: Plan) -> Page:
    """Return one page of at most 50 matching rows. With the start -1 nothing is counted: `total` is 0 and there is no next page."""
    if not plan.order or (len(plan.order) == 1 and plan.order[0][0].name == "ID"):
        step = plan.order[0][1] if plan.order else 1
        if plan.test is everything:
            return _cut(table, plan, step)
        found: Iterable[Row] = filter(plan.test, _walk(table, plan, step))
        if plan.start < 0:
            return Page([row for _, row in zip(range(PAGE), found, strict=False)], 0)  # the range first: it must not look for a 51st
        return page(list(found), plan.start)
    rows = [row for row in _walk(table, plan, 1) if plan.test(row)]
    for field, step in reversed(plan.order):
        rows.sort(key=lambda row, f=field: _sort_key(f, row), reverse=step < 0)  # type: ignore[misc]
    return page(rows, plan.start)


def _walk(table: Table, plan: Plan, step: int) -> Iterable[Row]:
    if plan.among is None:
        return table.walk(plan.span, step=step)
    name, numbers = plan.among
    ids = sorted(numbers & table.rows.keys()) if name == "ID" else table.find(name, numbers)
    low, high = plan.span.above, plan.span.upto
    return (table.rows[number] for number in ids[::step] if (low is None or number > low) and (high is None or number <= high))


def _cut(table: Table, plan: Plan, step: int) -> Page:
    """Return one page of a list that has no filter but a lower bound of the id and is ordered by id; no record is tested.

    `step` is 1 for ascending and -1 for descending ids.
    """
    if plan.start < 0:
        return Page(table.cut(0, PAGE, plan.span, step=step), 0)
    following, total = plan.start + PAGE, table.count(plan.span)
    return Page(table.cut(plan.start, PAGE, plan.span, step=step), total, following if following < total else None)


def page(rows: list[Row], start: int) -> Page:
    """Return the page that begins at position `start` of all rows; -1 gives the first page without counting."""
    if start < 0:
        return Page(rows[:PAGE], 0)
    following = start + PAGE
    return Page(rows[start:following], len(rows), following if following < len(rows) else None)


def start_of(params: Row) -> int:
    """Return the parameter `start` as a number: 0 for an invalid value, -1 for a negative one."""
    try:
        return max(int(params.get("start") or 0), -1)
    except (TypeError, ValueError):
        return 0


def _sort_key(field: Field, row: Row) -> tuple[bool, Any]:
    value = row.get(field.name)
    return (value is not None, comparable(field, value) if value is not None else 0)


def _items(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, list):
        return [(str(index), item) for index, item in enumerate(value)]
    return [(str(key), item) for key, item in value.items()]


def _flat_filter(raw: Any) -> bool:
    """Return whether a filter of `crm.item.list` has only conditions that must all hold, without nested groups and without OR."""
    return isinstance(raw, dict) and not any(key == "logic" or str(key).isdigit() for key in raw)


def _universal_field(schema: Schema, name: str) -> Field | None:
    return schema.by_camel.get(name) or (schema.fields.get(name) if name.startswith("UF_") else None)


def _universal_conditions(schema: Schema, raw: Any) -> list[Condition]:
    """Return the conditions at the top level of a filter, without its nested groups. Raises INVALID_ARG_VALUE for an unknown field."""
    found = []
    for key, value in _items(raw):
        if key == "logic" or key.isdigit():
            continue
        operator, name = split_key(key)
        field = _universal_field(schema, name)
        if field is None:
            raise invalid_argument(f"Invalid filter: field '{name}' is not allowed in filter")
        found.append(Condition(operator, field, value))
    return found


def _universal_test(schema: Schema, raw: Any) -> Predicate:
    tests = [test_of(c) for c in _universal_conditions(schema, raw)]
    tests += [_universal_test(schema, value) for key, value in _items(raw) if key.isdigit() and isinstance(value, dict | list)]
    if isinstance(raw, dict) and str(raw.get("logic", "")).upper() == "OR":
        return lambda row: any(test(row) for test in tests)
    return all_of(tests)


def classic_names(schema: Schema, params: Row) -> list[str]:
    """Return the names of the fields that an old list method shows.

    `*` and `UF_*` in `select` are expanded, unknown names are dropped. Without `select` these are all fields that are neither custom nor
    multiple.
    """
    wanted = [str(name).upper() for _, name in _items(want_array(params, "select"))]
    if not wanted:
        return list(schema.plain)
    names = dict.fromkeys(["ID"])
    for name in wanted:
        if name == "*":
            names.update(dict.fromkeys(schema.plain))
        elif name == "UF_*":
            names.update(dict.fromkeys(f.name for f in schema.fields.values() if f.custom))
        elif name in schema.fields and (not schema.fields[name].multiple or schema.fields[name].custom or name in MULTIFIELDS):
            names[name] = None
    return list(names)


def universal_names(schema: Schema, params: Row) -> tuple[list[str], bool]:
    """Return the names of the fields that `crm.item.list` shows, and whether phones and e-mails are shown (only for `*` in `select`)."""
    wanted = [str(name) for _, name in _items(want_array(params, "select"))]
    if not wanted:
        return [f.name for f in schema.fields.values()], False
    names = dict.fromkeys(["ID"])
    for name in wanted:
        if name in {"*", "UF_*", "uf*"}:
            names.update(dict.fromkeys(f.name for f in schema.fields.values() if name == "*" or f.custom))
        elif field := _universal_field(schema, name):
            names[field.name] = None
    return list(names), "*" in wanted


def as_array_error(name: str) -> PortalError:
    """Build the error of the old methods for a scalar in place of an array."""
    return classic(f"Parameter '{name}' must be array.")
