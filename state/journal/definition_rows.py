"""Definitions as they are stored: the rows of their tables, and what a commit changes of them.

`state.journal.definitions` gives them their meaning.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol


class KeyRow(NamedTuple):
    """One definition as a whole."""

    kind: str
    key: str
    title: str
    enabled: int
    active_version: int
    last_version: int
    drafts: int
    """How many of its versions are drafts."""
    revision: int
    updated_at: str
    updated_by: str


class VersionRow(NamedTuple):
    """One version of a definition, without its text, which is stored under its digest."""

    id: str
    kind: str
    key: str
    version: int
    status: str
    revision: int
    title: str
    digest: str
    note: str
    author: str
    author_name: str
    writers: str
    """A JSON list of objects with the fields `key` and `user`."""
    created_at: str
    updated_at: str
    updated_by: str
    published_by: str
    published_by_name: str
    published_at: str
    edition: int


class HistoryRow(NamedTuple):
    """One change of a definition."""

    id: str
    seq: int
    """The number of the event in the stream of session `definitions` that tells of the change."""
    at: str
    kind: str
    key: str
    version: int
    what: str
    by: str
    by_name: str
    note: str
    digest: str


class StoredVersion(NamedTuple):
    """A version with its text and whether it is active; the text is None if it is missing."""

    row: VersionRow
    active: bool
    text: str | None


@dataclass(frozen=True, kw_only=True)
class DefinitionChange:
    """The rows of one definition that a commit writes.

    A version in `changed` replaces the stored one, which must have the revision before; the commit raises StaleEpoch if it has not, and if
    a version in `added` exists already.
    """

    head: KeyRow
    added: Sequence[VersionRow] = ()
    changed: Sequence[VersionRow] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    """Digest → canonical JSON text; a text that is stored already stays."""
    history: Sequence[HistoryRow] = ()


class DefinitionReader(Protocol):
    """Reads the rows of definitions. Every method may raise StoreUnwritable."""

    def find_key(self, kind: str, key: str) -> KeyRow | None:
        """Return the definition as a whole, None if there is none."""

    def list_keys(self, kind: str, after: tuple[str, str], limit: int) -> list[KeyRow]:
        """Return definitions of one kind, of all if it is "", in order of kind and key; only those after the place `after`."""

    def find_version(self, kind: str, key: str, version: int) -> StoredVersion | None:
        """Return one version of a definition, None if there is none."""

    def find_by_id(self, version_id: str) -> StoredVersion | None:
        """Return the version with that id, None if there is none."""

    def find_active(self, kind: str, key: str) -> StoredVersion | None:
        """Return the active version of a definition; None if none is active, or if the definition is switched off."""

    def list_versions(self, kind: str, key: str) -> list[StoredVersion]:
        """Return all versions of a definition without their texts, the last one first."""

    def list_history(self, kind: str, key: str, limit: int) -> list[HistoryRow]:
        """Return the newest changes of a definition, newest first."""
