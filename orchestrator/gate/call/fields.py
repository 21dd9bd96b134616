"""Names and values of fields, compared as the portal does. Pure."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import TypeGuard

from bitrix.catalogue import names
from bitrix.catalogue.catalogue import Entity, FieldInfo
from state.stored import JsonObject

to_field_key = names.to_field_key
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,6})?", re.ASCII)
_NO_SUM = re.compile(r"\|[A-Z]{3}", re.ASCII)
_SCALARS = frozenset({str, int, float, bool})
_ZERO_IS_EMPTY = frozenset({"money", "user", "company", "contact", "category", "number"})
_FALSE_COUNTS = _ZERO_IS_EMPTY | {"flag"}
_FIRST_TOO_LARGE = 10**15
_DAY_AND_OFFSET = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2})?(Z|[+-][0-9]{2}:?[0-9]{2}))?", re.ASCII)


def find_value(record: JsonObject, name: str, entity: str = "") -> object:
    """In either spelling of the name (crm.deal.*, crm.item.*); None without the field."""
    if name in record:  # two custom fields may share a key
        return record[name]
    spelling = _index_names(tuple(record), entity).get(to_field_key(name, entity))
    return record[spelling] if spelling is not None else None


def has_field(record: JsonObject, name: str, entity: str = "") -> bool:
    """A missing field was not read: it is unknown, not empty."""
    if name in record:
        return True
    return to_field_key(name, entity) in _index_names(tuple(record), entity)


@lru_cache(maxsize=512)  # a portal's records of one kind have the same fields, so there are few
def _index_names(names: tuple[str, ...], entity: str) -> Mapping[str, str]:
    return {to_field_key(name, entity): name for name in reversed(names)}


def find_field_info(entity: Entity | None, name: str) -> FieldInfo | None:
    if entity is None:
        return None
    key = to_field_key(name, entity.name)
    if key in entity.by_key:
        return entity.fields[entity.by_key[key]]
    return None


def find_label(entity: Entity | None, name: str, locale: str) -> str:
    info = find_field_info(entity, name)
    if info is None:
        return name
    return info.en if locale == "en" else info.ru


def is_same_value(new: object, old: object, *, kind: str = "text") -> bool:
    """False in cases of doubt."""
    if type(new) in _SCALARS and type(old) in _SCALARS:
        return _is_same_scalar(new, old, kind)
    no_new, no_old = _is_empty(new, kind), _is_empty(old, kind) or (kind not in _FALSE_COUNTS and is_blank(old))
    if no_new or no_old:
        return no_new and no_old
    if kind == "multifield":
        return _is_same_multifield(new, old)
    if _is_list(new) or _is_list(old):
        firsts = [_to_text(value[0]) if _is_list(value) else _to_text(value) for value in (new, old)]
        same_primary = kind not in {"contact", "company"} or firsts[0] == firsts[1]  # the first contact is the primary one
        return same_primary and _as_words(new) == _as_words(old)
    if isinstance(new, Mapping) or isinstance(old, Mapping):
        return bool(new == old)
    return _is_same_scalar(_to_text(new), _to_text(old), kind)


def is_blank(value: object) -> bool:
    """Nothing stands there; the portal says so with `false` for a field of several values, and with "|RUB" for a sum."""
    return value is None or value is False or value in ("", [], {}) or (isinstance(value, str) and _NO_SUM.fullmatch(value) is not None)


def parse_number(value: object) -> Decimal | None:
    """A JSON number, or a text such as "-12.50"; None for anything else."""
    if type(value) is int and -_FIRST_TOO_LARGE < value < _FIRST_TOO_LARGE:
        return Decimal(value)
    if value is None or type(value) is bool:
        return None
    text = value.strip() if type(value) is str else str(value).strip()
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def parse_ids(value: object) -> frozenset[str]:
    if _is_list(value):
        return frozenset(_to_text(item) for item in value)
    if isinstance(value, Mapping):
        return frozenset(_to_text(item) for item in value.values())
    return frozenset() if _is_empty(value, "user") else frozenset({_to_text(value)})


def _is_empty(value: object, kind: str) -> bool:
    if value is None or value in ("", [], {}):
        return True
    if isinstance(value, bool):
        return False
    return kind in _ZERO_IS_EMPTY and parse_number(value) == 0


def _to_text(value: object) -> str:
    if isinstance(value, bool):
        return "Y" if value else "N"
    return value.strip() if isinstance(value, str) else str(value)


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _as_words(value: object) -> list[str]:
    return sorted(_to_text(item) for item in value) if _is_list(value) else [_to_text(value)]


def _is_same_scalar(new: object, old: object, kind: str) -> bool:
    if new == old and type(new) is type(old) and kind != "multifield":
        return True
    number, stored_number = parse_number(new), parse_number(old)
    zero_is_empty = kind in _ZERO_IS_EMPTY
    no_new, no_old = new == "" or (zero_is_empty and number == 0), old == "" or (zero_is_empty and stored_number == 0)
    if kind not in _FALSE_COUNTS and is_blank(old):
        no_old = True
    if no_new or no_old or kind == "multifield":
        return no_new and no_old
    if number is not None and stored_number is not None:
        return number == stored_number
    text, present = _to_text(new), _to_text(old)
    if text == present:
        return True
    if kind == "flag":
        return {"1": "Y", "0": "N"}.get(text, text) == {"1": "Y", "0": "N"}.get(present, present)
    if kind == "date":
        return _is_same_day(text, present)
    return kind == "datetime" and _is_same_moment(text, present)


def _is_same_day(new: str, old: str) -> bool:
    """A day alone is compared as a day; with a time, offsets must be equal too: the portal converts others."""
    first, second = _DAY_AND_OFFSET.fullmatch(new), _DAY_AND_OFFSET.fullmatch(old)
    if first is None or second is None or first[1] != second[1]:
        return False
    return first[2] is None or first[2] == second[2]


def _is_same_moment(new: str, old: str) -> bool:
    try:
        moments = datetime.fromisoformat(new), datetime.fromisoformat(old)
    except ValueError:
        return False
    if any(moment.tzinfo is None for moment in moments):
        return False
    return moments[0] == moments[1]


def _is_same_multifield(new: object, old: object) -> bool:
    if not _is_list(new) or not _is_list(old):
        return False
    present = {_to_text(item.get("ID")): item for item in old if isinstance(item, Mapping)}
    return all(isinstance(item, Mapping) and _is_same_element(item, present.get(_to_text(item.get("ID")))) for item in new)


def _is_same_element(new: JsonObject, old: JsonObject | None) -> bool:
    if old is None or "ID" not in new or "VALUE" not in new:
        return False
    return all(key in {"ID", "VALUE", "VALUE_TYPE", "TYPE_ID"} and _to_text(value) == _to_text(old.get(key)) for key, value in new.items())
