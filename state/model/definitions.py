"""Stored definitions (scenarios, flows, workflows, agents) as their readers see them, and the errors of changing them.

A definition is named by its kind and key, and has numbered versions. `state.journal.definitions` has the operations.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from state.journal.store import StoreError

Status = Literal["draft", "published"]
HistoryKind = Literal["created", "saved", "published", "deactivated", "switched_off", "switched_on", "rolled_back", "imported"]
EDITION: Final = 1
"""The edition of what is published now: by which rules an engine plays it. 0 is that of versions published before there were editions.

1: in scenarios the values of a caller and of `initial_context` win over those that the program has under the same names.
"""
Origin = Literal["created", "rolled_back", "imported"]
"""Where the text of a new version comes from: it was written, is that of an earlier version, or came from a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """The person or program that changes a definition, through which door ("http", "cli" and so on), and when."""

    key: str
    name: str
    user: int | None
    """The person's user id in the portal, None if there is none."""
    via: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Somebody who saved a text of a version: the key of the account, and the user id in the portal."""

    key: str
    user: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionVersion:
    """One version of a definition. Times are ISO texts, "" for what has not happened yet."""

    id: str
    kind: str
    key: str
    version: int
    status: Status
    active: bool
    """Whether this is the version that runs begin with; of each key at most one is. The key as a whole may be switched off, too."""
    revision: int
    """Grows with every change of the version, also when it becomes or ceases to be active. A change names the revision it is based on."""
    title: str
    document: Any
    """The JSON value of the definition; None in lists of versions, which are read without documents."""
    digest: str
    """The SHA-256 of the canonical JSON text of `document`."""
    note: str
    """What was noted when the text was last saved."""
    author: str
    author_name: str
    writers: tuple[Writer, ...]
    """Everybody who saved a text of this version, also one that was replaced since, in the order of their first."""
    created_at: str
    updated_at: str
    """When the text was last saved, by `updated_by`."""
    updated_by: str = ""
    published_by: str
    published_by_name: str
    published_at: str
    """When the version was last published, by `published_by`."""
    edition: int = 0
    """The edition of the time when it was first published, which it keeps; 0 until then. See `EDITION`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionKey:
    """A definition as a whole, as lists show it; it holds no document."""

    kind: str
    key: str
    title: str
    """The title of the active version; that of the last one if none is active."""
    enabled: bool
    """Whether runs may begin with it; False if somebody switched the whole key off."""
    active_version: int
    """0 if no version is active."""
    last_version: int
    has_draft: bool
    revision: int
    """Grows when another version becomes active and when the key is switched off or on, but not when a draft is saved."""
    updated_at: str
    updated_by: str

    @property
    def place(self) -> str:
        """Its place in the list of all definitions, which `list_keys` goes on after."""
        return f"{self.kind}/{self.key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One change of a definition: who did what with which version. `version` is 0 if a key without an active version was switched."""

    id: str
    seq: int = 0
    """The number of the event in the stream of session `definitions` that tells of the change."""
    at: str
    kind: str
    key: str
    version: int
    what: HistoryKind
    by: str
    by_name: str
    note: str
    digest: str
    """The SHA-256 of the version's text at that time, "" if there is no version."""


class DefinitionMissing(StoreError):
    """There is no such definition or version."""


class StaleRevision(StoreError):
    """Somebody else has changed the version or key since it was read; `present` is how it is now."""

    def __init__(self, present: DefinitionVersion | DefinitionKey) -> None:
        """Say what changed; the text names no person and no document."""
        super().__init__(f"{present.kind}/{present.key} has revision {present.revision} by now")
        self.present = present


class NotADraft(StoreError):
    """The version is published, so that its text can no longer change; `present` is how it is now."""

    def __init__(self, present: DefinitionVersion) -> None:
        """Say which version it is."""
        super().__init__(f"version {present.version} of {present.kind}/{present.key} is published: a new version can be made of it")
        self.present = present


class DefinitionsBusy(StoreError):
    """Somebody else is changing definitions at this moment, and nothing was changed: try again, with the time of that moment."""


class DefinitionDamaged(StoreError):
    """A stored text is not the one that was saved, so it must not be used."""


class DefinitionUnstorable(StoreError):
    """The document is too large or too deep, or holds what cannot be stored; or the name of a kind or key does."""
