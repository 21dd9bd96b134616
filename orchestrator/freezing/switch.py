"""The switch that freezes writes, for this process: what the gate asks, and the way every door works it. Ring 2; it decides nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from orchestrator.freezing.news import build_news_row
from state import freezing
from state.clock import read_boottime
from state.freezing import FreezeState, SwitchBusy, SwitchOperator, SwitchResult
from state.store import StoreUnwritable
from state.worker import AsyncStore

SURE_FOR: Final = 1.0
"""Seconds in which nobody is asked again whether writes may start; that they are frozen is asked every time."""
PATIENCE: Final = 8.0
"""Seconds of waiting for somebody who died with their hand on the switch."""


class LiveSwitch:
    """The gate's Switch over the database. One for a process."""

    def __init__(self, store: AsyncStore, clock: Callable[[], float] = read_boottime) -> None:
        """Nothing is known yet; `clock` runs whatever becomes of the time of day."""
        self._store = store
        self._clock = clock
        self._free_at: float | None = None

    async def find_freeze(self) -> FreezeState | None:
        """How it stands, None while writes may start; of other processes' work it may know a second late. Raises StoreError."""
        if self._free_at is not None and self._clock() - self._free_at < SURE_FOR:
            return None
        return await self._read_switch()

    async def fetch_freeze(self) -> FreezeState:
        """Who stopped a call in this moment; blank where it was lifted again at once. Raises StoreError."""
        return await self._read_switch() or FreezeState()

    async def freeze(self, hand: SwitchOperator, reason: str = "") -> SwitchResult:
        """No write starts any more once it returns; administrators are told. Raises StoreError: nothing has changed."""
        self._free_at = None
        tell = [build_news_row("frozen", hand, reason=reason)]
        return await _retry_while_busy(lambda: self._store.write(freezing.freeze, hand, reason, tell))

    async def release(self, hand: SwitchOperator, seq: int | None = None) -> SwitchResult:
        """Writes may start again; with `seq` only if that freeze still holds. Administrators are told. Raises StoreError."""
        tell = [build_news_row("released", hand)]
        return await _retry_while_busy(lambda: self._store.write(freezing.release, hand, seq, tell))

    async def _read_switch(self) -> FreezeState | None:
        before = self._clock()
        found = await self._store.read(freezing.find_freeze)
        self._free_at = before if found is None else None
        return found


async def _retry_while_busy(attempt: Callable[[], Awaitable[SwitchResult]]) -> SwitchResult:
    """What `attempt` answers once nobody else has the hand on the switch and the database takes it; its error where that takes too long."""
    until = read_boottime() + PATIENCE
    while True:
        try:
            return await attempt()
        except (SwitchBusy, StoreUnwritable):  # others write without a pause: what stops them must not give up first
            if read_boottime() > until:
                raise
            await asyncio.sleep(0.05)
