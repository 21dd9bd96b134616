from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol


class KeyRow(NamedTuple):
    kind: str
    key: str
    title: str
    enabled: int
    active_version: int
    last_version: int
    drafts: int
    revision: int
    updated_at: str
    updated_by: str


class VersionRow(NamedTuple):
    """Its text is stored under `digest`, the author's under `source`, "" for none."""

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
    """JSON list of {key, user}."""
    created_at: str
    updated_at: str
    updated_by: str
    published_by: str
    published_by_name: str
    published_at: str
    edition: int
    source: str


class HistoryRow(NamedTuple):
    id: str
    seq: int
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
    """`text` and the author's, `source`, are None if they are missing."""

    row: VersionRow
    active: bool
    text: str | None
    source: str | None = None


@dataclass(frozen=True, kw_only=True)
class DefinitionChange:
    """A version in `changed` replaces the stored one of the revision before, else the commit raises StaleEpoch."""

    head: KeyRow
    added: Sequence[VersionRow] = ()
    changed: Sequence[VersionRow] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    history: Sequence[HistoryRow] = ()


class DefinitionReader(Protocol):
    """Every method may raise StoreUnwritable."""

    def find_key(self, kind: str, key: str) -> KeyRow | None: ...

    def list_keys(self, kind: str, after: tuple[str, str], limit: int) -> list[KeyRow]:
        """In order of kind ("" for all) and key, after `after`."""

    def find_version(self, kind: str, key: str, version: int) -> StoredVersion | None: ...

    def find_by_id(self, version_id: str) -> StoredVersion | None: ...

    def find_active(self, kind: str, key: str) -> StoredVersion | None:
        """None also if the definition is switched off."""

    def list_versions(self, kind: str, key: str) -> list[StoredVersion]:
        """Without texts, the last one first."""

    def list_history(self, kind: str, key: str, limit: int) -> list[HistoryRow]:
        """Newest first."""
