"""Kinds and numbers of records in parameters. Pure."""

import re
from collections.abc import Mapping

from bitrix.catalogue import names
from bitrix.catalogue.catalogue import Catalogue, Entity, Method
from state.stored import JsonObject

Target = tuple[str, int]
"""Such as ("deal", 481)."""

PRODUCT_ROW = "productrow"
_SMART = 128
_FIXED_TYPES = frozenset({7, 14, 31})
_ID = re.compile(r"[1-9][0-9]{0,14}", re.ASCII)
_FIRST_TOO_LARGE = 10**15


def find_entity_name(spec: Method, params: JsonObject, catalogue: Catalogue) -> str:
    """Empty if the named kind does not exist."""
    name = spec.target_entity or spec.entity
    if not name.startswith("@"):
        return name
    code = get_at_path(params, name[1:])
    if isinstance(code, bool) or not isinstance(code, str | int):
        return ""
    return find_entity_by_code(str(code).strip().lower(), catalogue)


def find_entity_by_code(code: str, catalogue: Catalogue) -> str:
    """`code` is lower case, such as 2, d, dynamic_177 or tb1; "" if unknown."""
    kind = names.to_kind(code)
    number = kind.removeprefix("item:")
    if kind in {number, code}:
        return kind if kind in catalogue.entities and kind != "item" else ""
    return kind if int(number) >= _SMART or int(number) in _FIXED_TYPES else ""


def find_row_owner(target: Target, row: JsonObject, catalogue: Catalogue) -> Target | None:
    """None if `target` is no product row or the owner is unclear."""
    number, code = as_id(row.get("ownerId")), str(row.get("ownerType") or "").strip().lower()
    kind = find_entity_by_code(code, catalogue) if target[0] == PRODUCT_ROW and code else ""
    return (kind, number) if kind and number is not None else None


def find_definition(name: str, catalogue: Catalogue) -> Entity | None:
    return catalogue.entities.get(name.partition(":")[0] if ":" in name else name)


def find_definitions(*kinds: str, catalogue: Catalogue) -> dict[str, Entity]:
    """Unknown kinds are missing; smart processes get copies."""
    definitions: dict[str, Entity] = {}
    for name in kinds:
        entity = find_definition(name, catalogue)
        if entity is not None:
            definitions[name] = entity if entity.name == name else entity.model_copy(update={"name": name})
    return definitions


def get_at_path(params: object, path: str) -> object:
    value = params
    for name in path.split(".") if "." in path else (path,):
        if type(value) is not dict and not isinstance(value, Mapping):  # asked of every id, and nearly always a plain dict
            return None
        value = value.get(name)
    return value


def as_id(value: object) -> int | None:
    """A positive integer or a text of its digits."""
    if type(value) is int:
        return value if 0 < value < _FIRST_TOO_LARGE else None
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = str(value).strip()
    return int(text) if _ID.fullmatch(text) else None
