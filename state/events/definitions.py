"""Events of definitions, in stream `definitions`: digests and no texts."""

from typing import ClassVar, Literal

from state.events.base import Event
from state.events.personal import Personal


class DefinitionSaved(Event):
    """`digest` is the SHA-256 of the text."""

    kind: str
    definition: str
    version: int
    revision: int
    digest: str
    what: Literal["created", "saved", "rolled_back", "imported"]
    by: str
    by_name: Personal[str] = ""
    user: int | None = None
    """Nobody publishes alone what they wrote."""
    note: Personal[str] = ""
    via: str
    later: ClassVar[frozenset[str]] = frozenset({"source_digest"})
    source_digest: str = ""
    """Of the text as its author wrote it; "" if none is kept."""


class DefinitionPublished(Event):
    """Runs begin with it from now on; `replaced` is 0 for none."""

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
    """0 from before there were editions."""


class DefinitionSwitched(Event):
    """As a whole; `version` is the active one."""

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
