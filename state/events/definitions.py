"""Events of definitions (scenarios, flows, workflows, agents): who saved, published or switched which one.

They hold no text of a definition, but its digest. They stand in the stream of session `definitions` and change no session's state.
"""

from typing import ClassVar, Literal

from state.events.base import Event
from state.events.personal import Personal


class DefinitionSaved(Event):
    """Somebody saved a text: that of a new version, or another one of a draft. `digest` is the SHA-256 of the text."""

    kind: str
    definition: str
    """The key of the definition."""
    version: int
    revision: int
    digest: str
    what: Literal["created", "saved", "rolled_back", "imported"]
    by: str
    by_name: Personal[str] = ""
    user: int | None = None
    """The user id of the person in the portal: nobody publishes alone what they wrote, and this tells who wrote."""
    note: Personal[str] = ""
    via: str


class DefinitionPublished(Event):
    """Somebody made a version the active one: runs begin with it from now on.

    `replaced` is the version that was active before, 0 for none.
    """

    kind: str
    definition: str
    version: int
    revision: int
    digest: str
    replaced: int
    by: str
    by_name: Personal[str] = ""
    user: int | None = None
    note: Personal[str] = ""
    via: str
    later: ClassVar[frozenset[str]] = frozenset({"edition"})
    edition: int = 0
    """The edition by whose rules it is played; 0 for those from before there were editions."""


class DefinitionSwitched(Event):
    """Somebody switched a definition off as a whole, so that nothing begins with it any more, or on again. `version` is the active one."""

    kind: str
    definition: str
    version: int
    digest: str
    enabled: bool
    by: str
    by_name: Personal[str] = ""
    user: int | None = None
    note: Personal[str] = ""
    via: str
