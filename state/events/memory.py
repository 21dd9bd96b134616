"""Events of a flow's memory of a person, in stream `memory:<flow>:<person>`."""

from typing import Any

from state.events.base import Event
from state.events.personal import Personal


class MemoryWritten(Event):
    """Sealed under the key of the run's owner."""

    definition: str
    run: str
    node: str
    entries: Personal[list[dict[str, Any]]]
    """{channel, data, origins}, oldest first."""
    retention: Personal[dict[str, list[int]]]
    """[entries, days] by channel."""
    kept_from: int
    """The first seq that readers still need."""


class MemoryCleared(Event):
    definition: str
    by: str
