"""Tells which changes of a record come from list writes that a person approved as steps of the same plan. Pure.

A list write is a call that replaces or changes a list of a record, such as its product rows or linked contacts, or a single product row of
it. The list writes are applied one after the other to the list on the card. If the record now has exactly the resulting list, and the sum
and primary contact that follow from it, nobody else changed these.
"""

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
"""The names under which a before-image holds a list, by their keys; methods of both families may write the same list."""
_FOLLOWING: Final[Mapping[ListKind, tuple[str, str]]] = {
    "contacts": ("CONTACT_ID", "CONTACT_IDS"),
    "companies": ("COMPANY_ID", "COMPANY_IDS"),
}
"""The fields of a record that follow from its links: the primary one and all of them."""


@dataclass(frozen=True, kw_only=True)
class ListWrite:
    """A call that changed a list of a record; for a change of a single product row, `row` is this row as it was before."""

    call: Call
    row: JsonObject | None = None

    @property
    def kind(self) -> ListKind:
        """The kind of the list."""
        return "products" if self.row is not None else next(iter(self.call.spec.replaces.values()))

    @property
    def new_row(self) -> JsonObject:
        """The fields that the call writes to a single product row."""
        return self.call.written_fields if self.call.spec.verb == "update" else {}


def select_list_values(writes: Sequence[ListWrite], old: JsonObject, now: JsonObject) -> dict[str, object]:
    """Return the fields of the present record `now` whose values are the result of the list writes `writes`."""
    found: dict[str, object] = {}
    for kind in dict.fromkeys(write.kind for write in writes):
        own = [write for write in writes if write.kind == kind]
        found.update(_select_of_kind(own, kind, old, now))
    return found


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


def _apply(writes: Sequence[ListWrite], held: object) -> Rows | None:
    """Return the list that `writes` make of `held`, the list on the card; None if it was not read, or a call cannot be parsed."""
    rows: Rows | None = [row for row in held if isinstance(row, Mapping)] if isinstance(held, list) else None
    for write in writes:
        if write.row is not None:
            rows = None if rows is None else list_comparison.change_row(rows, write.row, write.new_row)
            continue
        name = next(iter(write.call.spec.replaces))
        change = replaced_lists.find_list_change(write.call, {} if rows is None else {name: list(rows)})
        rows = None if change is None or (change.is_partial and rows is None) else change.new
    return rows


def _select_sum(writes: Sequence[ListWrite], expected: Rows | None, old: JsonObject, now: JsonObject) -> Iterator[tuple[str, object]]:
    """Yield the record's present sum (field name, value) if it is exactly the result of `writes`, calls that write product rows.

    That is the total of `expected`, the product rows after the calls. If these rows are not known (None), it is the sum in `old` plus the
    differences that the calls make.
    """
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
    """Return by how much the call changes the total of the product rows; None if that is not known."""
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
        one = key == fields.to_field_key(primary) and str(value or 0) == first
        if one or (key == fields.to_field_key(every) and fields.parse_ids(value) == frozenset(numbers)):
            yield name, value
