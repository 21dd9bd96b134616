"""The files of changes of many records as they are stored, and the turn to carry one out."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

from pydantic import ValidationError

from orchestrator.domain.bulk import BULK, BulkFile
from orchestrator.gate.call.ports import NoBulkFiles
from state.canonical import hash_text, loads
from state.clock import Clock
from state.journal.async_store import AsyncStore
from state.journal.store import Lease, StoreError
from state.journal.thread_worker import run_to_end

log = logging.getLogger(__name__)

_KEPT: Final = 4
"""Files that stay read: a run asks for its own with each part."""
_TURN: Final = timedelta(minutes=15)
"""No part takes so long. That of a dead process ends with the process's own lease, which is a matter of seconds."""
POLL: Final = timedelta(seconds=1)


def _parse(text: str) -> BulkFile | None:
    try:
        return BulkFile.model_validate(loads(text))
    except (ValueError, ValidationError):
        return None


class StoredBulkFiles(NoBulkFiles):
    """Where no portal is asked, too."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._files: dict[str, BulkFile] = {}

    async def load(self, digest: str) -> BulkFile | None:
        if digest in self._files:
            return self._files[digest]
        text = await self._store.load_blob(digest) if digest else None
        if text is None or hash_text(text) != digest:
            return None
        file = await asyncio.to_thread(_parse, text)
        if file is None:
            return None
        while len(self._files) >= _KEPT:
            del self._files[next(iter(self._files))]
        self._files[digest] = file
        return file


class ProcessTurn:
    """One process at a time carries out changes of many records: record locks hold only within it."""

    def __init__(self, store: AsyncStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._taking = asyncio.Lock()
        self._working = 0
        self._lease: Lease | None = None

    @asynccontextmanager
    async def hold(self, owner: str) -> AsyncIterator[None]:
        """Waits while another process has it. Raises StoreError."""
        self._working += 1
        try:
            async with self._taking:
                while not await run_to_end(self._take(owner)):  # noqa: ASYNC110 - another process cannot fire an event of ours
                    await asyncio.sleep(POLL.total_seconds())
            yield
        finally:
            self._working -= 1
            await run_to_end(self._leave())

    async def _take(self, owner: str) -> bool:
        now = self._clock.now()
        self._lease = await self._store.acquire(BULK, owner, now, now + _TURN)
        return self._lease is not None

    async def _leave(self) -> None:
        if self._working or self._taking.locked():  # whoever works or waits beside leaves later
            return
        async with self._taking:
            lease, self._lease = self._lease, None
            if lease is None:
                return
            try:
                await self._store.release(lease)
            except StoreError as error:
                log.warning("other processes wait for this one's turn: %s", error, extra={"action": "bulk_turn_in_doubt"})
