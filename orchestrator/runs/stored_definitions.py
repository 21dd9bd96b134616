from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from orchestrator.definitions.rules import find_key_mistake
from orchestrator.engines.runs import Definition, FindParts, RunFailed
from orchestrator.runs.registry import MOST_LISTED, Definitions, Engines
from state.journal import definitions
from state.journal.async_store import AsyncStore
from state.model.definitions import DefinitionDamaged, DefinitionKey

OFF: Final = "run-definition-off"
UNPUBLISHED: Final = "run-definition-unpublished"
DAMAGED: Final = "run-definition-damaged"


class StoredDefinitions:
    """Published definitions, which stand before the program's own."""

    def __init__(self, store: AsyncStore, engines: Engines) -> None:
        self._store, self._static = store, engines.definitions
        self._kinds = {name: engine.kind.name for name, engine in engines.runs.items() if engine.kind is not None}

    async def find(self, engine: str, key: str, /) -> Definition | None:
        """In force; None if there is none. Raises RunFailed if it is off, unpublished or damaged."""
        head = await self._find_key(engine, key)
        if head is not None:
            _check_enabled(head)
            if head.active_version:
                return await self._load_active(head)
        static = await self._static.find(engine, key)
        if static is None and head is not None:
            raise RunFailed(UNPUBLISHED, f"no version of {key} is published", definition=key)
        return static

    async def check_start(self, engine: str, key: str, /) -> None:
        """Raises RunFailed if the key is switched off, also for a text fixed before."""
        head = await self._find_key(engine, key)
        if head is not None:
            _check_enabled(head)
        else:
            await self._static.check_start(engine, key)

    async def list_all(self, engine: str, /) -> Sequence[Definition]:
        """Those of the program follow, where none in force hides them."""
        kind = self._kinds.get(engine)
        heads = await self._store.read(definitions.list_keys, kind, "", MOST_LISTED) if kind is not None else []
        by_key = {definition.key: definition for definition in await self._static.list_all(engine)}
        for head in heads:
            if not head.enabled:
                by_key.pop(head.key, None)
            elif head.active_version:
                with suppress(RunFailed):  # damaged, or switched off since the moment before: it cannot be started
                    by_key[head.key] = await self._load_active(head)
        return [by_key[key] for key in sorted(by_key)][:MOST_LISTED]

    async def _find_key(self, engine: str, key: str) -> DefinitionKey | None:
        kind = self._kinds.get(engine)
        if kind is None or find_key_mistake(key) is not None:  # nothing is stored under such a key
            return None
        return await self._store.read(definitions.find_key, kind, key)

    async def _load_active(self, head: DefinitionKey) -> Definition:
        try:
            definition_version = await self._store.read(definitions.find_active, head.kind, head.key)
        except DefinitionDamaged as error:
            raise RunFailed(DAMAGED, str(error), definition=head.key) from error
        if definition_version is None:
            raise _build_off(head)  # since the moment before; the program's own definition never takes the place of one that is off
        return Definition(
            key=definition_version.key,
            version=definition_version.version,
            document=definition_version.document,
            edition=definition_version.edition,
        )


def _check_enabled(head: DefinitionKey) -> None:
    if not head.enabled:
        raise _build_off(head)


def _build_off(head: DefinitionKey) -> RunFailed:
    return RunFailed(OFF, f"{head.key} is switched off", definition=head.key)


def add_stored_definitions(engines: Engines, store: AsyncStore) -> Engines:
    """The store's stand before their own."""
    if isinstance(engines.definitions, StoredDefinitions):
        return engines
    stored: Definitions = StoredDefinitions(store, engines)
    return replace(engines, definitions=stored)


def build_part_finder(store: AsyncStore, kind: str) -> FindParts:
    """Of published parts of this kind that are not switched off, such as agents of flows."""

    async def find(versions: list[str], /) -> Mapping[str, object]:
        documents = {version: await _find_part(store, kind, version) for version in versions}
        return {version: document for version, document in documents.items() if document is not None}

    return find


async def _find_part(store: AsyncStore, kind: str, version_id: str) -> object:
    definition_version = await store.read(definitions.find_by_id, version_id)
    if definition_version is None or definition_version.kind != kind or definition_version.status != "published":
        return None
    head = await store.read(definitions.find_key, kind, definition_version.key)
    return definition_version.document if head is not None and head.enabled else None
