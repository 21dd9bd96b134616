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
    for reference, version in found:
        _put(data, reference.path, version.id)
    return Linked(data, findings, {one.written: version.document for one, version in found})


async def name_references(references: Iterable[Reference], find: StoredVersions) -> dict[str, str]:
    """Return for each id of a version that is named, and is there, what people call it: `key@version`, with its title."""
    names: dict[str, str] = {}
    for reference in references:
        if reference.written in names or not is_version_id(reference.written):
            continue
        definition_version = await find.find_by_id(reference.written.lower())
        if definition_version is not None:
            title, address = " ".join(definition_version.title.split()), f"{definition_version.key}@{definition_version.version}"
            names[reference.written] = f"{address} ({title})" if title else address
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
    for reference in references:
        place = (reference.kind, reference.written)
        if place not in known:
            known[place] = await _find_published(reference, find)
        found = known[place]
        if isinstance(found, str):
            names = await name_references([reference] if found != "finding-reference-unknown" else [], find)  # people know no ids
            args: dict[str, str | int] = {"name": quote_part(names.get(reference.written, reference.written)), "kind": reference.kind}
            findings.add(found, SENTENCES[found].format(**args), reference.path, of_value=True, args=args)
        else:
            right.append((reference, found))
    return findings.list_all(), right


async def _find_published(reference: Reference, find: StoredVersions) -> DefinitionVersion | str:
    """Return the version that a reference names, or the code of what is wrong with it (S002-44 … S002-46)."""
    if is_version_id(reference.written):
        definition_version = await find.find_by_id(reference.written.lower())
    elif numbered := _NUMBERED.fullmatch(reference.written):
        definition_version = await find.find_version(reference.kind, numbered["key"], int(numbered["version"]))
    else:
        definition_version = await find.find_version(reference.kind, reference.written, 0)
        definition_key = await find.find_key(reference.kind, reference.written) if definition_version is None else None
        if definition_key is not None:
            return "finding-reference-draft" if definition_key.enabled else "finding-reference-off"
    if definition_version is None or definition_version.kind != reference.kind:
        return "finding-reference-unknown"
    if definition_version.status != "published":
        return "finding-reference-draft"
    head = await find.find_key(definition_version.kind, definition_version.key)
    return definition_version if head is not None and head.enabled else "finding-reference-off"


def _put(data: Any, path: Sequence[str | int], value: str) -> None:
    *way, last = path
    for step in way:
        data = data[step]
    data[last] = value
