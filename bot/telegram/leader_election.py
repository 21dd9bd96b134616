"""Leader election for work that only one process may do at a time, such as polling a bot.

The leader holds a lease, a row in the database with an expiry time. It stops its work before the lease expires, so that two processes
never work at once.
"""

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
"""How long a lease lasts that is not renewed: for as long nobody polls after the leader was killed."""
WORKING_PART = 3 / 4
"""The part of a lease during which its holder works; the rest is for ending what is in progress, and for clocks that differ by a second.

A database that answers nothing for 5 seconds interrupts nothing, since the lease is renewed every 1.7 seconds and worked under for 7.5.
After that its holder pauses, and goes on when the database answers again, unless another process got the lease meanwhile.
"""
LEASE_ALONE = timedelta(seconds=60)
"""The same where no other process can work with the database, so that an idle bot seldom writes to the disk."""
LOOK = 0.5
"""Seconds between two attempts of a process to get the lease."""

Work = Callable[[], Coroutine[Any, Any, None]]


class LeadershipLost(Exception):
    """This process is no longer the leader: its lease has expired, or could not be renewed in time."""


class LeaderElection:
    """Runs one piece of work in the process that is the leader, that is, as long as this process holds and renews the lease.

    The time until the lease expires is measured with the clock since boot, so neither a change of the wall clock nor a suspended machine
    can extend it.
    """

    def __init__(self, store: AsyncStore, clock: Clock, name: str, *, is_alone: bool = False) -> None:
        """Create a candidate for the lease `name`, such as "door:telegram:1".

        All processes that compete for the work must use the same name. It must differ from every session key, because sessions have leases
        in the same table. `is_alone` says that no other process can compete.
        """
        self._lease_time = LEASE_ALONE if is_alone else LEASE
        self._store = store
        self._clock = clock
        self._name = name
        self._owner = uuid4().hex
        self._lease: Lease | None = None
        self._until = 0.0

    @property
    def is_leader(self) -> bool:
        """Whether this process holds the lease now; while it does, no other process can hold it."""
        return self._lease is not None and read_boottime() < self._until

    async def run(self, work: Work) -> None:
        """Wait for the lease and run `work` while it is held; when the lease is lost, cancel the work and begin again. Never returns.

        Raises the errors of `work`, except those that occur when the lease is already lost.
        """
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
        """Acquire or renew the lease and return whether this process may go on as the leader. Raises StoreError.

        Returns False if another process holds the lease, or if another process held it for a while since this one last renewed it. A
        cancellation is raised only once it is noted whether the lease was got; otherwise nobody would release it at the end.
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
        """Run `work` until it ends or the lease is lost; cancel it in the second case and wait for its end.

        Raises LeadershipLost if the lease is lost, otherwise the error of `work` if it failed. Whether a lease has ended is seen here and
        not by the task that renews it, since that may be waiting for a database that does not answer.
        """
        working = asyncio.ensure_future(work())
        keeping = asyncio.ensure_future(self._keep_renewing())
        tasks = {working, keeping}
        try:
            while self.is_leader and not (working.done() or keeping.done()):
                await asyncio.wait(tasks, timeout=self._measure_rest(), return_when=asyncio.FIRST_COMPLETED)
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
        """Renew the lease at regular intervals; return when another process holds it."""
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

    def _measure_rest(self) -> float:
        """Return the seconds for which this process may still work as the leader."""
        return max(0.0, self._until - read_boottime())

    async def _release_lease(self) -> None:
        lease, self._lease, self._until = self._lease, None, 0.0
        if lease is not None:
            with contextlib.suppress(StoreError):
                await self._store.release(lease)
