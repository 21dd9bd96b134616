"""From an event to its stored data and back (ring 1). Stores nothing.

A version newer than ours is refused, an older one is upcast when read; the stored bytes are never rewritten.
"""

from collections.abc import Callable
from typing import Any

from state import (
    canonical,
    events_daily,  # noqa: F401 - its events are known once it is imported
    events_editing,  # noqa: F401 - its events are known once it is imported
    events_leads,  # noqa: F401 - its events are known once it is imported
    events_people,  # noqa: F401 - its events are known once it is imported
    events_talking,  # noqa: F401 - its events are known once it is imported
    personal,
)
from state.events import Event, type_names


class UnknownEvent(ValueError):
    """The journal holds an event that this version of the program does not know."""


Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
UPCASTERS: dict[tuple[str, int], Upcaster] = {}
"""(type, version) -> the function that lifts its data to version + 1. A personal field may be missing: it was blank, or is erased."""


def parted(event: Event) -> tuple[dict[str, Any], dict[str, Any]]:
    """The data of an event as it is stored: what stays clear, and what is personal and not blank."""
    data = event.model_dump(mode="json")
    told = {name: value for name, blank in event.blanks.items() if (value := data.pop(name)) != blank}
    return data, told


def as_read(event: Event) -> dict[str, Any]:
    """The whole data of an event as the journal will give it back; NotCanonical where it cannot be stored."""
    try:
        data = dict(event.__dict__)
        for name in event.models:
            data[name] = data[name].__dict__
        return dict(canonical.loads(canonical.dumps(data)))
    except canonical.NotCanonical:  # a model within a list, a Decimal: what JSON makes of them is for pydantic to say
        return dict(canonical.loads(canonical.dumps(event.model_dump(mode="json"))))


def joined(type_name: str, version: int, clear: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    """What `parted` took apart, in today's shape and with the blanks; an erased person's event is one of which nothing is `told`."""
    data = upcast(type_name, version, {**clear, **told})
    for name, blank in type_names[type_name].blanks.items():
        if name not in data:
            data[name] = personal.fresh(blank)
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
