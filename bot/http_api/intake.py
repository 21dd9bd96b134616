"""Hands inputs in to the orchestrator; what comes while one commit is under way goes together into the next. Ring 3."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from state.store import InboxRow

BATCH_SIZE: Final = 100
"""Inputs of one commit."""

Receive = Callable[[Sequence[InboxRow]], Awaitable[list[bool]]]


class InputBatcher:
    """A hundred callers at once cost two flushes of the disk, not a hundred; one alone waits for nobody."""

    def __init__(self, receive: Receive) -> None:
        """Nothing waits."""
        self._receive = receive
        self._waiting: list[tuple[InboxRow, asyncio.Future[bool]]] = []
        self._drain_task: asyncio.Task[None] | None = None

    async def take(self, row: InboxRow) -> bool:
        """Whether it is new, once it is stored; raises StoreError."""
        stored: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((row, stored))
        if self._drain_task is None:
            self._drain_task = asyncio.ensure_future(self._drain())
        return await stored

    async def _drain(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:BATCH_SIZE], self._waiting[BATCH_SIZE:]
                await self._store(batch)
        finally:
            self._drain_task = None

    async def _store(self, batch: Sequence[tuple[InboxRow, "asyncio.Future[bool]"]]) -> None:
        """All or none of them; whoever went away meanwhile hears nothing, its input is stored all the same."""
        try:
            fresh = await self._receive([row for row, _ in batch])
        except Exception as error:  # noqa: BLE001 - whatever it is belongs to those who wait
            for _, stored in batch:
                if not stored.done():
                    stored.set_exception(error)
            return
        for (_, stored), new in zip(batch, fresh, strict=True):
            if not stored.done():
                stored.set_result(new)
