"""Reads stored definitions for the doors (HTTP API, console, command line), as far as each person may read them."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.definitions.changes import Difference, compare_documents
from orchestrator.definitions.kinds import DefinitionKind, find_no_title, find_own_title
from orchestrator.definitions.references import StoredVersions, is_version_id, name_references
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
from orchestrator.documents.reports import quote_part
from orchestrator.domain.errors import SdelkaError
from orchestrator.domain.suggestions import suggest_name
from state.journal import definitions
from state.journal.async_store import AsyncStore
from state.model.definitions import DefinitionDamaged, DefinitionKey, DefinitionMissing, DefinitionVersion, HistoryEntry

_PAGE: Final = 500
_MOST_TITLES: Final = 2_000
"""How many titles are remembered; a list of definitions is drawn anew at every change of one."""


class KindUnknown(SdelkaError):
    """There is no such kind of definitions in this program."""


@dataclass(frozen=True, kw_only=True)
class Comparison(Difference):
    """What changed between two versions of a definition."""

    before: DefinitionVersion
    after: DefinitionVersion


def find_kind(kinds: Mapping[str, DefinitionKind], name: str) -> DefinitionKind:
    """Return the kind. Raises KindUnknown, which names those that there are."""
    kind = kinds.get(name)
    if kind is None:
        near = suggest_name(name, kinds)
        known = ", ".join(sorted(kinds)) or "none"
        raise KindUnknown(f"This program has these kinds of definitions: {known}.{f' Did you mean {near}?' if near else ''}")
    return kind


class DefinitionReader:
    """What may be read of definitions. Every method raises StoreError."""

    def __init__(
        self, store: AsyncStore, kinds: Mapping[str, DefinitionKind], *, find_roles: Callable[[DefinitionKind], KindRoles]
    ) -> None:
        """Read definitions of these kinds. `find_roles` returns the roles that hold now."""
        self._store, self._kinds, self._find_roles = store, kinds, find_roles
        self._titles: dict[tuple[str, str], str] = {}
        """The titles of untitled definitions, by their place and when they were changed last."""

    def find_kind(self, name: str) -> DefinitionKind:
        """Return the kind. Raises KindUnknown, which names those that there are."""
        return find_kind(self._kinds, name)

    def may(self, editor: Editor, kind_name: str, deed: Deed) -> bool:
        """Return whether the person may edit or publish definitions of the kind, whatever these write. Raises KindUnknown."""
        kind = self.find_kind(kind_name)
        check = check_editor if deed == "edit" else check_publisher
        try:
            check(editor, kind, self._find_roles(kind))
        except NotAllowed:
            return False
        return True

    def list_kinds(self, editor: Editor) -> list[str]:
        """Return the kinds whose definitions the person may read."""
        if editor.writes_for_customers:
            return []
        return [one.name for one in self._kinds.values() if self._find_roles(one).may_read(editor.actor)]

    async def list_absent_kinds(self, editor: Editor) -> list[str]:
        """Return the kinds of stored definitions that no engine of this program has; nothing to a person who may read no others."""
        absent: set[str] = set()
        after = ""
        while self.list_kinds(editor) and (page := await self._store.read(definitions.list_keys, "", after, _PAGE)):
            absent.update(head.kind for head in page if head.kind not in self._kinds)
            after = page[-1].place
        return sorted(absent)

    async def list_keys(self, editor: Editor, kind_name: str = "", *, after: str = "", limit: int = 100) -> list[DefinitionKey]:
        """Return definitions of the kind, or of all kinds that the person may read, in the order of kinds and keys.

        `after` is the `place` of the last one of the page before.
        """
        if kind_name:
            kind = self.find_kind(kind_name)
            check_reader(editor, kind, self._find_roles(kind))
        seen = set(self.list_kinds(editor))
        found: list[DefinitionKey] = []
        while len(found) < limit:
            size = min(limit - len(found), _PAGE)
            page = await self._store.read(definitions.list_keys, kind_name, after, size)
            found += [await self._add_title(definition_key) for definition_key in page if definition_key.kind in seen]
            if len(page) < size:
                break
            after = page[-1].place
        return found

    async def find_key(self, editor: Editor, kind_name: str, key: str) -> DefinitionKey:
        """Return the definition as a whole. Raises DefinitionMissing."""
        kind = self._admit_reader(editor, kind_name, key)
        definition_key = await self._store.read(definitions.find_key, kind.name, key)
        if definition_key is None:
            raise DefinitionMissing(f"There is no {kind.name}/{quote_part(key)}.")
        return await self._add_title(definition_key)

    async def find_version(self, editor: Editor, kind_name: str, key: str, version: int = 0) -> DefinitionVersion:
        """Return a version with its document, the last one for 0. Raises DefinitionMissing."""
        return await self._find_version(self._admit_reader(editor, kind_name, key), key, version)

    async def find_by_id(self, editor: Editor, kind_name: str, version_id: str) -> DefinitionVersion:
        """Return the version of this kind with that UUID, with its document. Raises DefinitionMissing."""
        kind = self.find_kind(kind_name)
        check_reader(editor, kind, self._find_roles(kind))
        version = await self._store.read(definitions.find_by_id, version_id.lower()) if is_version_id(version_id) else None
        if version is None or version.kind != kind.name:
            raise DefinitionMissing(f"There is no {kind.name} with the id {quote_part(version_id)}.")
        return version if version.title else replace(version, title=find_own_title(kind, version.document))

    async def list_versions(self, editor: Editor, kind_name: str, key: str) -> Sequence[DefinitionVersion]:
        """Return the versions of a key without their documents. Raises DefinitionMissing."""
        await self.find_key(editor, kind_name, key)
        return await self._store.read(definitions.list_versions, kind_name, key)

    async def list_history(self, editor: Editor, kind_name: str, key: str, *, limit: int) -> Sequence[HistoryEntry]:
        """Return what was done with a key, the newest first. Raises DefinitionMissing."""
        await self.find_key(editor, kind_name, key)
        return await self._store.read(definitions.list_history, kind_name, key, limit)

    async def compare(self, editor: Editor, kind_name: str, key: str, before: int, after: int) -> Comparison:
        """Return what changed between two versions of a key. Raises DefinitionMissing."""
        old = await self.find_version(editor, kind_name, key, before)
        new = await self.find_version(editor, kind_name, key, after)
        difference = await asyncio.to_thread(compare_documents, old.document, new.document)
        return Comparison(before=old, after=new, changes=difference.changes, more=difference.more)

    async def name_versions(self, comparison: Comparison) -> Mapping[str, str]:
        """Return by its id what people call each version of another definition that one of two compared texts names."""
        kind = self.find_kind(comparison.after.kind)
        references = (*kind.list_references(comparison.before.document), *kind.list_references(comparison.after.document))
        return await name_references(references, StoredVersions(self._store))

    def _admit_reader(self, editor: Editor, kind_name: str, key: str) -> DefinitionKind:
        kind = self.find_kind(kind_name)
        check_reader(editor, kind, self._find_roles(kind))
        if find_key_mistake(key) is not None:  # nothing is stored under such a key
            raise DefinitionMissing(f"There is no {kind.name}/{quote_part(key)}.")
        return kind

    async def _find_version(self, kind: DefinitionKind, key: str, version: int) -> DefinitionVersion:
        found = await self._store.read(definitions.find_version, kind.name, key, version)
        if found is None:
            raise DefinitionMissing(f"There is no {f'version {version} of ' if version else ''}{kind.name}/{quote_part(key)}.")
        return found if found.title else replace(found, title=find_own_title(kind, found.document))

    async def _add_title(self, head: DefinitionKey) -> DefinitionKey:
        """Return the definition with the title that its text says, if it was stored before its kind had titles."""
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
