"""Applies approved list writes of the plan to the card's list: if the record has the result, nobody else changed it. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from bitrix.catalogue.catalogue import ListKind
from orchestrator.gate.call import fields, list_comparison, replaced_lists
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.replaced_lists import Rows
from state.stored import JsonObject

_NAMES: Final[Mapping[ListKind, frozenset[str]]] = {
    "products": frozenset({"rows", "productrows"}),
    "contacts": frozenset({"items"}),
    "companies": frozenset({"items"}),
    "people": frozenset(),
}
"""In a before-image, by their keys; methods of both families may write one list."""
_FOLLOWING: Final[Mapping[ListKind, tuple[str, str]]] = {
    "contacts": ("CONTACT_ID", "CONTACT_IDS"),
    "companies": ("COMPANY_ID", "COMPANY_IDS"),
}


@dataclass(frozen=True, kw_only=True)
class ListWrite:
    """`row` is a changed single product row as it was before."""

    call: Call
    row: JsonObject | None = None

    @property
    def kind(self) -> ListKind:
        return "products" if self.row is not None else next(iter(self.call.spec.replaces.values()))

    @property
    def new_row(self) -> JsonObject:
        return self.call.written_fields if self.call.spec.verb == "update" else {}


def select_list_values(writes: Sequence[ListWrite], old: JsonObject, now: JsonObject) -> dict[str, object]:
    """Of `now`, those that are the result of the writes."""
    list_values: dict[str, object] = {}
    for kind in dict.fromkeys(write.kind for write in writes):
        own = [write for write in writes if write.kind == kind]
        list_values.update(_select_of_kind(own, kind, old, now))
    return list_values


def _select_of_kind(writes: Sequence[ListWrite], kind: ListKind, old: JsonObject, now: JsonObject) -> Iterator[tuple[str, object]]:
    name = next((name for name in old if fields.to_field_key(name) in _NAMES[kind] and isinstance(now.get(name), list)), "")
    expected = _apply(writes, old.get(name) if name else None)
    if name and (expected is None or not list_comparison.is_same_list(expected, now[name], kind)):
        return
    if name:
        yield name, now[name]
    if kind == "products":
        yield from _select_sum(writes, expected, old, now)
    elif expected is not None:
        yield from _select_links(expected, kind, now)


def _apply(writes: Sequence[ListWrite], card_list: object) -> Rows | None:
    rows: Rows | None = [row for row in card_list if isinstance(row, Mapping)] if isinstance(card_list, list) else None
    for write in writes:
        if write.row is not None:
            rows = None if rows is None else list_comparison.change_row(rows, write.row, write.new_row)
            continue
        name = next(iter(write.call.spec.replaces))
        change = replaced_lists.find_list_change(write.call, {} if rows is None else {name: list(rows)})
        rows = None if change is None or (change.is_partial and rows is None) else change.new
    return rows


def _select_sum(writes: Sequence[ListWrite], expected: Rows | None, old: JsonObject, now: JsonObject) -> Iterator[tuple[str, object]]:
    """The total of `expected`, or without it the old sum and the differences."""
    name = next((name for name in now if fields.to_field_key(name) == "opportunity" and name in old), "")
    total = replaced_lists.sum_rows(expected) if expected is not None else _add_to_sum(writes, old.get(name))
    if name and total is not None and fields.parse_number(now[name]) == total:
        yield name, now[name]


def _add_to_sum(writes: Sequence[ListWrite], sum_before: object) -> Decimal | None:
    total = fields.parse_number(sum_before)
    for write in writes:
        added = _find_difference(write)
        total = None if total is None or added is None else total + added
    return total


def _find_difference(write: ListWrite) -> Decimal | None:
    if write.row is None:
        change = replaced_lists.find_list_change(write.call, {})
        return replaced_lists.sum_rows(change.new) if change is not None else None
    before, left = (
        replaced_lists.sum_rows(rows) for rows in ([write.row], list_comparison.change_row([write.row], write.row, write.new_row))
    )
    return None if before is None or left is None else left - before


def _select_links(expected: Rows, kind: ListKind, now: JsonObject) -> Iterator[tuple[str, object]]:
    primary, every = _FOLLOWING[kind]
    numbers = [str(replaced_lists.find_link(row, kind)) for row in expected]
    first = next((number for row, number in zip(expected, numbers, strict=True) if replaced_lists.is_primary(row)), "0")
    for name, value in now.items():
        key = fields.to_field_key(name)
        is_primary_link = key == fields.to_field_key(primary) and str(value or 0) == first
        if is_primary_link or (key == fields.to_field_key(every) and fields.parse_ids(value) == frozenset(numbers)):
            yield name, value
