"""Work that only one of all processes may do at a time, such as polling a bot: under a lease, given up before it has run out. Ring 3."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import uuid4

from orchestrator.runtime.session import LEASE
from state.clock import Clock, read_boottime
from state.journal.async_store import AsyncStore
from state.journal.store import Lease, StoreError

log = logging.getLogger(__name__)

LOOK = 1.0
"""Seconds between two looks of those who wait."""

Work = Callable[[], Coroutine[Any, Any, None]]


class LeadershipLost(Exception):
    """The lease is over, or nobody can say that it is not."""


class LeaderElection:
    """The right to do one thing, for as long as it is renewed. No clock that is set prolongs it, no sleep of the machine."""

    def __init__(self, store: AsyncStore, clock: Clock, name: str) -> None:
        """`name` is what all processes call it, such as "door:telegram:1"; no session may be called so."""
        self._store = store
        self._clock = clock
        self._name = name
        self._owner = uuid4().hex
        self._lease: Lease | None = None
        self._until = 0.0

    @property
    def is_leader(self) -> bool:
        """Whether nobody else can have it yet."""
        return self._lease is not None and read_boottime() < self._until

    async def run(self, work: Work) -> None:
        """Wait for the lease, work under it, wait again when it is lost; raises what `work` raises while the lease is ours."""
        while True:
            await self._wait_for_lease()
            log.info("%s is led by this process", self._name, extra={"action": "lead_taken"})
            try:
                await self._run_while_leader(work)
            except LeadershipLost:
                log.warning("%s is led elsewhere from now on", self._name, extra={"action": "lead_lost"})
                self._lease = None
            finally:
                await self._release_lease()

    async def _wait_for_lease(self) -> None:
        while True:
            with contextlib.suppress(StoreError):
                if await self._acquire_lease():
                    return
            await asyncio.sleep(LOOK)

    async def _acquire_lease(self) -> bool:
        """Whether the lease is ours and nobody had it in between. Raises StoreError."""
        before, now = read_boottime(), self._clock.now()
        lease = await self._store.acquire(self._name, self._owner, now, now + LEASE)
        if lease is None or (self._lease is not None and lease.epoch != self._lease.epoch):
            return False
        self._lease = lease
        self._until = before + LEASE.total_seconds() * 5 / 6  # the rest is for ending what is under way
        return True

    async def _run_while_leader(self, work: Work) -> None:
        """`work` until it ends, or until the lease does; it has ended when this returns."""
        working = asyncio.ensure_future(work())
        keeping = asyncio.ensure_future(self._keep_renewing())
        try:
            await asyncio.wait({working, keeping}, return_when=asyncio.FIRST_COMPLETED)
            ours = not keeping.done() and await self._is_still_ours()
        finally:
            for task in (working, keeping):
                task.cancel()
            await asyncio.gather(working, keeping, return_exceptions=True)
        if not ours:
            raise LeadershipLost  # and if the work raised something: whoever leads now has sent it away
        working.result()

    async def _is_still_ours(self) -> bool:
        try:
            return await self._acquire_lease()
        except StoreError:
            return self.is_leader

    async def _keep_renewing(self) -> None:
        """Renew until that fails for too long; ends when the lease is lost."""
        while self.is_leader:
            await asyncio.sleep(min(LEASE.total_seconds() / 4, max(0.0, self._until - read_boottime())))
            try:
                async with asyncio.timeout(max(0.0, self._until - read_boottime())):
                    if not await self._acquire_lease():
                        return
            except TimeoutError:
                return
            except StoreError as error:
                log.warning("%s cannot be renewed: %s", self._name, error, extra={"action": "lead_in_doubt"})
                await asyncio.sleep(min(LOOK, max(0.0, self._until - read_boottime())))

    async def _release_lease(self) -> None:
        lease, self._lease, self._until = self._lease, None, 0.0
        if lease is not None:
            with contextlib.suppress(StoreError):
                await self._store.release(lease)
