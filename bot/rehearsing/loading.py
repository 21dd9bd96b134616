"""Loads what a trial of a checked definition needs of others."""

from collections.abc import Iterable, Mapping

from orchestrator.definitions.references import StoredVersions, is_version_id
from state.journal.async_store import AsyncStore


async def load_named(ids: Iterable[str], store: AsyncStore) -> Mapping[str, object]:
    """Return the documents of versions by their ids."""
    versions, documents = StoredVersions(store), dict[str, object]()
    for version_id in dict.fromkeys(ids):
        version = await versions.find_by_id(version_id.lower()) if is_version_id(version_id) else None
        if version is not None:
            documents[version_id] = version.document
    return documents
