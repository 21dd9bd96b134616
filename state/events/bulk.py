"""Changes of many records."""

from state.events.base import Event
from state.events.personal import Personal


class BulkFrozen(Event):
    """`file` is the SHA-256 of what its card shows; what is carried out is exactly that."""

    effect_id: str
    file: Personal[str]
