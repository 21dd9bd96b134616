"""Events of the memory that a flow has of a person: what its runs left for later runs, and that somebody cleared it.

They stand in the stream of session `memory:<flow>:<person>` and change no session's state. What is still remembered follows from them.
"""

from typing import Any

from state.events.base import Event
from state.events.personal import Personal


class MemoryWritten(Event):
    """A step of a run left entries. They are sealed under the key of the run's owner, so they are gone when that person is erased."""

    definition: str
    """The key of the flow."""
    run: str
    node: str
    """The node of the run that wrote: it writes once."""
    entries: Personal[list[dict[str, Any]]]
    """The entries, oldest first: {channel, data, origins}."""
    retention: Personal[dict[str, list[int]]]
    """How much the channels kept when this was written, as the flow said then: [entries, days] by channel."""
    kept_from: int
    """The seq of the first event that a reader of this stream still needs: what stands before it is too old or was replaced."""


class MemoryCleared(Event):
    """Operations staff made a flow forget what it remembered of a person. `by` is who did, such as "cli:anna"."""

    definition: str
    by: str
