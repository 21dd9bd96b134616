"""The form that calls share which write the same, however values are spelled. Pure.

Only what the portal reads alike is made equal; a text stays, so "007" and "7" differ.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC
from typing import Final

from bitrix.catalogue import names
from bitrix.catalogue.catalogue import Entity, Method
from bitrix.client.batch import find_references
from orchestrator.gate.call import fields, value_forms
from orchestrator.gate.call.param_kinds import Param, ValueKind, find_described_kind, find_kind, is_list
from state.stored import JsonObject

MARKS = frozenset({*names.list_origin_fields(in_items=False), *names.list_origin_fields(in_items=True)})
"""A created record is found by them when the call's answer was lost."""
_ITEM: Final = "crm.item."
_ENTITY_TYPE: Final = "entityTypeId"
_TWINS: Final = frozenset({"add", "update", "delete"})
_RECORDS: Final = frozenset({*names.CRM.values(), "item"})
_CONTACTS: Final = "fm"
_CONTACT_FIELDS: Final = frozenset({*names.MULTIFIELDS, _CONTACTS.upper()})
_OPTIONS: Final = "params"
_CODED: Final = re.compile(r"([A-Za-z0-9]+)_([0-9]{1,15})", re.ASCII)
_ISO: Final = re.compile(r"[0-9]{4}-.*", re.ASCII)
_NUMBERS: Final[frozenset[ValueKind | None]] = frozenset(
    {"amount", "number", "quantity", "percent", "duration", "user", "record", "category"}
)
_LARGEST_EXACT: Final = 2**53
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})


def build_canonical_form(spec: Method, params: JsonObject, *, entity: str, info: Entity | None) -> list[object]:
    method = _find_twin(spec, entity)
    top = {name: value for name, value in params.items() if name != _OPTIONS or value}
    if method != spec.name:
        top.pop(_ENTITY_TYPE, None)
        top.pop("useOriginalUfNames", None)
    place = params.get(spec.fields_at) if spec.fields_at else None
    if not isinstance(place, Mapping):
        return [method, {name: _convert(value, Param(spec=spec, entity=entity, info=info, name=name)) for name, value in top.items()}]
    rest = {
        name: _convert(value, Param(spec=spec, entity="", info=None, name=name)) for name, value in top.items() if name != spec.fields_at
    }
    return [method, rest, _convert_fields(place, spec, entity, info)]


def _find_twin(spec: Method, entity: str) -> str:
    verb = spec.name.removeprefix(_ITEM)
    is_twin = spec.name.startswith(_ITEM) and verb in _TWINS and entity in names.CRM.values()
    return f"crm.{entity}.{verb}" if is_twin else spec.name


def _convert_fields(place: JsonObject, spec: Method, entity: str, info: Entity | None) -> dict[str, object]:
    by_name: dict[str, object] = {}
    contacts: list[list[str]] = []
    for name, value in place.items():
        is_record = entity.partition(":")[0] in _RECORDS
        elements = _list_contacts(name, value) if is_record else None
        if name in MARKS and (is_record or spec.marked):  # elsewhere the name is a field like any other
            continue
        if elements is not None:
            contacts += elements
        else:
            by_name[_to_shared_name(name, entity)] = _convert(value, Param(spec=spec, entity=entity, info=info, name=name))
    return {**by_name, **({_CONTACTS: sorted(contacts, key=lambda element: element[0])} if contacts else {})}


def _to_shared_name(name: str, entity: str) -> str:
    if names.is_custom_field(name):
        return names.to_classic(name)
    return fields.to_field_key(name, entity) if entity.partition(":")[0] in _RECORDS else name


def _list_contacts(name: str, value: object) -> list[list[str]] | None:
    """[kind, id, value, kind of value, mark of deletion]; None for any other form."""
    kind = name.upper()
    if kind not in _CONTACT_FIELDS or not isinstance(value, list | Mapping):
        return None
    by_key = list(value.items()) if isinstance(value, Mapping) else [("", item) for item in value]
    elements: list[list[str]] = []
    for key, item in by_key:
        parts = {fields.to_field_key(str(part)): text for part, text in item.items()} if isinstance(item, Mapping) else {}
        if not parts or parts.keys() - {"id", "typeid", "value", "valuetype", "delete"} or not _are_scalars(parts.values()):
            return None
        number = str(parts.get("id") or (key if kind == _CONTACTS.upper() and key.isdecimal() and isinstance(value, Mapping) else ""))
        own = str(parts.get("typeid") or "").upper() if kind == _CONTACTS.upper() else kind
        gone = value_forms.parse_flag(parts.get("delete"))
        elements.append([own, number, str(parts.get("value") or ""), str(parts.get("valuetype") or ""), "Y" if gone else ""])
    return elements


def _are_scalars(values: Iterable[object]) -> bool:
    return all(value is None or isinstance(value, str | int | bool) for value in values)


def _convert(value: object, param: Param) -> object:
    kind = find_kind(param)
    if kind == "datetime" and find_described_kind(param) is None:
        kind = None  # the times of an event of a whole day are read without their offset
    if type(value) in _SCALARS:
        return _convert_scalar(value, kind)
    inner = _unfold(value)
    if isinstance(inner, list):
        items = [_convert_scalar(item, kind) if not isinstance(item, list | Mapping) else _convert_inner(item) for item in inner]
        return sorted(items, key=str) if kind == "user" and is_list(param) else items
    return _convert_inner(inner) if isinstance(inner, Mapping) else _convert_scalar(inner, kind)


def _unfold(value: object) -> object:
    """PHP reads a mapping with the keys 0, 1, 2 … as a list."""
    if isinstance(value, Mapping) and [*value] == [str(number) for number in range(len(value))]:
        return list(value.values())
    return value


def _convert_inner(value: object) -> object:
    inner = _unfold(value)
    if isinstance(inner, list):
        return [_convert_inner(item) for item in inner]
    if isinstance(inner, Mapping):
        return {name: _convert_inner(item) for name, item in inner.items()}
    return _convert_scalar(inner, None)


def _convert_scalar(value: object, kind: ValueKind | None) -> object:
    """The portal reads every number as text, so 6 and "6" are the same."""
    if isinstance(value, str) and find_references(value):
        return value
    if kind == "flag" and (flag := value_forms.parse_flag(value)) is not None:
        return "Y" if flag else "N"
    if kind in _NUMBERS and (number := value_forms.parse_amount(value)) is not None:
        return f"{number.normalize():f}" if number else "0"
    if kind in _TEXTS and isinstance(value, str):
        return _TEXTS[kind](value)
    if kind == "kind" and isinstance(value, int) and not isinstance(value, bool):
        return _convert_kind(str(value))
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_EXACT:
        return str(int(value))
    return str(value) if isinstance(value, int | float) else value


def _convert_time(text: str) -> str:
    """ISO times in UTC if they name an offset. Others stay: their day depends on the portal."""
    time = value_forms.parse_time(text) if _ISO.fullmatch(text.strip()) else None
    if time is None or not time.has_clock:
        return text
    return time.moment.astimezone(UTC).isoformat() if time.is_zoned else time.moment.replace(tzinfo=None).isoformat()


def _convert_kind(text: str) -> str:
    return names.to_kind(text) if text == text.strip() else text


def _convert_coded(text: str) -> str:
    match = _CODED.fullmatch(text)
    return f"{names.to_kind(match[1])}_{int(match[2])}" if match is not None else text


_TEXTS: Final[Mapping[ValueKind | None, Callable[[str], str]]] = {
    "datetime": _convert_time,
    "crm": _convert_coded,
    "kind": _convert_kind,
}
