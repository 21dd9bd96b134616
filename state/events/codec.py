"""Converts events to the data that is stored, and back. Stores nothing.

An event version newer than this program's is refused. An older one is converted to the newest version (upcast) when it is read; the stored
bytes are never rewritten.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from state import canonical
from state.events import (
    blocks,
    budgets,
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
    people,
    personal,
    portal,
    runs,
    schedules,
    talking,
    transfer,
)
from state.events.base import Event, type_names


class UnknownEvent(ValueError):
    """The journal holds an event that this version of the program does not know."""


FEATURES = (
    conversation,
    confirmations,
    calls,
    portal,
    blocks,
    budgets,
    cards,
    console,
    daily,
    definitions,
    documents,
    freezing,
    leads,
    memory,
    people,
    runs,
    schedules,
    talking,
    transfer,
)
"""The modules that define events. An event type is known only once its module is imported, so all of them are imported here."""

SEALED = "sealed"
"""The key in a record's data under which "<key id>.<ciphertext>" is stored."""
PLACE = f'"{SEALED}":""'

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
UPCASTERS: dict[tuple[str, int], Upcaster] = {}
"""(type, version) -> function that converts its data to version + 1. A personal field may be missing: it was blank, or is erased."""


class EncodedEvent(NamedTuple):
    """An event as it is stored. The same object serves to write the event and to apply it to the session's state (field `data`)."""

    type: str
    v: int
    clear: str
    """The part that is readable without a key, as canonical JSON; contains PLACE if there is a personal part to encrypt."""
    personal_text: str
    """The personal fields that are not blank, as canonical JSON; "" if there are none."""
    data: dict[str, Any]
    """The complete data, parsed from these two texts, so that folding now and folding from the journal later give the same state."""


def encode(event: Event) -> EncodedEvent:
    """Encode `event` for the journal. Raises NotCanonical if it cannot be stored."""
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
        told = canonical.dumps(personal_data)
        clear = canonical.dumps({**data, SEALED: ""})
        shown = canonical.loads(f"{clear[:-1]},{told[1:]}")  # both are objects, and have no key in common
        del shown[SEALED]
    else:
        told, clear = "", canonical.dumps(data)
        shown = canonical.loads(clear)
    _fill(shown, event.filled)
    return EncodedEvent(type(event).__name__, event.V, clear, told, shown)


def insert_sealed(clear: str, text: str) -> str:
    """Return `clear`, the JSON text of a record's readable part, with the encrypted text `text` inserted at the marker PLACE."""
    head, found, tail = clear.partition(PLACE)
    if not found or PLACE in tail:
        raise ValueError("there is not one place for a sealed text")
    return f'{head}"{SEALED}":"{text}"{tail}'


def _fill(data: dict[str, Any], blanks: Mapping[str, Any]) -> None:
    for name, blank in blanks.items():
        if name not in data:
            data[name] = blank if type(blank) is str else personal.build_fresh(blank)


def join_parts(type_name: str, version: int, clear: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    """Return the event's data, joined from its readable part `clear` and its decrypted personal part `told`.

    The data is converted to the newest version, and missing personal fields get blank values. For an erased person `told` is empty.
    """
    data = upcast(type_name, version, {**clear, **told})
    _fill(data, type_names[type_name].filled)
    return data


def upcast(type_name: str, version: int, data: dict[str, Any]) -> dict[str, Any]:
    """Return `data`, which is in version `version`, converted to the newest version of its event type.

    Raises UnknownEvent for a type or version of a newer program.
    """
    cls = type_names.get(type_name)
    if cls is None or version > cls.V:
        msg = f"event {type_name} v{version} was written by a newer version of this program"
        raise UnknownEvent(msg)
    while version < cls.V:
        data = UPCASTERS[type_name, version](data)
        version += 1
    return data


def decode(type_name: str, version: int, data: dict[str, Any]) -> Event:
    """Build and validate the event from stored data of any version. Raises UnknownEvent for a type or version of a newer program."""
    return type_names[type_name].model_validate(upcast(type_name, version, data))
