"""The files of changes of many records as they are stored, where no portal is asked."""

import asyncio

from orchestrator.domain.bulk import BulkFile
from orchestrator.gate.call.ports import NoBulkFiles
from state.canonical import hash_text
from state.journal.async_store import AsyncStore


class StoredBulkFiles(NoBulkFiles):
    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def load(self, digest: str) -> BulkFile | None:
        """Raises StoreError, and pydantic's ValidationError for a file of another version."""
        text = await self._store.load_blob(digest) if digest else None
        if text is None or hash_text(text) != digest:
            return None
        return await asyncio.to_thread(BulkFile.model_validate_json, text)
