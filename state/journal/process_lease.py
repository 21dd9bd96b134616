"""The lease of a process: it shows that the process lives. When it ends, others may take over the sessions that the process holds.

The lease of a session lasts a minute, so that renewing those of a thousand sessions costs little. That of a process lasts seconds, and is
one row: after a `kill -9` nobody waits longer than that. A process without such a row holds its sessions for as long as they are leased.
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
"""Begins the names of these leases, before the name of the owner; no session is named so."""
PROCESS_LEASE = timedelta(seconds=10)
"""How long the lease lasts that is not renewed."""
RENEWED_PART = 1 / 6
"""The part of a lease after which it is renewed, so a database that answers nothing for 8 seconds costs no process its sessions."""


async def keep_process_lease(store: AsyncStore, clock: Clock, owner: str) -> None:
    """Renew the lease of the process whose sessions belong to `owner`, until cancelled.

    A process that cannot renew it works on: should another one take over a session, the epoch of that session refuses its commits.
    """
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
