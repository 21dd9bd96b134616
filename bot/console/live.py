"""Tells open pages to read again, at once after changes and now and then without any. Idle, nothing is read."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from orchestrator.runtime.worker import Orchestrator

log = logging.getLogger(__name__)

TOGETHER: Final = 0.15
"""Seconds in which further changes are told with the first."""
AT_LEAST: Final = 15.0
"""Seconds, although nothing was announced."""

Refresh = Callable[[], Awaitable[None]]


class ChangeFeed:
    """`run` must be running."""

    def __init__(self, orchestrator: Orchestrator) -> None:
        self._sources: Sequence[list[Callable[[], None]]] = (
            orchestrator.listeners,
            orchestrator.tools.store.listeners,
            orchestrator.tools.progress.listeners,
        )
        self._changed = asyncio.Event()
        self._followers: dict[Refresh, asyncio.Task[None] | None] = {}
        self._again: set[Refresh] = set()

    def follow(self, refresh: Refresh) -> Callable[[], None]:
        """One call after the other; the returned function ends it."""
        self._followers[refresh] = None
        return lambda: self._leave(refresh)

    def _leave(self, refresh: Refresh) -> None:
        task = self._followers.pop(refresh, None)
        self._again.discard(refresh)
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    async def run(self) -> None:
        for source in self._sources:
            source.append(self._changed.set)
        try:
            while True:
                await self._wait()
                await asyncio.sleep(TOGETHER)
                self._changed.clear()
                for refresh in tuple(self._followers):
                    self._start(refresh)
        finally:
            for source in self._sources:
                source.remove(self._changed.set)
            for refresh in tuple(self._followers):
                self._leave(refresh)

    async def refresh_all(self) -> None:
        """Returns when all pages have read again."""
        for refresh in tuple(self._followers):
            self._start(refresh)
        if running := [task for task in self._followers.values() if task is not None]:
            await asyncio.wait(running)

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(AT_LEAST):
                await self._changed.wait()
        except TimeoutError:
            return

    def _start(self, refresh: Refresh) -> None:
        """Starts it, or remembers that it is due again."""
        task = self._followers.get(refresh)
        if task is not None and not task.done():
            self._again.add(refresh)
            return
        self._followers[refresh] = asyncio.create_task(self._refresh(refresh))

    async def _refresh(self, refresh: Refresh) -> None:
        while True:
            self._again.discard(refresh)
            try:
                await refresh()
            except Exception:  # the page keeps what it shows, and tries again at the next change
                log.exception("a page of the console could not be refreshed", extra={"action": "console_not_refreshed"})
            if refresh not in self._again:
                return
