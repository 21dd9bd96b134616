"""The leader holds a lease in the database and stops its work before the lease expires: two processes never work at once."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any
from uuid import uuid4

from state.clock import Clock, read_boottime
from state.journal.async_store import AsyncStore
from state.journal.process_lease import PROCESS_LEASE, RENEWED_PART
from state.journal.store import Lease, StoreError
from state.journal.thread_worker import run_to_end

log = logging.getLogger(__name__)

LEASE = PROCESS_LEASE
"""So long nobody polls after the leader was killed."""
WORKING_PART = 3 / 4
"""The rest of a lease is for ending what is in progress, and for clocks that differ by a second."""
LEASE_ALONE = timedelta(seconds=60)
"""So that an idle bot seldom writes to the disk."""
LOOK = 0.5
"""Seconds between attempts to get the lease."""

Work = Callable[[], Coroutine[Any, Any, None]]


class LeadershipLost(Exception):
    pass


class LeaderElection:
    """Measures by the clock since boot: neither a changed wall clock nor a suspended machine extends a lease."""

    def __init__(self, store: AsyncStore, clock: Clock, name: str, *, is_alone: bool = False) -> None:
        """`name` is the same in all processes, and no session key."""
        self._lease_time = LEASE_ALONE if is_alone else LEASE
        self._store = store
        self._clock = clock
        self._name = name
        self._owner = uuid4().hex
        self._lease: Lease | None = None
        self._until = 0.0

    @property
    def is_leader(self) -> bool:
        """No other process is the leader meanwhile."""
        return self._lease is not None and read_boottime() < self._until

    async def run(self, work: Work) -> None:
        """Never returns: when the lease is lost, the work is cancelled and begins again. Raises the errors of `work`."""
        while True:
            try:
                await self._wait_for_lease()
                log.info("%s is led by this process", self._name, extra={"action": "lead_taken"})
                await self._run_while_leader(work)
            except LeadershipLost:
                log.warning("%s is no longer led by this process", self._name, extra={"action": "lead_lost"})
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
        """False if another process holds the lease, or held it meanwhile. Raises StoreError.

        A cancellation waits until it is noted whether the lease was got.
        """
        return await run_to_end(self._ask_for_lease())

    async def _ask_for_lease(self) -> bool:
        before, now = read_boottime(), self._clock.now()
        lease = await self._store.acquire(self._name, self._owner, now, now + self._lease_time)
        if lease is None or (self._lease is not None and lease.epoch != self._lease.epoch):
            return False
        self._lease = lease
        self._until = before + self._lease_time.total_seconds() * WORKING_PART
        return True

    async def _run_while_leader(self, work: Work) -> None:
        """Raises LeadershipLost, or the error of `work`. Notices the end of the lease even if the database does not answer."""
        working = asyncio.ensure_future(work())
        keeping = asyncio.ensure_future(self._keep_renewing())
        tasks = {working, keeping}
        try:
            while self.is_leader and not (working.done() or keeping.done()):
                await asyncio.wait(tasks, timeout=max(0.0, self._until - read_boottime()), return_when=asyncio.FIRST_COMPLETED)
            ours = self.is_leader and not keeping.done() and await self._is_still_ours()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if not ours:
            raise LeadershipLost  # an error of the work is dropped: the new leader caused it by taking over
        working.result()

    async def _is_still_ours(self) -> bool:
        try:
            return await self._acquire_lease()
        except StoreError:
            return self.is_leader

    async def _keep_renewing(self) -> None:
        pause = self._lease_time.total_seconds() * RENEWED_PART
        while True:
            await asyncio.sleep(pause)
            try:
                if not await self._acquire_lease():
                    return
                pause = self._lease_time.total_seconds() * RENEWED_PART
            except StoreError as error:
                log.warning("%s cannot be renewed: %s", self._name, error, extra={"action": "lead_in_doubt"})
                pause = LOOK

    async def _release_lease(self) -> None:
        lease, self._lease, self._until = self._lease, None, 0.0
        if lease is not None:
            with contextlib.suppress(StoreError):
                await self._store.release(lease)
