"""Describes lists that a call replaces as a whole, such as the product rows of a deal or the contacts linked to it. Pure.

The present list is read before the call is checked and stands in the record under the name of the call's parameter, as if it were a field
of the record. So it is part of the before-image like any other value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final

from bitrix.catalogue.catalogue import Catalogue, ListKind
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Call, Target
from orchestrator.gate.call.targets import as_id, get_at_path
from state.stored import JsonObject

Rows = Sequence[JsonObject]

_WRITABLE_ROW: Final = frozenset(
    {
        "productid",
        "productname",
        "price",
        "quantity",
        "discounttypeid",
        "discountrate",
        "discountsum",
        "taxrate",
        "taxincluded",
        "measurecode",
        "measurename",
        "customized",
        "sort",
    }
)
_RESERVED_ROW: Final = frozenset({"storeid", "reserveid", "reservequantity", "inputreservequantity", "rowreserved", "datereserveend"})
"""Fields of a product row that say which goods are reserved for it; writing the row again does not bring a reservation back."""
_LINK: Final = {"contacts": "contactid", "companies": "companyid"}
_PRIMARY: Final = "isprimary"
_KEPT: Final[Mapping[ListKind, frozenset[str]]] = {
    "people": frozenset(),
    "products": _WRITABLE_ROW | _RESERVED_ROW,
    "contacts": frozenset({"contactid", _PRIMARY, "sort", "roleid"}),
    "companies": frozenset({"companyid", _PRIMARY, "sort", "roleid"}),
}
"""The fields of an element that are kept of what the portal returns, by their keys; numbers of rows change with every write."""
_SET_BY_PORTAL: Final = frozenset({"productname", "measurecode", "measurename", "customized", "sort", "roleid", *_RESERVED_ROW})
"""Fields that the portal fills in when a call does not write them."""


@dataclass(frozen=True, kw_only=True)
class ListRead:
    """The call that reads the list which another call replaces, and where the read list is put: under `name` into the record `target`."""

    target: Target
    name: str
    kind: ListKind
    method: str
    params: JsonObject


@dataclass(frozen=True, kw_only=True)
class ListChange:
    """What a call does to a list of a record. `old` is None if the present list was not read."""

    name: str
    """The parameter that holds the list, such as "rows"."""
    kind: ListKind
    old: Rows | None
    new: Rows
    is_partial: bool = False
    """Whether the call adds or removes one element and does not write the others."""


@dataclass(frozen=True, kw_only=True)
class ListDifference:
    """How a new list differs from an old one: elements only in the new, only in the old, in both but changed, and in both unchanged.

    `changed` holds pairs of the old element and the new one.
    """

    added: Rows
    removed: Rows
    changed: Sequence[tuple[JsonObject, JsonObject]]
    kept: Rows


def find_list(call: Call) -> tuple[str, ListKind] | None:
    """Return the name and the kind of the list that `call` replaces or changes; None for other calls."""
    return next(iter(call.spec.replaces.items()), None)


def build_list_reads(call: Call, catalogue: Catalogue) -> Iterator[ListRead]:
    """Yield, for each command of `call` that replaces a list of an existing record, the call that reads this list."""
    for leaf in call.leaves:
        found, reader = find_list(leaf), catalogue.find(leaf.spec.before)
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
    """Return the elements of a list as the before-image keeps them: only with the fields that mean something for people.

    The elements are in the order of the portal; contacts and companies have the primary one first.
    """
    kept = _KEPT[kind]
    found = [{name: value for name, value in row.items() if _key(name) in kept} for row in rows if isinstance(row, Mapping)]
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
        place = call.params.get(call.spec.fields_at)
        one = (
            {key: value for key, value in place.items() if _key(key) not in {"ownerid", "ownertype"}} if isinstance(place, Mapping) else {}
        )
        return ListChange(name=name, kind=kind, old=old, new=_change_one(old or [], one, call, kind), is_partial=True)
    rows = call.params.get(name, [])
    new = list(rows.values()) if isinstance(rows, Mapping) else rows
    if not isinstance(new, list) or not all(isinstance(row, Mapping) for row in new):
        return None
    return ListChange(name=name, kind=kind, old=old, new=_mark_primary(new, kind))


def _change_one(old: Rows, one: JsonObject, call: Call, kind: ListKind) -> list[JsonObject]:
    """Return the list `old` as it is after a call that adds or removes the element `one`.

    If a contact or company is added as the primary one, the others are no longer primary.
    """
    if kind == "products":
        return [*old, one]
    link = _LINK[kind]
    number = _text(one, link)
    others = [_drop(row, "sort") for row in old if _text(row, link) != number]  # the call leaves the order to the portal
    if call.spec.changes_one == "remove":
        return _mark_primary(others, kind)
    held = next((row for row in old if _text(row, link) == number), None)
    if held is not None and not is_primary(one):
        return list(old)
    if is_primary(one):
        others = [{**row, **{name: "N" for name in row if _key(name) == _PRIMARY}} for row in others]
    return _mark_primary([*others, one], kind)


def _mark_primary(rows: Rows, kind: ListKind) -> list[JsonObject]:
    """Return linked contacts or companies with one of them marked as the primary one, the first if the call marks none."""
    if kind == "products" or not rows or any(is_primary(row) for row in rows):
        return list(rows)
    return [{**_drop(rows[0], _PRIMARY), "IS_PRIMARY": "Y"}, *rows[1:]]


def _drop(row: JsonObject, key: str) -> JsonObject:
    """Return the element without its field with this key."""
    return {name: value for name, value in row.items() if _key(name) != key}


def compare_lists(old: Rows, new: Rows, kind: ListKind) -> ListDifference:
    """Return which elements are added, removed, changed and kept when the list `new` replaces `old`."""
    alike = _index_alike(old, kind)
    present, numbers = [_normalize(row) for row in old], [_find_number(row, kind) for row in old]
    free = dict(enumerate(old))
    kept: list[JsonObject] = []
    open_rows: list[tuple[JsonObject, list[int]]] = []
    for row in new:
        written, number = _normalize(row), _find_number(row, kind)
        found = dict.fromkeys(place for name in _list_names(row, kind) for place in alike.get(name, ()))
        places = [place for place in found if "" in (number, numbers[place]) or number == numbers[place]]
        same = next((place for place in places if place in free and _is_same_row(written, present[place], kind)), None)
        if same is None:
            open_rows.append((row, places))
        else:
            kept.append(free.pop(same))
    changed: list[tuple[JsonObject, JsonObject]] = []
    added: list[JsonObject] = []
    for row, places in open_rows:
        match = next((place for place in places if place in free), None)
        if match is None:
            added.append(row)
        else:
            changed.append((free.pop(match), row))
    return ListDifference(added=added, removed=list(free.values()), changed=changed, kept=kept)


def _normalize(row: JsonObject) -> dict[str, object]:
    """Return the fields of the element under normalized names, which are the same for every spelling (see `fields.to_field_key`)."""
    return {_key(name): value for name, value in row.items()}


def _find_number(row: JsonObject, kind: ListKind) -> str:
    """Return the number of the element's product, contact or company; "" if it has none."""
    return _text(row, _LINK.get(kind, "productid"))


def _index_alike(rows: Rows, kind: ListKind) -> dict[str, list[int]]:
    """Return an index of `rows`: for each number and name that `_list_names` gives, the positions in `rows` of the elements that have it.

    With this index, long lists are compared in reasonable time.
    """
    found: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        for name in _list_names(row, kind):
            found.setdefault(name, []).append(place)
    return found


def _list_names(row: JsonObject, kind: ListKind) -> list[str]:
    """Return what an element may be recognized by: the number of its product, contact or company, and the name of its product."""
    number = _find_number(row, kind)
    name = " ".join(_text(row, "productname").split()).casefold() if kind == "products" else ""
    return [*([f"№{number}"] if number else []), *([name] if name else [])]


def is_same_list(sent: Rows, now: Rows, kind: ListKind) -> bool:
    """Return whether the list that the portal has now (`now`) is the result of writing the list `sent`; False in cases of doubt."""
    found = compare_lists(now, sent, kind)
    return not (found.added or found.removed or found.changed)


def _is_same_row(new: JsonObject, old: JsonObject, kind: ListKind) -> bool:
    """Return whether writing the element `new` over the element `old` changes nothing.

    Both are about the same product, contact or company, and have normalized field names (see `_normalize`).
    """
    if kind != "products":
        return is_primary(new) == is_primary(old) and _is_equal(new.get("sort", old.get("sort")), old.get("sort"))
    for key in sorted({*new, *old}):
        if key not in new and (key in _SET_BY_PORTAL or (key == "quantity" and _is_equal(old[key], 1))):
            continue
        if key == "discounttypeid" and not any(_number(row, name) for row in (new, old) for name in ("discountrate", "discountsum")):
            continue
        if not _is_equal(new.get(key), old.get(key)):
            return False
    return True


def _is_equal(new: object, old: object) -> bool:
    """Return whether two values mean the same to the portal; an empty value, zero and "N" (no) all mean the same."""
    if new == old and type(new) is type(old):
        return True
    empty = [value in (None, "", "N", False) or fields.parse_number(value) == 0 for value in (new, old)]
    return all(empty) if any(empty) else fields.is_same_value(new, old)


def is_primary(row: JsonObject) -> bool:
    """Return whether a linked contact or company is the primary one."""
    return next((value for name, value in row.items() if _key(name) == _PRIMARY), "") in ("Y", "1", True)


def find_link(row: JsonObject, kind: ListKind) -> object:
    """Return the id of the linked contact or company; None if `row` holds none.

    `row` is one element of the list of contacts or companies that are linked to a record. The id is returned as it stands there: a
    number or a text.
    """
    return next((value for name, value in row.items() if _key(name) == _LINK[kind]), None)


def sum_rows(rows: Rows) -> Decimal | None:
    """Return the total of product rows, price by quantity; None if a price or quantity cannot be read. The default quantity is 1."""
    total = Decimal(0)
    for row in rows:
        price = _number(row, "price")
        quantity = _number(row, "quantity") if has_value(row, "quantity") else Decimal(1)
        if price is None or quantity is None:
            return None
        total += price * quantity
    return total


def sets_sum(record: JsonObject | None) -> bool:
    """Return whether the portal computes the record's sum from its product rows, so that new rows change it."""
    return record is not None and fields.find_value(record, "IS_MANUAL_OPPORTUNITY") not in ("Y", "1", True)


def find_row_value(row: JsonObject, key: str) -> object:
    """Return the value of an element's field by its key, such as "productname", in either spelling of the portal; None if it has none."""
    return next((value for name, value in row.items() if _key(name) == key), None)


def has_value(row: JsonObject, key: str) -> bool:
    """Return whether the element has a value that is not empty in the field with this key."""
    return find_row_value(row, key) not in (None, "")


def is_restorable(rows: Rows) -> bool:
    """Return whether writing the list `rows` to the portal would restore exactly this list.

    Reserved goods do not come back. An empty list counts as not restorable: it is not documented whether writing it unlinks everything, and
    what sum the portal gives to a record whose product rows are gone.
    """
    return bool(rows) and not any(_number(row, key) != 0 and has_value(row, key) for row in rows for key in _RESERVED_ROW)


def to_written_rows(rows: Rows) -> list[dict[str, object]]:
    """Return the elements of a before-image in the form in which the portal takes them back."""
    return [{name: value for name, value in row.items() if _key(name) not in _RESERVED_ROW and value is not None} for row in rows]


def advance_record(call: Call, record: JsonObject) -> JsonObject:
    """Return the record as it is after `call`: with the new list, and for product rows with the sum that the portal computes from them.

    So each command of a batch shows what it changes in the list that the earlier ones leave behind.
    """
    change = find_list_change(call, record)
    if change is None or change.old is None:
        return record
    total = sum_rows(change.new)
    summed = change.kind == "products" and sets_sum(record) and total is not None and "OPPORTUNITY" in record
    return {**record, change.name: list(change.new), **({"OPPORTUNITY": str(total)} if summed else {})}


@lru_cache(maxsize=1024)
def _key(name: str) -> str:
    return fields.to_field_key(name)


def _text(row: JsonObject, key: str) -> str:
    """Return the value of the element's field `key` as text; "" if the value is empty or 0.

    An id written as a number and the same id written as text give the same result.
    """
    value = find_row_value(row, key)
    number = as_id(value)
    return str(number) if number is not None else "" if value in (None, 0, "0") else str(value)


def _number(row: JsonObject, key: str) -> Decimal | None:
    return fields.parse_number(find_row_value(row, key))
