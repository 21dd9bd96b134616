"""Reads stored definitions for the doors, as far as each person may, and compares two versions as data."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, Literal

from orchestrator.definitions.kinds import DefinitionKind, find_no_title, find_own_title
from orchestrator.definitions.references import StoredVersions, is_version_id, look_up_references, name_references
from orchestrator.definitions.rules import (
    Deed,
    Editor,
    KindRoles,
    NotAllowed,
    check_editor,
    check_publisher,
    check_reader,
    find_key_mistake,
)
from orchestrator.documents.document import Document
from orchestrator.documents.reports import quote_part
from orchestrator.domain.errors import SdelkaError
from orchestrator.domain.finding import WHOLE, Path
from orchestrator.domain.suggestions import suggest_name
from state.journal import definitions
from state.journal.async_store import AsyncStore
from state.model.definitions import DefinitionDamaged, DefinitionKey, DefinitionMissing, DefinitionVersion, HistoryEntry

MOST_CHANGES: Final = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """None stands for what is not there."""

    kind: Literal["added", "removed", "changed"]
    path: Path
    before: object = None
    after: object = None


@dataclass(frozen=True, kw_only=True)
class Difference:
    changes: tuple[Change, ...]
    more: bool = False
    """Further changes are left out."""


def compare_documents(before: object, after: object) -> Difference:
    """Call it in a thread: a large document takes a moment."""
    changes = list(islice(list_changes(before, after), MOST_CHANGES + 1))
    return Difference(changes=tuple(changes[:MOST_CHANGES]), more=len(changes) > MOST_CHANGES)


def list_changes(before: object, after: object, path: Path = WHOLE) -> Iterator[Change]:
    """Elements are compared by position."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys: list[str] | range = list(dict.fromkeys([*before, *after]))
        old, new = before, after
    elif isinstance(before, list) and isinstance(after, list):
        keys = range(max(len(before), len(after)))
        old, new = dict(enumerate(before)), dict(enumerate(after))
    else:
        if type(before) is not type(after) or before != after:  # True == 1 in Python, but not in JSON
            yield Change(kind="changed", path=path, before=before, after=after)
        return
    for key in keys:
        place = (*path, key)
        if key not in old:
            yield Change(kind="added", path=place, after=new[key])
        elif key not in new:
            yield Change(kind="removed", path=place, before=old[key])
        else:
            yield from list_changes(old[key], new[key], place)


_PAGE: Final = 500
_MOST_TITLES: Final = 2_000
"""A list is drawn anew at every change."""


class KindUnknown(SdelkaError):
    """There is no such kind of definitions in this program."""


@dataclass(frozen=True, kw_only=True)
class Comparison(Difference):
    before: DefinitionVersion
    after: DefinitionVersion


def find_kind(kinds: Mapping[str, DefinitionKind], name: str) -> DefinitionKind:
    kind = kinds.get(name)
    if kind is None:
        near = suggest_name(name, kinds)
        known = ", ".join(sorted(kinds)) or "none"
        raise KindUnknown(f"This program has these kinds of definitions: {known}.{f' Did you mean {near}?' if near else ''}")
    return kind


class DefinitionReader:
    """Every method raises StoreError."""

    def __init__(
        self, store: AsyncStore, kinds: Mapping[str, DefinitionKind], *, find_roles: Callable[[DefinitionKind], KindRoles]
    ) -> None:
        """`find_roles` returns the roles that hold now."""
        self._store, self._kinds, self._find_roles = store, kinds, find_roles
        self._titles: dict[tuple[str, str], str] = {}

    def find_kind(self, name: str) -> DefinitionKind:
        return find_kind(self._kinds, name)

    def may(self, editor: Editor, kind_name: str, deed: Deed) -> bool:
        kind = self.find_kind(kind_name)
        check = check_editor if deed == "edit" else check_publisher
        try:
            check(editor, kind, self._find_roles(kind))
        except NotAllowed:
            return False
        return True

    def list_kinds(self, editor: Editor) -> list[str]:
        if editor.writes_for_customers:
            return []
        return [one.name for one in self._kinds.values() if self._find_roles(one).may_read(editor.actor)]

    async def list_absent_kinds(self, editor: Editor) -> list[str]:
        """Of stored definitions; none for a person who may read nothing."""
        absent: set[str] = set()
        after = ""
        while self.list_kinds(editor) and (page := await self._store.read(definitions.list_keys, "", after, _PAGE)):
            absent.update(head.kind for head in page if head.kind not in self._kinds)
            after = page[-1].place
        return sorted(absent)

    async def list_keys(self, editor: Editor, kind_name: str = "", *, after: str = "", limit: int = 100) -> list[DefinitionKey]:
        """`after` is the `place` of the last one of the page before."""
        if kind_name:
            self._admit(editor, kind_name, check_reader)
        seen = set(self.list_kinds(editor))
        keys: list[DefinitionKey] = []
        while len(keys) < limit:
            size = min(limit - len(keys), _PAGE)
            page = await self._store.read(definitions.list_keys, kind_name, after, size)
            keys += [await self._add_title(definition_key) for definition_key in page if definition_key.kind in seen]
            if len(page) < size:
                break
            after = page[-1].place
        return keys

    async def find_key(self, editor: Editor, kind_name: str, key: str) -> DefinitionKey:
        kind = self._admit_reader(editor, kind_name, key)
        definition_key = await self._store.read(definitions.find_key, kind.name, key)
        if definition_key is None:
            raise DefinitionMissing(f"There is no {kind.name}/{quote_part(key)}.")
        return await self._add_title(definition_key)

    async def find_version(self, editor: Editor, kind_name: str, key: str, version: int = 0) -> DefinitionVersion:
        """The last one for 0. Raises DefinitionMissing."""
        return await self._find_version(self._admit_reader(editor, kind_name, key), key, version)

    async def find_by_id(self, editor: Editor, kind_name: str, version_id: str) -> DefinitionVersion:
        """By UUID. Raises DefinitionMissing."""
        kind = self._admit(editor, kind_name, check_reader)
        version = await self._store.read(definitions.find_by_id, version_id.lower()) if is_version_id(version_id) else None
        if version is None or version.kind != kind.name:
            raise DefinitionMissing(f"There is no {kind.name} with the id {quote_part(version_id)}.")
        return version if version.title else replace(version, title=find_own_title(kind, version.document))

    async def find_parts(self, editor: Editor, kind_name: str, document: object) -> Mapping[str, object]:
        """The published documents that it names, by what is written in it."""
        kind = self._admit(editor, kind_name, check_reader)
        found = await look_up_references(Document.from_data(document), kind.list_references(document), StoredVersions(self._store))
        return found[1]

    async def list_versions(self, editor: Editor, kind_name: str, key: str) -> Sequence[DefinitionVersion]:
        """Without documents. Raises DefinitionMissing."""
        await self.find_key(editor, kind_name, key)
        return await self._store.read(definitions.list_versions, kind_name, key)

    async def list_history(self, editor: Editor, kind_name: str, key: str, *, limit: int) -> Sequence[HistoryEntry]:
        """The newest first. Raises DefinitionMissing."""
        await self.find_key(editor, kind_name, key)
        return await self._store.read(definitions.list_history, kind_name, key, limit)

    async def compare(self, editor: Editor, kind_name: str, key: str, before: int, after: int) -> Comparison:
        old = await self.find_version(editor, kind_name, key, before)
        new = await self.find_version(editor, kind_name, key, after)
        difference = await asyncio.to_thread(compare_documents, old.document, new.document)
        return Comparison(before=old, after=new, changes=difference.changes, more=difference.more)

    async def name_versions(self, comparison: Comparison) -> Mapping[str, str]:
        """By id, for versions that the compared texts name."""
        kind = self.find_kind(comparison.after.kind)
        references = (*kind.list_references(comparison.before.document), *kind.list_references(comparison.after.document))
        return await name_references(references, StoredVersions(self._store))

    def _admit(self, editor: Editor, kind_name: str, check: Callable[[Editor, DefinitionKind, KindRoles], None]) -> DefinitionKind:
        """Raises NotAllowed."""
        kind = self.find_kind(kind_name)
        check(editor, kind, self._find_roles(kind))
        return kind

    def _admit_reader(self, editor: Editor, kind_name: str, key: str) -> DefinitionKind:
        kind = self._admit(editor, kind_name, check_reader)
        if find_key_mistake(key) is not None:  # nothing is stored under such a key
            raise DefinitionMissing(f"There is no {kind.name}/{quote_part(key)}.")
        return kind

    async def _find_version(self, kind: DefinitionKind, key: str, version: int) -> DefinitionVersion:
        stored_version = await self._store.read(definitions.find_version, kind.name, key, version)
        if stored_version is None:
            raise DefinitionMissing(f"There is no {f'version {version} of ' if version else ''}{kind.name}/{quote_part(key)}.")
        return stored_version if stored_version.title else replace(stored_version, title=find_own_title(kind, stored_version.document))

    async def _add_title(self, head: DefinitionKey) -> DefinitionKey:
        kind = self._kinds[head.kind]
        if head.title or kind.find_title is find_no_title:
            return head
        known = self._titles.get((head.place, head.updated_at))
        if known is None:
            known = await self._read_title(kind, head)
            if len(self._titles) >= _MOST_TITLES:
                self._titles.clear()
            self._titles[head.place, head.updated_at] = known
        return replace(head, title=known)

    async def _read_title(self, kind: DefinitionKind, head: DefinitionKey) -> str:
        try:
            version = await self._store.read(definitions.find_version, kind.name, head.key, head.active_version or head.last_version)
        except DefinitionDamaged:  # its own page says so
            return ""
        return find_own_title(kind, version.document) if version is not None else ""
