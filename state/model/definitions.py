"""Stored definitions as readers see them, and the errors of changing them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from state.journal.store import StoreError

Status = Literal["draft", "published"]
HistoryKind = Literal["created", "saved", "published", "deactivated", "switched_off", "switched_on", "rolled_back", "imported"]
EDITION: Final = 1
"""The rules by which engines play what is published now; 0 is older.

1: in scenarios the values of a caller and of `initial_context` win over the program's.
"""
Origin = Literal["created", "rolled_back", "imported"]
"""It was written, is that of an earlier version, or came from a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """`via` is the door: "http", "cli" and so on."""

    key: str
    name: str
    user: int | None
    via: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """An account that saved a text; `user` is its id in the portal."""

    key: str
    user: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionVersion:
    """Times are ISO texts, "" for what has not happened."""

    id: str
    kind: str
    key: str
    version: int
    status: Status
    active: bool
    """Runs begin with it: at most one of a key, which may be switched off besides."""
    revision: int
    """Grows with every change; a change names the one it is based on."""
    title: str
    document: Any
    """None in lists, which are read without documents."""
    digest: str
    """The SHA-256 of its canonical JSON."""
    note: str
    author: str
    author_name: str
    writers: tuple[Writer, ...]
    """Everybody who ever saved a text of it."""
    created_at: str
    updated_at: str
    updated_by: str = ""
    published_by: str
    published_by_name: str
    published_at: str
    edition: int = 0
    """The `EDITION` at its first publishing; 0 until then."""
    source: str = ""
    """The text that its author wrote, with comments and order; it counts only if it reads as the document. "" for none, and in lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionKey:
    kind: str
    key: str
    title: str
    enabled: bool
    """False if somebody switched the whole key off."""
    active_version: int
    """0 for none."""
    last_version: int
    has_draft: bool
    revision: int
    """Grows when another version becomes active or the key is switched."""
    updated_at: str
    updated_by: str

    @property
    def place(self) -> str:
        """`list_keys` goes on after it."""
        return f"{self.kind}/{self.key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """`version` is 0 if a key without an active version was switched."""

    id: str
    seq: int = 0
    at: str
    kind: str
    key: str
    version: int
    what: HistoryKind
    by: str
    by_name: str
    note: str
    digest: str
    """"" for no version."""


class DefinitionMissing(StoreError):
    pass


class StaleRevision(StoreError):
    """`present` is how it is now."""

    def __init__(self, present: DefinitionVersion | DefinitionKey) -> None:
        super().__init__(f"{present.kind}/{present.key} has revision {present.revision} by now")
        self.present = present


class NotADraft(StoreError):
    """A published text cannot change; `present` is how it is now."""

    def __init__(self, present: DefinitionVersion) -> None:
        super().__init__(f"version {present.version} of {present.kind}/{present.key} is published: a new version can be made of it")
        self.present = present


class DefinitionsBusy(StoreError):
    """Nothing was changed: try again, with the time of that moment."""


class DefinitionDamaged(StoreError):
    """A stored text is not the one that was saved."""


class DefinitionUnstorable(StoreError):
    """The document is too large, too deep or not storable, or a name is."""
