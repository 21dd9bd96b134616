"""The present list is read before the check and stands in the record under the name of the call's parameter. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Final

from bitrix.catalogue.catalogue import RESERVED_KEYS, WRITABLE_KEYS, Catalogue, ListKind
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Call, Target
from orchestrator.gate.call.targets import as_id, get_at_path
from state.stored import JsonObject

_GUESTS: Final = "guests"
_IS_MEETING: Final = "is_meeting"
"""Given without guests, it removes them all."""
LINK_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "contactids": frozenset({"lead", "deal", "company"}),
    "companyids": frozenset({"contact"}),
    "observers": frozenset({"lead", "deal", "contact", "company"}),
    "observerids": frozenset({"lead", "deal", "contact", "company"}),
}
"""Left out by the classic reading methods, and the kinds of records that have them."""

_CENT: Final = Decimal("0.01")
_WHOLE: Final = Decimal(100)

OWNER_TITLE: Final = "OWNER_TITLE"
OWNER_SUM: Final = "OWNER_SUM"


def add_owner(row: JsonObject, owner: JsonObject | None) -> JsonObject:
    owner_record = owner or {}
    owner_fields = {OWNER_TITLE: fields.find_value(owner_record, "TITLE"), "CURRENCY_ID": fields.find_value(owner_record, "CURRENCY_ID")}
    return {**row, **owner_fields, **({OWNER_SUM: fields.find_value(owner_record, "OPPORTUNITY")} if sets_sum(owner) else {})}


def find_guests_place(call: Call) -> tuple[Target, ...]:
    """Gives (("guests", event id),) if `call` replaces the guests of an event."""
    name_and_kind = find_list(call)
    if name_and_kind is None or name_and_kind[1] != "people" or find_written_guests(call) is None:
        return ()
    number = as_id(call.params.get("id"))
    return ((_GUESTS, number),) if number is not None else ()


def find_written_guests(call: Call) -> object:
    """None if the call leaves them as they are."""
    name = next(iter(call.spec.replaces), "")
    clears = call.params.get(_IS_MEETING) in ("Y", "1", 1, True)
    return call.params.get(name, [] if clears else None)


def to_guests(record: JsonObject) -> list[str] | None:
    """The portal gives U7 for 7; None if its answer names no guests."""
    codes = find_row_value(record, "attendeescodes")
    if not isinstance(codes, list):
        return None
    return [str(code).removeprefix("U") if as_id(str(code).removeprefix("U")) else str(code) for code in codes]


def list_missing_fields(call: Call, records: Mapping[Target, JsonObject | None]) -> Iterator[tuple[Target, str]]:
    for leaf in call.leaves:
        place = leaf.params.get(leaf.spec.fields_at) if leaf.spec.fields_at else None
        if leaf.reads_only or leaf.spec.verb != "update" or not isinstance(place, Mapping):
            continue
        for target in leaf.targets[:1]:
            record = records.get(target)
            for name in place if record is not None else ():
                key = fields.to_field_key(name, target[0])
                if key in LINK_FIELDS and target[0] in LINK_FIELDS[key] and not fields.has_field(record or {}, name, target[0]):
                    yield target, name


Rows = Sequence[JsonObject]

LINK_KEYS: Final = {"contacts": "contactid", "companies": "companyid"}
PRIMARY_KEY: Final = "isprimary"
_KEPT: Final[Mapping[ListKind, frozenset[str]]] = {
    "people": frozenset(),
    "products": WRITABLE_KEYS | RESERVED_KEYS,
    "contacts": frozenset({"contactid", PRIMARY_KEY, "sort", "roleid"}),
    "companies": frozenset({"companyid", PRIMARY_KEY, "sort", "roleid"}),
}
"""Numbers of rows change with every write, so they are left out."""


@dataclass(frozen=True, kw_only=True)
class ListRead:
    """The list is kept under `name` in the record `target`."""

    target: Target
    name: str
    kind: ListKind
    method: str
    params: JsonObject


@dataclass(frozen=True, kw_only=True)
class ListChange:
    """`old` is None if the present list was not read."""

    name: str
    kind: ListKind
    old: Rows | None
    new: Rows
    is_partial: bool = False
    """One element is added or removed; `new` is this element if `old` is None."""


def find_list(call: Call) -> tuple[str, ListKind] | None:
    return next(iter(call.spec.replaces.items())) if call.spec.replaces else None


def build_list_reads(call: Call, catalogue: Catalogue) -> Iterator[ListRead]:
    for leaf in call.leaves:
        name_and_kind = find_list(leaf)
        reader = catalogue.find(leaf.spec.before) if name_and_kind is not None else None
        if name_and_kind is None or name_and_kind[1] == "people" or reader is None or not leaf.targets:
            continue
        params: dict[str, object] = {}
        _set_at_path(params, reader.target[0], leaf.targets[0][1])
        if reader.target_entity.startswith("@"):
            _set_at_path(params, reader.target_entity[1:], get_at_path(leaf.params, leaf.spec.target_entity[1:]))
        yield ListRead(target=leaf.targets[0], name=name_and_kind[0], kind=name_and_kind[1], method=reader.name, params=params)


def _set_at_path(params: dict[str, object], path: str, value: object) -> None:
    head, _, rest = path.partition(".")
    if not rest:
        params[head] = value
        return
    inner = params.setdefault(head, {})
    if isinstance(inner, dict):
        _set_at_path(inner, rest, value)


def to_stored_rows(rows: Sequence[object], kind: ListKind) -> list[dict[str, object]]:
    keys = _KEPT[kind]
    stored = [{name: value for name, value in row.items() if to_key(name) in keys} for row in rows if isinstance(row, Mapping)]
    return stored if kind == "products" else sorted(stored, key=lambda row: not is_primary(row))


def find_list_change(call: Call, record: JsonObject | None) -> ListChange | None:
    """None without such a list, if it cannot be parsed, and for guests.

    `old` is None if `record` was read without it, empty for a record that the same batch creates.
    """
    name_and_kind = find_list(call)
    if name_and_kind is None or name_and_kind[1] == "people":
        return None
    name, kind = name_and_kind
    present = record.get(name) if record is not None else None
    old = [row for row in present if isinstance(row, Mapping)] if isinstance(present, list) else None
    if old is None and call.target_created:
        old = []
    if call.spec.changes_one:
        element = find_written_element(call)
        return ListChange(
            name=name, kind=kind, old=old, new=[element] if old is None else _change_one(old, element, call, kind), is_partial=True
        )
    rows = call.params.get(name, [])
    new = list(rows.values()) if isinstance(rows, Mapping) else rows
    if not isinstance(new, list) or not all(isinstance(row, Mapping) for row in new):
        return None
    return ListChange(name=name, kind=kind, old=old, new=_mark_primary(new, kind))


def find_written_element(call: Call) -> JsonObject:
    place = call.params.get(call.spec.fields_at)
    return {key: value for key, value in place.items() if to_key(key) not in {"ownerid", "ownertype"}} if isinstance(place, Mapping) else {}


def _change_one(old: Rows, element: JsonObject, call: Call, kind: ListKind) -> list[JsonObject]:
    if kind == "products":
        return [*old, element]
    link = LINK_KEYS[kind]
    number = read_text(element, link)
    others = [_drop(row, "sort") for row in old if read_text(row, link) != number]  # the call leaves the order to the portal
    if call.spec.changes_one == "remove":
        return _mark_primary(others, kind)
    linked = next((row for row in old if read_text(row, link) == number), None)
    if linked is not None and not is_primary(element):
        return list(old)
    if is_primary(element):
        others = [{**row, **{name: "N" for name in row if to_key(name) == PRIMARY_KEY}} for row in others]
    return _mark_primary([*others, element], kind)


def _mark_primary(rows: Rows, kind: ListKind) -> list[JsonObject]:
    if kind == "products" or not rows or any(is_primary(row) for row in rows):
        return list(rows)
    return [{**_drop(rows[0], PRIMARY_KEY), "IS_PRIMARY": "Y"}, *rows[1:]]


def _drop(row: JsonObject, key: str) -> JsonObject:
    return {name: value for name, value in row.items() if to_key(name) != key}


def is_known_key(key: str, kind: ListKind) -> bool:
    return key in _KEPT[kind]


def is_primary(row: JsonObject) -> bool:
    return next((value for name, value in row.items() if to_key(name) == PRIMARY_KEY), "") in ("Y", "1", True)


def find_link(row: JsonObject, kind: ListKind) -> object:
    """Unconverted; None if `row` holds none."""
    return next((value for name, value in row.items() if to_key(name) == LINK_KEYS[kind]), None)


def sum_rows(rows: Rows) -> Decimal | None:
    """None if a price or quantity cannot be read."""
    total = Decimal(0)
    for row in rows:
        price = read_number(row, "price")
        quantity = read_number(row, "quantity") if has_value(row, "quantity") else Decimal(1)
        if price is None or quantity is None:
            return None
        total += price * quantity
    return total


def sum_tax(rows: Rows) -> Decimal:
    """The part of the total that is tax: a row's price contains it, also where the rate stands above the price; 0 in doubt."""
    total = Decimal(0)
    for row in rows:
        rate, total_of_row = read_number(row, "taxrate") or Decimal(0), sum_rows([row])
        if total_of_row is None:
            return Decimal(0)
        total += total_of_row * rate / (_WHOLE + rate) if rate > 0 else 0
    return total.quantize(_CENT, ROUND_HALF_UP)


def sets_sum(record: JsonObject | None) -> bool:
    return record is not None and fields.find_value(record, "IS_MANUAL_OPPORTUNITY") not in ("Y", "1", True)


def replaces_sum(change: ListChange | None, record: JsonObject | None) -> bool:
    """The record's sum was given without product rows, and the portal will compute another one from the first rows."""
    if change is None or change.kind != "products" or change.old is None or change.old or not change.new or not sets_sum(record):
        return False
    present = fields.parse_number(fields.find_value(record or {}, "OPPORTUNITY"))
    return bool(present) and present != sum_rows(change.new)


def find_row_value(row: JsonObject, key: str) -> object:
    return next((value for name, value in row.items() if to_key(name) == key), None)


def has_value(row: JsonObject, key: str) -> bool:
    return find_row_value(row, key) not in (None, "")


def is_restorable(rows: Rows) -> bool:
    """Reserved goods do not come back.

    An empty list is not restorable: what writing it does to links and the sum is undocumented.
    """
    return bool(rows) and not any(read_number(row, key) != 0 and has_value(row, key) for row in rows for key in RESERVED_KEYS)


def to_written_rows(rows: Rows) -> list[dict[str, object]]:
    return [{name: value for name, value in row.items() if to_key(name) not in RESERVED_KEYS and value is not None} for row in rows]


def advance_record(call: Call, record: JsonObject) -> JsonObject:
    """With the new list of contacts or companies."""
    change = find_list_change(call, record)
    return record if change is None or change.old is None else {**record, change.name: list(change.new)}


@lru_cache(maxsize=1024)
def to_key(name: str) -> str:
    """The same in every spelling; cached, since lists repeat their fields."""
    return fields.to_field_key(name)


def read_text(row: JsonObject, key: str) -> str:
    """Empty if the field is empty or 0."""
    value = find_row_value(row, key)
    number = as_id(value)
    return str(number) if number is not None else "" if value in (None, 0, "0") else str(value)


def read_number(row: JsonObject, key: str) -> Decimal | None:
    return fields.parse_number(find_row_value(row, key))
