"""What the journal holds of answers that their reader fetches. Ring 1."""

from typing import Any

from state.events import Event
from state.personal import Personal


class AnswerGiven(Event):
    """A session that nothing is delivered to was told something: a row of the outbox, kept here for whoever asks for it."""

    cause: str
    """The input that it answers."""
    kind: str
    outbox_key: str = ""
    """A later answer with the same key takes the place of the earlier one."""
    body: Personal[dict[str, Any]]
