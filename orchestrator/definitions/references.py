"""Finds the versions of other definitions that a document names, such as the agents of a flow, and fixes them by their ids (S002-A15)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from orchestrator.definitions.kinds import Reference
from orchestrator.definitions.mistakes import SENTENCES
from orchestrator.definitions.rules import find_key_mistake
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.documents.reports import quote_part
from orchestrator.domain.finding import Finding
from state.canonical import dumps, loads
from state.journal import definitions
from state.journal.async_store import AsyncStore
from state.model.definitions import DefinitionKey, DefinitionVersion

MOST_FOUND: Final = 500
"""How many references of a document with other mistakes are looked up; a correct document has no more."""
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_NUMBERED: Final = re.compile(r"(?P<key>[^@]{1,64})@(?P<version>[1-9]\d{0,8})")


class StoredVersions:
    """Looks references up in the store of definitions. Every method raises StoreError."""

    def __init__(self, store: AsyncStore) -> None:
        """Look in `store`."""
        self._store = store

    async def find_by_id(self, version_id: str) -> DefinitionVersion | None:
        """Return the version with this UUID, None if there is none."""
        return await self._store.read(definitions.find_by_id, version_id)

    async def find_version(self, kind: str, key: str, version: int) -> DefinitionVersion | None:
        """Return the version with this number, the active one for 0; None if there is none."""
        if find_key_mistake(key) is not None:  # nothing is stored under such a key
            return None
        if version:
            return await self._store.read(definitions.find_version, kind, key, version)
        return await self._store.read(definitions.find_active, kind, key)

    async def find_key(self, kind: str, key: str) -> DefinitionKey | None:
        """Return the definition as a whole, None if there is none."""
        return await self._store.read(definitions.find_key, kind, key) if find_key_mistake(key) is None else None


@dataclass(frozen=True, slots=True)
class Linked:
    """A document in which every reference is the UUID of a version, and what is wrong with those that are not.

    `named` are the documents of these versions, by what was written in the references.
    """

    document: Any
    findings: tuple[Finding, ...]
    named: Mapping[str, object]


def is_version_id(text: str) -> bool:
    """Return whether a text is a UUID, and so may be the id of a version."""
    return _UUID.fullmatch(text) is not None


async def link_references(document: Document, references: Iterable[Reference], find: StoredVersions) -> Linked:
    """Return the document with its references fixed. One that is unknown, unpublished or switched off stays, and is reported."""
    findings, found = await _find_all(document, references, find)
    data = loads(dumps(document.data))
    for one, version in found:
        _put(data, one.path, version.id)
    return Linked(data, findings, {one.written: version.document for one, version in found})


async def name_references(references: Iterable[Reference], find: StoredVersions) -> dict[str, str]:
    """Return for each id of a version that is named, and is there, what people call it: `key@version`, with its title."""
    names: dict[str, str] = {}
    for one in references:
        if one.written in names or not is_version_id(one.written):
            continue
        found = await find.find_by_id(one.written.lower())
        if found is not None:
            title, address = " ".join(found.title.split()), f"{found.key}@{found.version}"
            names[one.written] = f"{address} ({title})" if title else address
    return names


async def find_reference_mistakes(document: Document, references: Iterable[Reference], find: StoredVersions) -> tuple[Finding, ...]:
    """Return what is wrong with the first references of a document that may be any draft."""
    return (await _find_all(document, islice(references, MOST_FOUND), find))[0]


async def _find_all(
    document: Document, references: Iterable[Reference], find: StoredVersions
) -> tuple[tuple[Finding, ...], Sequence[tuple[Reference, DefinitionVersion]]]:
    """Return what is wrong with references, and each of the others with its version."""
    findings, right = Findings(document), list[tuple[Reference, DefinitionVersion]]()
    known: dict[tuple[str, str], DefinitionVersion | str] = {}
    for one in references:
        place = (one.kind, one.written)
        if place not in known:
            known[place] = await _find_published(one, find)
        found = known[place]
        if isinstance(found, str):
            names = await name_references([one] if found != "finding-reference-unknown" else [], find)  # people know no ids
            args: dict[str, str | int] = {"name": quote_part(names.get(one.written, one.written)), "kind": one.kind}
            findings.add(found, SENTENCES[found].format(**args), one.path, of_value=True, args=args)
        else:
            right.append((one, found))
    return findings.list_all(), right


async def _find_published(one: Reference, find: StoredVersions) -> DefinitionVersion | str:
    """Return the version that a reference names, or the code of what is wrong with it (S002-44 … S002-46)."""
    if is_version_id(one.written):
        found = await find.find_by_id(one.written.lower())
    elif numbered := _NUMBERED.fullmatch(one.written):
        found = await find.find_version(one.kind, numbered["key"], int(numbered["version"]))
    else:
        found = await find.find_version(one.kind, one.written, 0)
        named = await find.find_key(one.kind, one.written) if found is None else None
        if named is not None:
            return "finding-reference-draft" if named.enabled else "finding-reference-off"
    if found is None or found.kind != one.kind:
        return "finding-reference-unknown"
    if found.status != "published":
        return "finding-reference-draft"
    head = await find.find_key(found.kind, found.key)
    return found if head is not None and head.enabled else "finding-reference-off"


def _put(data: Any, path: Sequence[str | int], value: str) -> None:
    *way, last = path
    for step in way:
        data = data[step]
    data[last] = value
