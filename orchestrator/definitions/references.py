"""Finds the versions that a document names, and fixes them by id (S002-A15)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from orchestrator.definitions.kinds import Reference
from orchestrator.definitions.mistakes import report_mistake
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
"""Of a document with other mistakes; a correct one has no more."""
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_NUMBERED: Final = re.compile(r"(?P<key>[^@]{1,64})@(?P<version>[1-9]\d{0,8})")


class StoredVersions:
    """Every method raises StoreError."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def find_by_id(self, version_id: str) -> DefinitionVersion | None:
        return await self._store.read(definitions.find_by_id, version_id)

    async def find_version(self, kind: str, key: str, version: int) -> DefinitionVersion | None:
        """The active one for 0."""
        if find_key_mistake(key) is not None:  # nothing is stored under such a key
            return None
        if version:
            return await self._store.read(definitions.find_version, kind, key, version)
        return await self._store.read(definitions.find_active, kind, key)

    async def find_key(self, kind: str, key: str) -> DefinitionKey | None:
        return await self._store.read(definitions.find_key, kind, key) if find_key_mistake(key) is None else None


@dataclass(frozen=True, slots=True)
class Linked:
    """The references are UUIDs where possible; `named` are documents by reference."""

    document: Any
    findings: tuple[Finding, ...]
    named: Mapping[str, object]


def is_version_id(text: str) -> bool:
    return _UUID.fullmatch(text) is not None


async def link_references(document: Document, references: Iterable[Reference], find: StoredVersions) -> Linked:
    findings, versions = await _find_all(document, references, find)
    data = loads(dumps(document.data))
    for reference, version in versions:
        _put(data, reference.path, version.id)
    return Linked(data, findings, {one.written: version.document for one, version in versions})


async def name_references(references: Iterable[Reference], find: StoredVersions) -> dict[str, str]:
    names: dict[str, str] = {}
    for reference in references:
        if reference.written in names or not is_version_id(reference.written):
            continue
        definition_version = await find.find_by_id(reference.written.lower())
        if definition_version is not None:
            title, address = " ".join(definition_version.title.split()), f"{definition_version.key}@{definition_version.version}"
            names[reference.written] = f"{address} ({title})" if title else address
    return names


async def look_up_references(
    document: Document, references: Iterable[Reference], find: StoredVersions
) -> tuple[tuple[Finding, ...], Mapping[str, object]]:
    """What is wrong with them, and the documents that they name, by reference."""
    findings, versions = await _find_all(document, islice(references, MOST_FOUND), find)
    return findings, {one.written: version.document for one, version in versions}


async def _find_all(
    document: Document, references: Iterable[Reference], find: StoredVersions
) -> tuple[tuple[Finding, ...], Sequence[tuple[Reference, DefinitionVersion]]]:
    findings, right = Findings(document), list[tuple[Reference, DefinitionVersion]]()
    known: dict[tuple[str, str], DefinitionVersion | str] = {}
    for reference in references:
        place = (reference.kind, reference.written)
        if place not in known:
            known[place] = await _find_published(reference, find)
        version_or_code = known[place]
        if isinstance(version_or_code, str):
            names = await name_references([reference] if version_or_code != "finding-reference-unknown" else [], find)  # people know no ids
            name = quote_part(names.get(reference.written, reference.written))
            report_mistake(findings, version_or_code, reference.path, of_value=True, name=name, kind=reference.kind)
        else:
            right.append((reference, version_or_code))
    return findings.list_all(), right


async def _find_published(reference: Reference, find: StoredVersions) -> DefinitionVersion | str:
    """Return the version, or the code of what is wrong (S002-44 … S002-46)."""
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
