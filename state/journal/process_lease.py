"""The lease of a process: when it ends, others may take over its sessions.

It lasts seconds and is one row, so nobody waits long after a `kill -9`.
"""

import asyncio
import contextlib
import logging
from datetime import timedelta

from state.clock import Clock
from state.journal.async_store import AsyncStore
from state.journal.store import Lease, StoreError
from state.journal.thread_worker import run_to_end

log = logging.getLogger(__name__)

PREFIX = "process:"
PROCESS_LEASE = timedelta(seconds=10)
RENEWED_PART = 1 / 6
"""A database silent for 8 seconds costs no sessions."""


async def keep_process_lease(store: AsyncStore, clock: Clock, owner: str) -> None:
    """Renew it until cancelled. A process that cannot works on: epochs refuse its commits."""
    lease: Lease | None = None

    async def renew_lease() -> None:
        nonlocal lease
        now = clock.now()
        lease = await store.acquire(f"{PREFIX}{owner}", owner, now, now + PROCESS_LEASE)

    try:
        while True:
            try:
                await run_to_end(renew_lease())  # a lease that is got in the moment of the end is known, and released below
            except StoreError as error:
                log.warning("the lease of this process cannot be renewed: %s", error, extra={"action": "process_lease_in_doubt"})
            await asyncio.sleep(PROCESS_LEASE.total_seconds() * RENEWED_PART)
    finally:
        if lease is not None:
            with contextlib.suppress(StoreError):
                await store.release(lease)
