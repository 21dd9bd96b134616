"""The journal event of the company's documents: who added or removed which one by chat. It changes no session's state."""

from typing import Literal

from state.events.base import Event
from state.events.personal import Personal


class DocumentChanged(Event):
    """Somebody added a document to the folder, replaced one by another, or removed one. `digest` is the SHA-256 of the new content."""

    what: Literal["added", "replaced", "removed"]
    path: Personal[str]
    digest: str = ""
    size: int = 0
    by: str
    by_name: Personal[str] = ""
    user: int | None = None
    """The person's user id in the portal."""
