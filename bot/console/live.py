"""Tells open pages that something has changed, so that they read again what they show.

A page is told at once after a change in this process, or in another one whose changes the database announces; and now and then without
any, because what it says of times grows old. Several changes in a short time are told once. While nothing happens nothing is read.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from orchestrator.runtime.worker import Orchestrator

log = logging.getLogger(__name__)

TOGETHER: Final = 0.15
"""Seconds in which further changes are told together with the first."""
AT_LEAST: Final = 15.0
"""Seconds after which pages read again although nothing was announced."""

Refresh = Callable[[], Awaitable[None]]


class ChangeFeed:
    """The changes of one process, and the pages that follow them; `run` must be running."""

    def __init__(self, orchestrator: Orchestrator) -> None:
        """Follow the database and the pictures of runs."""
        self._sources: Sequence[list[Callable[[], None]]] = (
            orchestrator.listeners,
            orchestrator.tools.store.listeners,
            orchestrator.tools.progress.listeners,
        )
        self._changed = asyncio.Event()
        self._followers: dict[Refresh, asyncio.Task[None] | None] = {}
        self._again: set[Refresh] = set()

    def follow(self, refresh: Refresh) -> Callable[[], None]:
        """Call `refresh` after each change, one call after the other; return the function that ends this."""
        self._followers[refresh] = None
        return lambda: self._leave(refresh)

    def _leave(self, refresh: Refresh) -> None:
        task = self._followers.pop(refresh, None)
        self._again.discard(refresh)
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    async def run(self) -> None:
        """Follow the changes until cancelled."""
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
        """Let every page read again what it shows, and return when all have."""
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
        """Start the refresh, or remember that it is due again if it is still under way."""
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
