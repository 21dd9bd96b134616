"""What a write would do to each phone or address. Pure.

Bitrix24 adds an element without ID again, deletes one with ID and no value, and ignores several shapes; an ambiguous value is refused.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from bitrix.catalogue.names import MULTIFIELDS
from bitrix.client.batch import find_references
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.params import build_shape_refusal
from state.stored import JsonObject

Verb = Literal["add", "edit", "remove"]
Elements = list[dict[str, str]] | dict[str, dict[str, str]]
_NEW: Final = re.compile(r"n[0-9]{1,4}", re.ASCII)
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,14}", re.ASCII)
_DIGITS: Final = re.compile(r"[0-9]+", re.ASCII)
_LOCAL: Final = 11
_SHORTEST: Final = 5
_SHOWN: Final = 40
_NAMES: Final = {"id": "id", "typeid": "kind", "valuetype": "value_type", "value": "value", "delete": "delete"}
_CLASSIC_SHAPE: Final = (
    'a list of elements: {"VALUE": "+7…", "VALUE_TYPE": "WORK"} adds, {"ID": 156, "VALUE": "+7…"} edits, {"ID": 156, "DELETE": "Y"} removes'
)
_FM_SHAPE: Final = (
    'fm, a map: {"n0": {"typeId": "PHONE", "valueType": "WORK", "value": "+7…"}} adds, {"156": {"typeId": "PHONE", "value": "+7…"}} edits'
)


@dataclass(frozen=True, kw_only=True)
class Element:
    """`id` is "" if an earlier command of the batch adds it."""

    id: str
    kind: str
    value: str
    value_type: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Phones are compared by digits, addresses regardless of case."""
        return self.kind, to_comparable(self.kind, self.value)


@dataclass(frozen=True, kw_only=True)
class _Written:
    id: object = None
    kind: object = None
    value: object = None
    value_type: object = None
    delete: object = None


@dataclass(frozen=True, kw_only=True)
class Step:
    """`old` is the element that is edited or removed."""

    verb: Verb
    kind: str
    value: str = ""
    value_type: str = ""
    old: Element | None = None


def parse_elements(record: JsonObject | None) -> tuple[Element, ...]:
    return tuple(_parse_record_elements(record or {}))


def is_multifield(name: str) -> bool:
    return name.upper() in {*MULTIFIELDS, "FM"}


def parse_steps(name: str, value: object, present: Sequence[Element] | None, *, in_items: bool) -> tuple[Step, ...]:
    """`present` is None for a new record. Raises Refusal if `value` is unclear."""
    kind = name.upper()
    if in_items != (kind == "FM"):
        raise build_shape_refusal(name, _FM_SHAPE if in_items else _CLASSIC_SHAPE)
    elements = _parse_universal(value, present) if in_items else _parse_classic(kind, value, present)
    steps = [_build_step(element, present, name) for element in elements]
    changed_ids = [step.old.id for step in steps if step.old is not None]
    if len(changed_ids) != len(set(changed_ids)):
        raise build_shape_refusal(name, "a list that names each element once")
    return tuple(_select_effective_steps(steps, present or (), name))


def apply_steps(steps: Sequence[Step], present: Sequence[Element]) -> tuple[Element, ...]:
    touched = {step.old.id: step for step in steps if step.old is not None}
    untouched = [element for element in present if element.id not in touched]
    edited = [replace(step.old, value=step.value, value_type=step.value_type) for step in steps if step.verb == "edit" and step.old]
    added = [Element(id="", kind=step.kind, value=step.value, value_type=step.value_type) for step in steps if step.verb == "add"]
    return (*untouched, *edited, *added)


def build_value(steps: Sequence[Step], *, in_items: bool, new: bool) -> Elements:
    if not in_items:
        return [_classic_element(step) for step in steps]
    if new:
        return [_universal_element(step) for step in steps]
    count = sum(step.old is None for step in steps)
    width = len(str(max(count - 1, 0)))  # stored JSON sorts its keys: n10 must not come before n2, or the stored call would differ
    adds = iter(f"n{number:0{width}}" for number in range(count))
    return {step.old.id if step.old else next(adds): _universal_element(step) for step in steps}


def remove_missing(value: Elements, present_ids: Collection[str]) -> tuple[Elements, list[str]]:
    if isinstance(value, dict):
        gone = [key for key in value if _NUMBER.fullmatch(key) and key not in present_ids]
        return {key: item for key, item in value.items() if key not in gone}, gone
    numbers = [str(item.get("ID") or "") for item in value]
    remaining = [item for item, number in zip(value, numbers, strict=True) if not number or number in present_ids]
    return remaining, [number for number in numbers if number and number not in present_ids]


def to_record_fields(record: JsonObject, now: Sequence[Element]) -> dict[str, list[dict[str, str]]]:
    """Field name → elements of `record`, if `now` were its elements."""
    own: dict[str, list[dict[str, str]]] = {name: [] for name in record if is_multifield(name)}
    of_all = next((name for name in own if name.upper() == "FM"), None)
    for element in now:
        name = of_all or next((name for name in own if name.upper() == element.kind), element.kind)
        part = {"ID": element.id, "TYPE_ID": element.kind, "VALUE": element.value, "VALUE_TYPE": element.value_type}
        own.setdefault(name, []).append(part)
    return own


def find_unmet_steps(steps: Sequence[Step], now: Sequence[Element]) -> tuple[Step, ...]:
    keys = {element.key for element in now}
    by_id = {element.id: element for element in now}
    return tuple(step for step in steps if not _is_met(step, keys, by_id))


def _is_met(step: Step, keys: set[tuple[str, str]], by_id: Mapping[str, Element]) -> bool:
    if step.verb == "add" or step.old is None:
        return (step.kind, to_comparable(step.kind, step.value)) in keys
    present = by_id.get(step.old.id)
    if step.verb == "remove":
        return present is None
    return present is not None and present.key == (step.kind, to_comparable(step.kind, step.value))


def _parse_record_elements(record: JsonObject) -> Iterator[Element]:
    for name, value in record.items():
        kind = name.upper()
        if kind not in {*MULTIFIELDS, "FM"}:
            continue
        for key, item in _pairs(value):
            own = _Written(**_find_parts(item)) if isinstance(item, Mapping) else _Written()
            of = kind if kind != "FM" else str(own.kind or "").upper()
            if own.value not in (None, "") and of in MULTIFIELDS:
                yield Element(id=str(own.id or key), kind=of, value=str(own.value), value_type=str(own.value_type or ""))


def _parse_classic(kind: str, value: object, present: Sequence[Element] | None) -> list[_Written]:
    if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
        return [_parse_single_value(kind, str(value).strip(), present)]
    if isinstance(value, Mapping) and {key.lower().replace("_", "") for key in value} <= _NAMES.keys() and value:
        value = [value]
    items = [item for _, item in _pairs(value)]
    if not items:
        raise build_shape_refusal(kind, _CLASSIC_SHAPE)
    return [replace(_parse_element(item, kind, _CLASSIC_SHAPE), kind=kind) for item in items]


def _parse_single_value(kind: str, value: str, present: Sequence[Element] | None) -> _Written:
    """It replaces the only element of its kind, or becomes the first. Raises Refusal if there are several."""
    mine = [element for element in present or () if element.kind == kind]
    if len(mine) > 1:
        raise build_shape_refusal(kind, f"{_CLASSIC_SHAPE}; the record has {_format_elements(mine)}", foreign_text=True)
    return _Written(id=mine[0].id if mine else None, kind=kind, value=value)


def _parse_universal(value: object, present: Sequence[Element] | None) -> list[_Written]:
    """`fm` of crm.item.*: a list, or a map by the element's ID ("n0" for a new one). Raises Refusal."""
    if not isinstance(value, Mapping | list) or not value:
        raise build_shape_refusal("fm", _FM_SHAPE)
    known = {element.id: element for element in present or ()}
    elements = []
    for key, item in value.items() if isinstance(value, Mapping) else ((None, item) for item in value):
        by_number = key is not None and present is not None and not _NEW.fullmatch(key)
        own = _parse_element(item, "fm", _FM_SHAPE, number=key if by_number else None)
        if by_number and (not _NUMBER.fullmatch(str(key)) or str(own.id) != key):
            raise build_shape_refusal(f"fm.{key}", _FM_SHAPE)
        old = known.get(str(own.id or ""))
        kind = str(own.kind or (old.kind if old else "")).upper()
        if kind not in MULTIFIELDS:
            raise build_shape_refusal("fm.typeId", f"one of {', '.join(MULTIFIELDS)}; {_FM_SHAPE}")
        elements.append(replace(own, kind=kind))
    return elements


def _parse_element(item: object, name: str, shape: str, *, number: str | None = None) -> _Written:
    if isinstance(item, str) and item.strip() and name != "fm":
        return _Written(value=item.strip())
    mapping: JsonObject = item if isinstance(item, Mapping) else {}
    own = _find_parts(mapping)
    if not own or len(own) != len(mapping) or any(isinstance(part, Mapping | list | bool | float) for part in own.values()):
        raise build_shape_refusal(name, shape)
    return _Written(**({"id": number} | own))


def _build_step(own: _Written, present: Sequence[Element] | None, name: str) -> Step:
    number, kind = str(own.id or "").strip(), str(own.kind)
    value, value_type = str(own.value or "").strip(), str(own.value_type or "")
    gone = not value or str(own.delete or "").upper() in {"Y", "1", "TRUE"}
    if not number:
        if gone:
            raise build_shape_refusal(name, "an element with a value, or with the ID of the one to remove")
        return Step(verb="add", kind=kind, value=value, value_type=value_type)
    old = next((element for element in present or () if element.id == number and element.kind == kind), None)
    if old is None:
        same_kind = [element for element in present or () if element.kind == kind]
        raise build_shape_refusal(
            f"{name} ID {number}", f"the ID of an element that the record has: {_format_elements(same_kind)}", foreign_text=True
        )
    if gone:
        return Step(verb="remove", kind=kind, old=old)
    return Step(verb="edit", kind=kind, value=value, value_type=value_type or old.value_type, old=old)


def _select_effective_steps(steps: Sequence[Step], present: Sequence[Element], name: str) -> Iterator[Step]:
    """Additions last. Raises Refusal if a value is changed into another that the record has."""
    changed_ids = {step.old.id for step in steps if step.old is not None}
    keys = {element.key for element in present if element.id not in changed_ids}
    changes = [step for step in steps if not _changes_nothing(step)]
    keys |= {step.old.key for step in steps if step.old is not None and _changes_nothing(step)}
    for step in sorted(changes, key=lambda step: step.verb == "add"):
        key = (step.kind, to_comparable(step.kind, step.value))
        if step.verb != "remove" and key in keys:
            if step.verb == "edit":
                raise build_shape_refusal(f"{name} {step.value}", "a value that the record does not hold already")
            continue
        keys |= {key} if step.verb != "remove" else set()
        yield step


def _changes_nothing(step: Step) -> bool:
    return step.verb == "edit" and step.old is not None and (step.value, step.value_type) == (step.old.value, step.old.value_type)


def _classic_element(step: Step) -> dict[str, str]:
    if step.verb == "remove" and step.old is not None:
        return {"ID": step.old.id, "DELETE": "Y"}
    element = {"VALUE": step.value, **({"VALUE_TYPE": step.value_type} if step.value_type else {})}
    return {"ID": step.old.id, **element} if step.old is not None else element


def _universal_element(step: Step) -> dict[str, str]:
    element = {"typeId": step.kind, "value": step.value}
    return {**element, "valueType": step.value_type} if step.value_type else element


def _pairs(value: object) -> list[tuple[str, object]]:
    """Pairs (key, element); PHP converts some lists to maps."""
    if isinstance(value, Mapping):
        return [(str(key), item) for key, item in value.items()]
    return [("", item) for item in value] if isinstance(value, list) else []


def _find_parts(item: JsonObject) -> dict[str, object]:
    return {_NAMES[plain]: value for key, value in item.items() if (plain := key.lower().replace("_", "")) in _NAMES}


def to_comparable(kind: str, value: str) -> str:
    text = "".join(value.split()).casefold()
    if kind != "PHONE":
        return text.rstrip("/")
    digits = "".join(_DIGITS.findall(text))
    if len(digits) < _SHORTEST or find_references(value):
        return text
    return f"7{digits[1:]}" if len(digits) == _LOCAL and digits[0] == "8" else digits


def _format_elements(elements: Sequence[Element]) -> str:
    return "; ".join(f"ID {element.id}: {escape_text(element.value, limit=_SHOWN)}" for element in elements) or "none"
