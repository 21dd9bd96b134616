"""Tells somebody whose request waits behind another one which place it has, where the wait is longer than a moment. Ring 3.

A courtesy beside the outbox: it may come to nothing, and nothing waits for it.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from orchestrator.messages import Notice
from state.store import InboxRow, StoreError
from state.worker import AsyncStore

AFTER: Final = 2.0
"""Seconds; what begins sooner is not worth a word."""
MOST: Final = 256
"""Conversations that are watched at once."""
_REQUESTS: Final = frozenset({"message", "voice"})

Tell = Callable[[str, Notice], Awaitable[None]]


class Queue:
    """One look ahead a conversation, at its newest request."""

    def __init__(self, store: AsyncStore, tell: Tell, *, after: float = AFTER) -> None:
        """`tell` says something in a chat at once, and may fail silently."""
        self._store = store
        self._tell = tell
        self._after = after
        self._watching: dict[str, asyncio.Task[None]] = {}

    def joined(self, rows: Sequence[InboxRow], *, busy: bool) -> None:
        """New inputs came in; `busy` says whether the conversation was at work already. Returns at once."""
        newest = next((row for row in reversed(rows) if row.kind in _REQUESTS and row.lane == "turn"), None)
        if newest is None or not busy:
            return
        earlier = self._watching.pop(newest.session, None)
        if earlier is not None:
            earlier.cancel()
        if len(self._watching) < MOST:
            task = asyncio.ensure_future(self._look(newest))
            self._watching[newest.session] = task
            task.add_done_callback(lambda done: self._forget(newest.session, done))

    def close(self) -> None:
        """Watch nobody any more."""
        for task in self._watching.values():
            task.cancel()

    def _forget(self, session: str, task: asyncio.Task[None]) -> None:
        if self._watching.get(session) is task:
            del self._watching[session]

    async def _look(self, row: InboxRow) -> None:
        await asyncio.sleep(self._after)
        with contextlib.suppress(StoreError):
            waiting = [item.id for item in await self._store.waiting_inbox(row.session, "turn")]
            if row.id in waiting[1:]:
                await self._tell(row.session, Notice(code="queued", args={"place": waiting.index(row.id) + 1}))
