"""Converts events to stored data and back; older versions are converted when read, never on disk."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from state import canonical
from state.events import (
    blocks,
    budgets,
    bulk,
    calls,
    cards,
    confirmations,
    console,
    conversation,
    daily,
    definitions,
    documents,
    freezing,
    leads,
    memory,
    orders,
    people,
    personal,
    portal,
    reports,
    runs,
    schedules,
    talking,
    transfer,
)
from state.events.base import Event, type_names


class UnknownEvent(ValueError):
    pass


FEATURES = (
    conversation,
    confirmations,
    calls,
    portal,
    blocks,
    budgets,
    bulk,
    cards,
    console,
    daily,
    definitions,
    documents,
    freezing,
    leads,
    memory,
    orders,
    people,
    reports,
    runs,
    schedules,
    talking,
    transfer,
)
"""Imported here, because a type is known once its module is imported."""

SEALED = "sealed"
PLACE = f'"{SEALED}":""'

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
UPCASTERS: dict[tuple[str, int], Upcaster] = {}
"""(type, version) → conversion to version + 1."""


class EncodedEvent(NamedTuple):
    type: str
    v: int
    clear: str
    personal_text: str
    """"" if no personal field is set."""
    data: dict[str, Any]
    """Parsed from these two texts, so that folding now and from the journal give the same state."""


def encode(event: Event) -> EncodedEvent:
    """Raises NotCanonical."""
    try:
        data = dict(event.__dict__)
        for name in event.models:
            data[name] = data[name].__dict__
        return _encode(event, data)
    except canonical.NotCanonical:  # a model inside a list or a Decimal: pydantic decides how they become JSON
        return _encode(event, event.model_dump(mode="json"))


def _encode(event: Event, data: dict[str, Any]) -> EncodedEvent:
    blanks = event.blanks
    for name, default in event.unstored.items():
        if name not in blanks and data[name] == default:
            del data[name]
    personal_data = {name: value for name, blank in blanks.items() if (value := data.pop(name)) != blank}
    if personal_data:
        personal_text = canonical.dumps(personal_data)
        clear = canonical.dumps({**data, SEALED: ""})
        whole = canonical.loads(f"{clear[:-1]},{personal_text[1:]}")  # both are objects, and have no key in common
        del whole[SEALED]
    else:
        personal_text, clear = "", canonical.dumps(data)
        whole = canonical.loads(clear)
    _fill(whole, event.filled)
    return EncodedEvent(type(event).__name__, event.V, clear, personal_text, whole)


def insert_sealed(clear: str, text: str) -> str:
    head, place, tail = clear.partition(PLACE)
    if not place or PLACE in tail:
        raise ValueError("there is not one place for a sealed text")
    return f'{head}"{SEALED}":"{text}"{tail}'


def _fill(data: dict[str, Any], blanks: Mapping[str, Any]) -> None:
    for name, blank in blanks.items():
        if name not in data:
            data[name] = blank if type(blank) is str else personal.build_fresh(blank)


def join_parts(type_name: str, version: int, clear: dict[str, Any], personal_data: dict[str, Any]) -> dict[str, Any]:
    """Join and convert to the newest version; for an erased person `personal_data` is empty."""
    data = upcast(type_name, version, {**clear, **personal_data})
    _fill(data, type_names[type_name].filled)
    return data


def upcast(type_name: str, version: int, data: dict[str, Any]) -> dict[str, Any]:
    """Convert to the newest version. Raises UnknownEvent for what a newer program wrote."""
    cls = type_names.get(type_name)
    if cls is None or version > cls.V:
        msg = f"event {type_name} v{version} was written by a newer version of this program"
        raise UnknownEvent(msg)
    while version < cls.V:
        data = UPCASTERS[type_name, version](data)
        version += 1
    return data


def decode(type_name: str, version: int, data: dict[str, Any]) -> Event:
    """Raises UnknownEvent for what a newer program wrote."""
    return type_names[type_name].model_validate(upcast(type_name, version, data))
