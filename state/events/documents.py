from typing import Literal

from state.events.base import Event
from state.events.personal import Personal


class DocumentChanged(Event):
    what: Literal["added", "replaced", "removed"]
    path: Personal[str]
    digest: str = ""
    size: int = 0
    by: str
    by_name: Personal[str] = ""
    user: int | None = None
