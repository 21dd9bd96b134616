"""From an event to its stored data and back (ring 1). Stores nothing.

A version newer than ours is refused, an older one is upcast when read; the stored bytes are never rewritten.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from state import canonical
from state.events import personal
from state.events.core import Event, type_names


class UnknownEvent(ValueError):
    """The journal holds an event that this version of the program does not know."""


SEALED = "sealed"
"""Where a record's data holds "<key id>.<sealed text>"."""
PLACE = f'"{SEALED}":""'

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
UPCASTERS: dict[tuple[str, int], Upcaster] = {}
"""(type, version) -> the function that lifts its data to version + 1. A personal field may be missing: it was blank, or is erased."""


class EncodedEvent(NamedTuple):
    """An event as it goes into the journal, made once for the fold of now and for the store."""

    type: str
    v: int
    clear: str
    """What stays readable without a key, as canonical text; with a PLACE for the sealed text where there is one to seal."""
    personal_text: str
    """What is personal and not blank, as canonical text; "" where nothing is."""
    data: dict[str, Any]
    """All of it as the journal will give it back, read from the text: a fold of it now and one of the journal later see the same."""


def encode(event: Event) -> EncodedEvent:
    """What of an event is stored; NotCanonical where it cannot be."""
    try:
        data = dict(event.__dict__)
        for name in event.models:
            data[name] = data[name].__dict__
        return _encode(event, data)
    except canonical.NotCanonical:  # a model within a list, a Decimal: what JSON makes of them is for pydantic to say
        return _encode(event, event.model_dump(mode="json"))


def _encode(event: Event, data: dict[str, Any]) -> EncodedEvent:
    blanks = event.blanks
    personal_data = {name: value for name, blank in blanks.items() if (value := data.pop(name)) != blank}
    told = canonical.dumps(personal_data) if personal_data else ""
    clear = canonical.dumps({**data, SEALED: ""} if told else data)
    shown = canonical.loads(clear)
    if told:
        del shown[SEALED]
        shown.update(canonical.loads(told))
    _fill(shown, blanks)
    return EncodedEvent(type(event).__name__, event.V, clear, told, shown)


def insert_sealed(clear: str, text: str) -> str:
    """The data of a record, as it is stored, with the sealed text in its place."""
    head, found, tail = clear.partition(PLACE)
    if not found or PLACE in tail:
        raise ValueError("there is not one place for a sealed text")
    return f'{head}"{SEALED}":"{text}"{tail}'


def _fill(data: dict[str, Any], blanks: Mapping[str, Any]) -> None:
    for name, blank in blanks.items():
        if name not in data:
            data[name] = personal.build_fresh(blank)


def join(type_name: str, version: int, clear: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    """Both parts of what was written, in today's shape and with the blanks; of an erased person's event nothing is `told`."""
    data = upcast(type_name, version, {**clear, **told})
    _fill(data, type_names[type_name].blanks)
    return data


def upcast(type_name: str, version: int, data: dict[str, Any]) -> dict[str, Any]:
    """`data` in the newest shape of its type; raises UnknownEvent for a type or version of a newer program."""
    cls = type_names.get(type_name)
    if cls is None or version > cls.V:
        msg = f"event {type_name} v{version} was written by a newer version of this program"
        raise UnknownEvent(msg)
    while version < cls.V:
        data = UPCASTERS[type_name, version](data)
        version += 1
    return data


def decode(type_name: str, version: int, data: dict[str, Any]) -> Event:
    """The event behind stored data; raises UnknownEvent as `upcast` does."""
    return type_names[type_name].model_validate(upcast(type_name, version, data))
