"""Phones, e-mails and the like: determines what a write would do to each of them, and builds a field value that does exactly that. Pure.

In an update, Bitrix24 adds an element without ID even if the record has it already, deletes an element with ID and no value, and ignores
several shapes. Here each element becomes one step (add, edit or remove). Duplicates and unchanged values are left out. A value that can be
understood in several ways is refused.
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
"""A field value made by `build_value`: a list of elements, or a map of elements by their id."""
_NEW: Final = re.compile(r"n[0-9]{1,4}", re.ASCII)
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,14}", re.ASCII)
_DIGITS: Final = re.compile(r"[0-9]+", re.ASCII)
_LOCAL: Final = 11
_SHORTEST: Final = 5
_SHOWN: Final = 40
_NAMES: Final = {"id": "id", "typeid": "kind", "valuetype": "value_type", "value": "value", "delete": "delete"}
"""The fields of `_Written` by the keys of a written element, in lower case without underscores."""
_CLASSIC_SHAPE: Final = (
    'a list of elements: {"VALUE": "+7…", "VALUE_TYPE": "WORK"} adds, {"ID": 156, "VALUE": "+7…"} edits, {"ID": 156, "DELETE": "Y"} removes'
)
_FM_SHAPE: Final = (
    'fm, a map: {"n0": {"typeId": "PHONE", "valueType": "WORK", "value": "+7…"}} adds, {"156": {"typeId": "PHONE", "value": "+7…"}} edits'
)


@dataclass(frozen=True, kw_only=True)
class Element:
    """One phone or address of a record; `id` is "" for an element that an earlier command of the batch adds."""

    id: str
    kind: str
    value: str
    value_type: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """The key (kind, comparable value) of equal elements: phones are compared by their digits, addresses regardless of case."""
        return self.kind, _to_comparable(self.kind, self.value)


@dataclass(frozen=True, kw_only=True)
class _Written:
    """One written phone or address in one form for both method families; a part that it lacks is None."""

    id: object = None
    kind: object = None
    value: object = None
    value_type: object = None
    delete: object = None


@dataclass(frozen=True, kw_only=True)
class Step:
    """One change of a record's phones or addresses. `old` is the present element that is edited or removed, None for an added one."""

    verb: Verb
    kind: str
    value: str = ""
    value_type: str = ""
    old: Element | None = None


def parse_elements(record: JsonObject | None) -> tuple[Element, ...]:
    """Return the phones and addresses of a record as the portal returned it; empty if it has none."""
    return tuple(_parse_record_elements(record or {}))


def is_multifield(name: str) -> bool:
    """Return whether a field with this name holds phones or addresses, in either method family (crm.deal.* or crm.item.*)."""
    return name.upper() in {*MULTIFIELDS, "FM"}


def parse_steps(name: str, value: object, present: Sequence[Element] | None, *, in_items: bool) -> tuple[Step, ...]:
    """Return the steps that writing `value` causes with the elements `present` (None: a new record). Raises Refusal if it is unclear."""
    kind = name.upper()
    if in_items != (kind == "FM"):
        raise build_shape_refusal(name, _FM_SHAPE if in_items else _CLASSIC_SHAPE)
    given = _parse_universal(value, present) if in_items else _parse_classic(kind, value, present)
    steps = [_build_step(element, present, name) for element in given]
    named = [step.old.id for step in steps if step.old is not None]
    if len(named) != len(set(named)):
        raise build_shape_refusal(name, "a list that names each element once")
    return tuple(_select_effective_steps(steps, present or (), name))


def apply_steps(steps: Sequence[Step], present: Sequence[Element]) -> tuple[Element, ...]:
    """Return the phones and addresses that a record has after the steps, if it has the elements `present` before them."""
    touched = {step.old.id: step for step in steps if step.old is not None}
    kept = [element for element in present if element.id not in touched]
    edited = [replace(step.old, value=step.value, value_type=step.value_type) for step in steps if step.verb == "edit" and step.old]
    added = [Element(id="", kind=step.kind, value=step.value, value_type=step.value_type) for step in steps if step.verb == "add"]
    return (*kept, *edited, *added)


def build_value(steps: Sequence[Step], *, in_items: bool, new: bool) -> Elements:
    """Return the field value that makes the portal carry out exactly these steps."""
    if not in_items:
        return [_classic_element(step) for step in steps]
    if new:
        return [_universal_element(step) for step in steps]
    count = sum(step.old is None for step in steps)
    width = len(str(max(count - 1, 0)))  # stored JSON sorts its keys: n10 must not come before n2, or the stored call would differ
    adds = iter(f"n{number:0{width}}" for number in range(count))
    return {step.old.id if step.old else next(adds): _universal_element(step) for step in steps}


def remove_missing(value: Elements, held: Collection[str]) -> tuple[Elements, list[str]]:
    """Return a field value of `build_value` without the elements whose IDs are not `held` any more, and these IDs."""
    if isinstance(value, dict):
        gone = [key for key in value if _NUMBER.fullmatch(key) and key not in held]
        return {key: item for key, item in value.items() if key not in gone}, gone
    numbers = [str(item.get("ID") or "") for item in value]
    kept = [item for item, number in zip(value, numbers, strict=True) if not number or number in held]
    return kept, [number for number in numbers if number and number not in held]


def to_record_fields(record: JsonObject, now: Sequence[Element]) -> dict[str, list[dict[str, str]]]:
    """Return field name → list of elements for the phone, e-mail and messenger fields of `record`, if `now` were its elements."""
    own: dict[str, list[dict[str, str]]] = {name: [] for name in record if is_multifield(name)}
    of_all = next((name for name in own if name.upper() == "FM"), None)
    for element in now:
        name = of_all or next((name for name in own if name.upper() == element.kind), element.kind)
        part = {"ID": element.id, "TYPE_ID": element.kind, "VALUE": element.value, "VALUE_TYPE": element.value_type}
        own.setdefault(name, []).append(part)
    return own


def find_unmet_steps(steps: Sequence[Step], now: Sequence[Element]) -> tuple[Step, ...]:
    """Return the steps that have not taken effect, judged by the record's present elements `now`."""
    keys = {element.key for element in now}
    by_id = {element.id: element for element in now}
    return tuple(step for step in steps if not _is_met(step, keys, by_id))


def _is_met(step: Step, keys: set[tuple[str, str]], by_id: Mapping[str, Element]) -> bool:
    if step.verb == "add" or step.old is None:
        return (step.kind, _to_comparable(step.kind, step.value)) in keys
    found = by_id.get(step.old.id)
    if step.verb == "remove":
        return found is None
    return found is not None and found.key == (step.kind, _to_comparable(step.kind, step.value))


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
    """Parse the value of a classic field such as PHONE: a list of elements of the kind `kind`, or a single value in its place."""
    if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
        return [_parse_single_value(kind, str(value).strip(), present)]
    if isinstance(value, Mapping) and {key.lower().replace("_", "") for key in value} <= _NAMES.keys() and value:
        value = [value]
    items = [item for _, item in _pairs(value)]
    if not items:
        raise build_shape_refusal(kind, _CLASSIC_SHAPE)
    return [replace(_parse_element(item, kind, _CLASSIC_SHAPE), kind=kind) for item in items]


def _parse_single_value(kind: str, value: str, present: Sequence[Element] | None) -> _Written:
    """Parse a single value: it replaces the only element of its kind, or becomes the first. Raises Refusal if there are several."""
    mine = [element for element in present or () if element.kind == kind]
    if len(mine) > 1:
        raise build_shape_refusal(kind, f"{_CLASSIC_SHAPE}; the record has {_format_elements(mine)}", foreign_text=True)
    return _Written(id=mine[0].id if mine else None, kind=kind, value=value)


def _parse_universal(value: object, present: Sequence[Element] | None) -> list[_Written]:
    """Parse the value of the field `fm` of crm.item.*, which holds phones and addresses of all kinds.

    It is a list, or a map from the element's ID (or "n0", "n1" for new elements) to the element. An element without a kind gets the kind of
    the element with its ID in `present` (the record's present elements). Raises Refusal for anything else.
    """
    if not isinstance(value, Mapping | list) or not value:
        raise build_shape_refusal("fm", _FM_SHAPE)
    known = {element.id: element for element in present or ()}
    found = []
    for key, item in value.items() if isinstance(value, Mapping) else ((None, item) for item in value):
        by_number = key is not None and present is not None and not _NEW.fullmatch(key)
        own = _parse_element(item, "fm", _FM_SHAPE, number=key if by_number else None)
        if by_number and (not _NUMBER.fullmatch(str(key)) or str(own.id) != key):
            raise build_shape_refusal(f"fm.{key}", _FM_SHAPE)
        old = known.get(str(own.id or ""))
        kind = str(own.kind or (old.kind if old else "")).upper()
        if kind not in MULTIFIELDS:
            raise build_shape_refusal("fm.typeId", f"one of {', '.join(MULTIFIELDS)}; {_FM_SHAPE}")
        found.append(replace(own, kind=kind))
    return found


def _parse_element(item: object, name: str, shape: str, *, number: str | None = None) -> _Written:
    """Parse one written element; raise Refusal if it is malformed."""
    if isinstance(item, str) and item.strip() and name != "fm":
        return _Written(value=item.strip())
    given: JsonObject = item if isinstance(item, Mapping) else {}
    own = _find_parts(given)
    if not own or len(own) != len(given) or any(isinstance(part, Mapping | list | bool | float) for part in own.values()):
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
        held = [element for element in present or () if element.kind == kind]
        raise build_shape_refusal(
            f"{name} ID {number}", f"the ID of an element that the record has: {_format_elements(held)}", foreign_text=True
        )
    if gone:
        return Step(verb="remove", kind=kind, old=old)
    return Step(verb="edit", kind=kind, value=value, value_type=value_type or old.value_type, old=old)


def _select_effective_steps(steps: Sequence[Step], present: Sequence[Element], name: str) -> Iterator[Step]:
    """Yield the steps that have an effect, additions last. Raises Refusal if a value is changed into another that the record has."""
    named = {step.old.id for step in steps if step.old is not None}
    held = {element.key for element in present if element.id not in named}
    changes = [step for step in steps if not _changes_nothing(step)]
    held |= {step.old.key for step in steps if step.old is not None and _changes_nothing(step)}
    for step in sorted(changes, key=lambda step: step.verb == "add"):
        key = (step.kind, _to_comparable(step.kind, step.value))
        if step.verb != "remove" and key in held:
            if step.verb == "edit":
                raise build_shape_refusal(f"{name} {step.value}", "a value that the record does not hold already")
            continue
        held |= {key} if step.verb != "remove" else set()
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
    """Return the elements of a list (with the key "") or of the map to which PHP converts some lists, as (key, element)."""
    if isinstance(value, Mapping):
        return [(str(key), item) for key, item in value.items()]
    return [("", item) for item in value] if isinstance(value, list) else []


def _find_parts(item: JsonObject) -> dict[str, object]:
    """Return the parts of a written element by their name in `_Written`, in either spelling."""
    return {_NAMES[plain]: value for key, value in item.items() if (plain := key.lower().replace("_", "")) in _NAMES}


def _to_comparable(kind: str, value: str) -> str:
    text = "".join(value.split()).casefold()
    if kind != "PHONE":
        return text.rstrip("/")
    digits = "".join(_DIGITS.findall(text))
    if len(digits) < _SHORTEST or find_references(value):
        return text
    return f"7{digits[1:]}" if len(digits) == _LOCAL and digits[0] == "8" else digits


def _format_elements(found: Sequence[Element]) -> str:
    return "; ".join(f"ID {element.id}: {escape_text(element.value, limit=_SHOWN)}" for element in found) or "none"
