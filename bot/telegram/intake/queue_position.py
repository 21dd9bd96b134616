"""Tells a person the queue position of a request that waits. The notice may get lost."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from orchestrator.domain.inputs import REQUEST_KINDS
from orchestrator.domain.outputs import Notice
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow, StoreError

NOTICE_DELAY: Final = 2.0
"""Seconds before the notice."""
MAX_WATCHED: Final = 256
"""Conversations watched at once."""

Tell = Callable[[str, Notice], Awaitable[None]]


class QueueNotices:
    """Watches the newest waiting request of each conversation."""

    def __init__(self, store: AsyncStore, tell: Tell, *, after: float = NOTICE_DELAY) -> None:
        """`tell` returns at once and may fail silently."""
        self._store = store
        self._tell = tell
        self._after = after
        self._watch_tasks: dict[str, asyncio.Task[None]] = {}

    def watch_requests(self, rows: Sequence[InboxRow], *, busy: bool) -> None:
        """`rows` are of one conversation; without `busy` nothing waits."""
        newest = next((row for row in reversed(rows) if row.kind in REQUEST_KINDS and row.lane == "turn"), None)
        if newest is None or not busy:
            return
        earlier = self._watch_tasks.pop(newest.session, None)
        if earlier is not None:
            earlier.cancel()
        if len(self._watch_tasks) < MAX_WATCHED:
            task = asyncio.ensure_future(self._tell_position(newest))
            self._watch_tasks[newest.session] = task
            task.add_done_callback(lambda done: self._discard_watch(newest.session, done))

    def close(self) -> None:
        for task in self._watch_tasks.values():
            task.cancel()

    def _discard_watch(self, session: str, task: asyncio.Task[None]) -> None:
        if self._watch_tasks.get(session) is task:
            del self._watch_tasks[session]

    async def _tell_position(self, row: InboxRow) -> None:
        await asyncio.sleep(self._after)
        with contextlib.suppress(StoreError):
            waiting = [item.id for item in await self._store.list_waiting_inbox(row.session, "turn")]
            if row.id in waiting[1:]:
                await self._tell(row.session, Notice(code="queued", args={"place": waiting.index(row.id) + 1}))
