"""What workflows are played with beside their runs."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from engines.workflows.core.blocks.queries import RecordQueries
from engines.workflows.core.results import DisplayUpdatePayload
from engines.workflows.core.rune_types import RuneParams, RuneTypes
from engines.workflows.core.scheduler import NotStarted
from orchestrator.domain.taint import Origins, Value
from orchestrator.expressions.scripts.runner import ScriptRunner

AI_CALLS: Final = 4
"""Calls of one AI service at a time in one process."""
SCRIPTS: Final = 16
"""Scripts at a time in one process."""
Show = Callable[[str, DisplayUpdatePayload, Origins], Awaitable[None]]
"""Shows something for a node. It may be dropped (S003-70)."""


class Bounds:
    """Bounds calls of AI services and scripts, of which too many at once would be refused."""

    def __init__(self, calls: int = AI_CALLS, scripts: int = SCRIPTS) -> None:
        self.scripts = asyncio.Semaphore(scripts)
        self._turns: dict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(calls))

    def find(self, service: str) -> asyncio.Semaphore:
        return self._turns[service]


class Halt:
    """Tells what waits for its turn that a part of the run has failed: nothing that costs money begins any more (S003-X4)."""

    def __init__(self) -> None:
        self._is_stopped = False
        self._waiting: set[asyncio.Timeout] = set()

    def stop(self) -> None:
        if not self._is_stopped:
            self._is_stopped = True
            for waiting in self._waiting:
                waiting.reschedule(0)

    @asynccontextmanager
    async def hold(self, places: asyncio.Semaphore) -> AsyncIterator[None]:
        """Raises NotStarted if there is no place and the run has failed, or fails while this waits."""
        if places.locked():
            await self._wait(places)
        else:
            await places.acquire()
        try:
            yield
        finally:
            places.release()

    def _is_over(self) -> bool:
        return self._is_stopped

    async def _wait(self, places: asyncio.Semaphore) -> None:
        """Look once more: a place that a failed call has left is free before its tuum has failed."""
        if self._is_over():
            raise NotStarted
        turn = asyncio.timeout(None)
        try:
            async with turn:
                self._waiting.add(turn)
                await places.acquire()
        except TimeoutError:
            raise NotStarted from None
        finally:
            self._waiting.discard(turn)
        if self._is_over():
            places.release()
            raise NotStarted


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    types: RuneTypes
    scripts: ScriptRunner
    params: dict[int, RuneParams] = field(default_factory=dict)
    """By the id() of the rune; must not live longer than the runes do."""
    show: Show
    blocks: RecordQueries | None = None
    player: Mapping[str, Value] = field(default_factory=dict)
    bounds: Bounds = field(default_factory=Bounds)
    halt: Halt = field(default_factory=Halt)
    clock: datetime | None = None
    """When the run began, so that a replay gives the same."""
