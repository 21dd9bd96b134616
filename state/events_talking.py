"""What the journal holds of talking that is no request by itself. Ring 1; nothing of it is part of the state."""

from state.events import Event
from state.personal import Personal


class MessageEdited(Event):
    """A person changed the words of a message after it was taken; `ref` is the messenger's number of it."""

    ref: int
    text: Personal[str]
    by: str
