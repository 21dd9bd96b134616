"""Describes lists that a call replaces as a whole, such as the product rows of a deal or the contacts linked to it. Pure.

The present list is read before the call is checked and stands in the record under the name of the call's parameter, as if it were a field
of the record. So it is part of the before-image like any other value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final

from bitrix.catalogue.accepted_fields import RESERVED_KEYS, WRITABLE_KEYS
from bitrix.catalogue.catalogue import Catalogue, ListKind
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Call, Target
from orchestrator.gate.call.targets import as_id, get_at_path
from state.stored import JsonObject

Rows = Sequence[JsonObject]

LINK_KEYS: Final = {"contacts": "contactid", "companies": "companyid"}
PRIMARY_KEY: Final = "isprimary"
_KEPT: Final[Mapping[ListKind, frozenset[str]]] = {
    "people": frozenset(),
    "products": WRITABLE_KEYS | RESERVED_KEYS,
    "contacts": frozenset({"contactid", PRIMARY_KEY, "sort", "roleid"}),
    "companies": frozenset({"companyid", PRIMARY_KEY, "sort", "roleid"}),
}
"""The fields of an element that are kept of what the portal returns, by their keys; numbers of rows change with every write."""


@dataclass(frozen=True, kw_only=True)
class ListRead:
    """The call that reads the list which another call replaces, and where this list is kept: under `name` in the record `target`."""

    target: Target
    name: str
    kind: ListKind
    method: str
    params: JsonObject


@dataclass(frozen=True, kw_only=True)
class ListChange:
    """What a call does to a list of a record. `old` is None if the present list was not read."""

    name: str
    kind: ListKind
    old: Rows | None
    new: Rows
    is_partial: bool = False
    """Whether the call adds or removes one element and does not write the others; `new` is this element if `old` is None."""


def find_list(call: Call) -> tuple[str, ListKind] | None:
    """Return the name and the kind of the list that `call` replaces or changes; None for other calls."""
    return next(iter(call.spec.replaces.items())) if call.spec.replaces else None


def build_list_reads(call: Call, catalogue: Catalogue) -> Iterator[ListRead]:
    """Yield, for each command of `call` that replaces a list of an existing record, the call that reads this list."""
    for leaf in call.leaves:
        found = find_list(leaf)
        reader = catalogue.find(leaf.spec.before) if found is not None else None
        if found is None or found[1] == "people" or reader is None or not leaf.targets:
            continue
        params: dict[str, object] = {}
        _set_at_path(params, reader.target[0], leaf.targets[0][1])
        if reader.target_entity.startswith("@"):
            _set_at_path(params, reader.target_entity[1:], get_at_path(leaf.params, leaf.spec.target_entity[1:]))
        yield ListRead(target=leaf.targets[0], name=found[0], kind=found[1], method=reader.name, params=params)


def _set_at_path(params: dict[str, object], path: str, value: object) -> None:
    head, _, rest = path.partition(".")
    if not rest:
        params[head] = value
        return
    inner = params.setdefault(head, {})
    if isinstance(inner, dict):
        _set_at_path(inner, rest, value)


def to_stored_rows(rows: Sequence[object], kind: ListKind) -> list[dict[str, object]]:
    """Return the elements of a list as the before-image keeps them: only with the fields that mean something for people."""
    kept = _KEPT[kind]
    found = [{name: value for name, value in row.items() if to_key(name) in kept} for row in rows if isinstance(row, Mapping)]
    return found if kind == "products" else sorted(found, key=lambda row: not is_primary(row))


def find_list_change(call: Call, record: JsonObject | None) -> ListChange | None:
    """Return the old and the new list of the record whose list `call` replaces or changes by one element; None if there is no such list.

    The result is also None if the list cannot be parsed, and for lists of people (guests). `record` is the record with its present list. If
    that list was not read, `old` is None; for a record that an earlier command of the same batch creates, `old` is empty.
    """
    found = find_list(call)
    if found is None or found[1] == "people":
        return None
    name, kind = found
    held = record.get(name) if record is not None else None
    old = [row for row in held if isinstance(row, Mapping)] if isinstance(held, list) else None
    if old is None and call.target_created:
        old = []
    if call.spec.changes_one:
        one = find_written_element(call)
        return ListChange(name=name, kind=kind, old=old, new=[one] if old is None else _change_one(old, one, call, kind), is_partial=True)
    rows = call.params.get(name, [])
    new = list(rows.values()) if isinstance(rows, Mapping) else rows
    if not isinstance(new, list) or not all(isinstance(row, Mapping) for row in new):
        return None
    return ListChange(name=name, kind=kind, old=old, new=_mark_primary(new, kind))


def find_written_element(call: Call) -> JsonObject:
    """Return the element that a call adds to a list or removes from it, as the call writes it."""
    place = call.params.get(call.spec.fields_at)
    return {key: value for key, value in place.items() if to_key(key) not in {"ownerid", "ownertype"}} if isinstance(place, Mapping) else {}


def _change_one(old: Rows, one: JsonObject, call: Call, kind: ListKind) -> list[JsonObject]:
    """Return the list `old` as it is after a call that adds or removes the element `one`."""
    if kind == "products":
        return [*old, one]
    link = LINK_KEYS[kind]
    number = read_text(one, link)
    others = [_drop(row, "sort") for row in old if read_text(row, link) != number]  # the call leaves the order to the portal
    if call.spec.changes_one == "remove":
        return _mark_primary(others, kind)
    held = next((row for row in old if read_text(row, link) == number), None)
    if held is not None and not is_primary(one):
        return list(old)
    if is_primary(one):
        others = [{**row, **{name: "N" for name in row if to_key(name) == PRIMARY_KEY}} for row in others]
    return _mark_primary([*others, one], kind)


def _mark_primary(rows: Rows, kind: ListKind) -> list[JsonObject]:
    """Return linked contacts or companies with one of them marked as the primary one, the first if the call marks none."""
    if kind == "products" or not rows or any(is_primary(row) for row in rows):
        return list(rows)
    return [{**_drop(rows[0], PRIMARY_KEY), "IS_PRIMARY": "Y"}, *rows[1:]]


def _drop(row: JsonObject, key: str) -> JsonObject:
    return {name: value for name, value in row.items() if to_key(name) != key}


def is_known_key(key: str, kind: ListKind) -> bool:
    """Return whether the portal itself returns a field with this key for the elements of such a list."""
    return key in _KEPT[kind]


def is_primary(row: JsonObject) -> bool:
    """Return whether a linked contact or company is the primary one."""
    return next((value for name, value in row.items() if to_key(name) == PRIMARY_KEY), "") in ("Y", "1", True)


def find_link(row: JsonObject, kind: ListKind) -> object:
    """Return the id of the contact or company in `row`, one element of a list of links, unconverted; None if it holds none."""
    return next((value for name, value in row.items() if to_key(name) == LINK_KEYS[kind]), None)


def sum_rows(rows: Rows) -> Decimal | None:
    """Return the total of product rows, price by quantity; None if a price or quantity cannot be read. The default quantity is 1."""
    total = Decimal(0)
    for row in rows:
        price = read_number(row, "price")
        quantity = read_number(row, "quantity") if has_value(row, "quantity") else Decimal(1)
        if price is None or quantity is None:
            return None
        total += price * quantity
    return total


def sets_sum(record: JsonObject | None) -> bool:
    """Return whether the portal computes the record's sum from its product rows, so that new rows change it."""
    return record is not None and fields.find_value(record, "IS_MANUAL_OPPORTUNITY") not in ("Y", "1", True)


def find_row_value(row: JsonObject, key: str) -> object:
    """Return the value of an element's field by its key, such as "productname", in either spelling of the portal; None if it has none."""
    return next((value for name, value in row.items() if to_key(name) == key), None)


def has_value(row: JsonObject, key: str) -> bool:
    """Return whether the element has a value that is not empty in the field with this key."""
    return find_row_value(row, key) not in (None, "")


def is_restorable(rows: Rows) -> bool:
    """Return whether writing the list `rows` to the portal would restore exactly this list.

    Reserved goods do not come back. An empty list counts as not restorable: it is not documented whether writing it unlinks everything, and
    what sum the portal gives to a record whose product rows are gone.
    """
    return bool(rows) and not any(read_number(row, key) != 0 and has_value(row, key) for row in rows for key in RESERVED_KEYS)


def to_written_rows(rows: Rows) -> list[dict[str, object]]:
    """Return the elements of a before-image in the form in which the portal takes them back."""
    return [{name: value for name, value in row.items() if to_key(name) not in RESERVED_KEYS and value is not None} for row in rows]


def advance_record(call: Call, record: JsonObject) -> JsonObject:
    """Return the record as it is after `call`: with the new list, and for product rows with the sum that the portal computes from them."""
    change = find_list_change(call, record)
    if change is None or change.old is None:
        return record
    total = sum_rows(change.new)
    summed = change.kind == "products" and sets_sum(record) and total is not None and "OPPORTUNITY" in record
    return {**record, change.name: list(change.new), **({"OPPORTUNITY": str(total)} if summed else {})}


@lru_cache(maxsize=1024)
def to_key(name: str) -> str:
    """Return the key of a field, which is the same in every spelling; remembered, since lists repeat their fields."""
    return fields.to_field_key(name)


def read_text(row: JsonObject, key: str) -> str:
    """Return the value of the field `key` as text, an id in one spelling; "" if it is empty or 0."""
    value = find_row_value(row, key)
    number = as_id(value)
    return str(number) if number is not None else "" if value in (None, 0, "0") else str(value)


def read_number(row: JsonObject, key: str) -> Decimal | None:
    """Return the number in the element's field `key`; None if it holds none."""
    return fields.parse_number(find_row_value(row, key))
