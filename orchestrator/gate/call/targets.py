"""Reads kinds and numbers of records in the parameters of a call, as the catalogue of REST methods describes them. Pure."""

import re
from collections.abc import Mapping

from bitrix.catalogue import names
from bitrix.catalogue.catalogue import Catalogue, Entity, Method
from state.stored import JsonObject

Target = tuple[str, int]
"""A record as kind and number, for example ("deal", 481)."""

PRODUCT_ROW = "productrow"
_SMART = 128
_FIXED_TYPES = frozenset({7, 14, 31})
_ID = re.compile(r"[1-9][0-9]{0,14}", re.ASCII)
_FIRST_TOO_LARGE = 10**15


def find_entity_name(spec: Method, params: JsonObject, catalogue: Catalogue) -> str:
    """Return the kind of record that a call is about, such as "deal" or "item:177"; "" if the named kind does not exist."""
    name = spec.target_entity or spec.entity
    if not name.startswith("@"):
        return name
    written = get_at_path(params, name[1:])
    if isinstance(written, bool) or not isinstance(written, str | int):
        return ""
    return find_entity_by_code(str(written).strip().lower(), catalogue)


def find_entity_by_code(code: str, catalogue: Catalogue) -> str:
    """Return the kind of record for a code of the portal in lower case, such as 2, d, deal, dynamic_177 or tb1; "" if unknown."""
    kind = names.to_kind(code)
    number = kind.removeprefix("item:")
    if kind in {number, code}:
        return kind if kind in catalogue.entities and kind != "item" else ""
    return kind if int(number) >= _SMART or int(number) in _FIXED_TYPES else ""


def find_row_owner(target: Target, row: JsonObject, catalogue: Catalogue) -> Target | None:
    """Return the deal or other record to which a single product row belongs; None if `target` is no product row or the owner is unclear."""
    number, code = as_id(row.get("ownerId")), str(row.get("ownerType") or "").strip().lower()
    kind = find_entity_by_code(code, catalogue) if target[0] == PRODUCT_ROW and code else ""
    return (kind, number) if kind and number is not None else None


def find_definition(name: str, catalogue: Catalogue) -> Entity | None:
    """Return the catalogue's definition of a kind of record, or None; smart processes ("item:177") share that of "item"."""
    return catalogue.entities.get(name.partition(":")[0] if ":" in name else name)


def find_definitions(*kinds: str, catalogue: Catalogue) -> dict[str, Entity]:
    """Return the definitions of several kinds of record by name, those of smart processes as copies; unknown kinds are missing."""
    found: dict[str, Entity] = {}
    for name in kinds:
        entity = find_definition(name, catalogue)
        if entity is not None:
            found[name] = entity if entity.name == name else entity.model_copy(update={"name": name})
    return found


def get_at_path(params: object, path: str) -> object:
    """Return the value at a dotted path such as "fields.TITLE", or None."""
    value = params
    for name in path.split(".") if "." in path else (path,):
        if type(value) is not dict and not isinstance(value, Mapping):  # asked of every id, and nearly always a plain dict
            return None
        value = value.get(name)
    return value


def as_id(value: object) -> int | None:
    """Return a record id as an integer; `value` is a positive integer or a text of its digits. None for anything else."""
    if type(value) is int:
        return value if 0 < value < _FIRST_TOO_LARGE else None
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = str(value).strip()
    return int(text) if _ID.fullmatch(text) else None
