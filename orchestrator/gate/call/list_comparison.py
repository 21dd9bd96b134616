"""Compares a written list with the present one. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bitrix.catalogue.catalogue import RESERVED_KEYS, WRITABLE_KEYS, ListKind
from orchestrator.gate.call import fields
from orchestrator.gate.call.replaced_lists import (
    LINK_KEYS,
    PRIMARY_KEY,
    Rows,
    is_primary,
    read_number,
    read_text,
    to_key,
)
from state.stored import JsonObject

_DISCOUNT: Final = ("discountrate", "discountsum")
_SET_BY_PORTAL: Final = frozenset({"productname", "measurecode", "measurename", "customized", "sort", "roleid", *RESERVED_KEYS})


@dataclass(frozen=True, kw_only=True)
class ListDifference:
    """The pairs are (old element, new one)."""

    added: Rows
    removed: Rows
    changed: Sequence[tuple[JsonObject, JsonObject]]
    kept_pairs: Sequence[tuple[JsonObject, JsonObject]]

    @property
    def kept(self) -> Rows:
        return [old for old, _ in self.kept_pairs]


def compare_lists(old: Rows, new: Rows, kind: ListKind) -> ListDifference:
    alike = _index_alike(old, kind)
    present, numbers = [_normalize(row) for row in old], [_find_number(row, kind) for row in old]
    free = dict(enumerate(old))
    pairs: list[tuple[JsonObject, JsonObject]] = []
    open_rows: list[tuple[JsonObject, list[int]]] = []
    for row in new:
        normalized, number = _normalize(row), _find_number(row, kind)
        alike_places = dict.fromkeys(place for name in _list_names(row, kind) for place in alike.get(name, ()))
        places = [place for place in alike_places if "" in (number, numbers[place]) or number == numbers[place]]
        same = next((place for place in places if place in free and _is_same_row(normalized, present[place], kind)), None)
        if same is None:
            open_rows.append((row, places))
        else:
            pairs.append((free.pop(same), row))
    changed: list[tuple[JsonObject, JsonObject]] = []
    added: list[JsonObject] = []
    for row, places in open_rows:
        match = next((place for place in places if place in free), None)
        if match is None:
            added.append(row)
        else:
            changed.append((free.pop(match), row))
    return ListDifference(added=added, removed=list(free.values()), changed=changed, kept_pairs=pairs)


def sort_written(rows: Rows, kind: ListKind) -> Rows:
    """By their place, if each element names one."""
    places = [read_number(row, "sort") for row in rows]
    ordered = list(rows)
    if all(place is not None for place in places):
        ordered = [row for _, row in sorted(zip(places, rows, strict=True), key=lambda pair: pair[0] or 0)]
    return ordered if kind == "products" else sorted(ordered, key=lambda row: not is_primary(row))


def is_reordered(old: Rows, new: Rows, kind: ListKind) -> bool:
    """Becoming the primary element is no other order."""
    ordered = sort_written(new, kind)
    list_difference = compare_lists(old, ordered, kind)
    partners = {id(row): present for present, row in (*list_difference.changed, *list_difference.kept_pairs)}
    seats = {id(row): seat for seat, row in enumerate(old)}
    pairs = [(partners[id(row)], row) for row in ordered if id(row) in partners]
    places = [seats[id(was)] for was, row in pairs if kind == "products" or not (is_primary(was) or is_primary(row))]
    return places != sorted(places)


def is_same_list(sent: Rows, now: Rows, kind: ListKind) -> bool:
    """Whether `now` results from writing `sent`; False in cases of doubt."""
    list_difference = compare_lists(now, sent, kind)
    return not (list_difference.added or list_difference.removed or list_difference.changed)


def change_row(rows: Rows, row: JsonObject, new_fields: JsonObject) -> Rows:
    """`row` (known by some fields) gets `new_fields`, or goes if there are none."""
    known = {key: value for key, value in _normalize(row).items() if key in WRITABLE_KEYS}
    fits = (place for place, one in enumerate(rows) if all(_is_equal(_normalize(one).get(key), value) for key, value in known.items()))
    place = next(fits, None)
    if place is None:
        return rows
    keys = {to_key(name) for name in new_fields}
    changed = {**{name: value for name, value in rows[place].items() if to_key(name) not in keys}, **new_fields}
    return [*rows[:place], *([changed] if new_fields else []), *rows[place + 1 :]]


def _find_number(row: JsonObject, kind: ListKind) -> str:
    return read_text(row, LINK_KEYS.get(kind, "productid"))


def _index_alike(rows: Rows, kind: ListKind) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        for name in _list_names(row, kind):
            places.setdefault(name, []).append(place)
    return places


def _list_names(row: JsonObject, kind: ListKind) -> list[str]:
    number = _find_number(row, kind)
    name = " ".join(read_text(row, "productname").split()).casefold() if kind == "products" else ""
    return [*([f"№{number}"] if number else []), *([name] if name else [])]


def _is_same_row(new: JsonObject, old: JsonObject, kind: ListKind) -> bool:
    if kind != "products":
        return is_primary(new) == is_primary(old) and all(_is_equal(new[key], old.get(key)) for key in new if key != PRIMARY_KEY)
    for key in sorted({*new, *old}):
        if key not in new and (key in _SET_BY_PORTAL or (key == "quantity" and _is_equal(old[key], 1))):
            continue
        if key == "discounttypeid" and key not in new and not any(read_number(row, name) for row in (new, old) for name in _DISCOUNT):
            continue
        if key == "taxrate" and old.get(key) in (None, "") and new.get(key) not in (None, ""):
            return False  # a rate of zero is not the same as no tax
        if not _is_equal(new.get(key), old.get(key)):
            return False
    return True


def _is_equal(new: object, old: object) -> bool:
    """To the portal an empty value, zero and "N" (no) all mean the same."""
    if new == old and type(new) is type(old):
        return True
    empty = [value in (None, "", "N", False) or fields.parse_number(value) == 0 for value in (new, old)]
    return all(empty) if any(empty) else fields.is_same_value(new, old)


def _normalize(row: JsonObject) -> dict[str, object]:
    return {to_key(name): value for name, value in row.items()}
