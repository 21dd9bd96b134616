"""Changes of one record are judged and made one after the other in this process, so that none overwrites what it has not seen."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager

from orchestrator.gate.call.effect import Target


class RecordLocks:
    def __init__(self) -> None:
        self._held: dict[Target, tuple[asyncio.Lock, int]] = {}
        """With how many hold or want it."""

    @asynccontextmanager
    async def hold(self, targets: Iterable[Target]) -> AsyncIterator[None]:
        """From the read of these records until after the write."""
        async with AsyncExitStack() as stack:
            # In one order, or two would wait for each other; what was stored holds lists.
            for target in sorted({(str(kind), int(number)) for kind, number in targets}):
                await stack.enter_async_context(self._hold_one(target))
            yield

    @asynccontextmanager
    async def _hold_one(self, target: Target) -> AsyncIterator[None]:
        lock, count = self._held.get(target, (asyncio.Lock(), 0))
        self._held[target] = lock, count + 1
        try:
            async with lock:
                yield
        finally:
            lock, count = self._held.pop(target)
            if count > 1:
                self._held[target] = lock, count - 1
