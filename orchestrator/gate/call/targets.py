"""Kinds and numbers of records in parameters; those that a call is attached to are checked like targets. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from bitrix.catalogue import names
from bitrix.catalogue.catalogue import Catalogue, Entity, Method
from orchestrator.gate.call import fields
from state.stored import JsonObject

_BINDING = (("entityTypeId", "entityId"),)
_PAIRS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "crm.activity.binding.add": _BINDING,
    "crm.activity.binding.delete": _BINDING,
    "crm.activity.binding.move": (("sourceEntityTypeId", "sourceEntityId"), ("targetEntityTypeId", "targetEntityId")),
    "crm.activity.update": (("fields.OWNER_TYPE_ID", "fields.OWNER_ID"),),
}
_TASKS: Mapping[str, str] = {"task.dependence.add": "taskIdTo", "task.dependence.delete": "taskIdTo"}


@dataclass(frozen=True, kw_only=True)
class LinkedRecord:
    path: str
    entity: str
    written: object
    is_coded: bool = False
    """Kind and number are one text: D_481."""

    @property
    def number(self) -> int | None:
        """None if it is a reference `$result[...]` or malformed."""
        return as_id(self.written)


def find_bound_records(spec: Method, params: JsonObject, catalogue: Catalogue) -> tuple[LinkedRecord, ...]:
    """`entity` is "" where the kind is unknown."""
    if spec.reads_only:
        return ()
    return tuple(_collect_bound_records(spec, params, catalogue))


def _collect_bound_records(spec: Method, params: JsonObject, catalogue: Catalogue) -> Iterator[LinkedRecord]:
    for kind_at, id_at in _PAIRS.get(spec.name, ()):
        id_text = get_at_path(params, id_at)
        if id_text not in (None, ""):
            yield LinkedRecord(path=id_at, entity=_find_kind(get_at_path(params, kind_at), catalogue), written=id_text)
    second = _TASKS.get(spec.name)
    if second is not None and params.get(second) not in (None, ""):
        yield LinkedRecord(path=second, entity="task", written=params[second])
    place = params.get(spec.fields_at) if spec.fields_at else params
    for name, value in place.items() if isinstance(place, Mapping) else ():
        key = fields.to_field_key(name)
        if key not in names.LINKS and key != "bindings":
            continue
        path = f"{spec.fields_at}.{name}".lstrip(".")
        if key in names.LINKS:
            yield from (_parse_coded(path, item, catalogue) for item in list_elements(value) if item not in (None, "", False))
        else:
            yield from (_parse_binding(path, item, catalogue) for item in list_elements(value))


def _parse_coded(path: str, item: object, catalogue: Catalogue) -> LinkedRecord:
    code, _, number = str(item).strip().partition("_")
    return LinkedRecord(path=path, entity=_find_kind(code, catalogue), written=number, is_coded=True)


def _parse_binding(path: str, item: object, catalogue: Catalogue) -> LinkedRecord:
    if not isinstance(item, Mapping):
        return LinkedRecord(path=path, entity="", written=item)
    kind = fields.find_value(item, "OWNER_TYPE_ID") or fields.find_value(item, "ENTITY_TYPE_ID")
    return LinkedRecord(
        path=path, entity=_find_kind(kind, catalogue), written=fields.find_value(item, "OWNER_ID") or fields.find_value(item, "ENTITY_ID")
    )


def _find_kind(code: object, catalogue: Catalogue) -> str:
    if isinstance(code, bool) or not isinstance(code, str | int):
        return ""
    return find_entity_by_code(str(code).strip().lower(), catalogue)


def list_elements(value: object) -> Iterable[object]:
    """PHP converts some lists to maps; any other value stands alone."""
    if isinstance(value, Mapping):
        return [value] if any(not name.isdecimal() for name in value) else list(value.values())
    return value if isinstance(value, list) else [value]


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
