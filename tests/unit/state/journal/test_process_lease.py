"""The lease of a process: kept while it lives, given back at its end, and no reason to end where the database is in trouble."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from state.clock import SystemClock
from state.journal import process_lease
from state.journal.async_store import AsyncStore
from state.journal.process_lease import PREFIX, keep_process_lease
from state.journal.store import Lease, StoreUnwritable
from state.sql import build_sqlite_url, open_store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[AsyncStore]:
    """A store of this process alone."""
    made = AsyncStore(open_store(build_sqlite_url(tmp_path / "x.db")))
    yield made
    await made.aclose()


async def test_a_lease_is_renewed_through_trouble_and_released_at_the_end(store: AsyncStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that refuses once is asked again; after a clean end nobody waits for the lease to run out."""
    monkeypatch.setattr(process_lease, "PROCESS_LEASE", timedelta(seconds=0.06))
    acquire, asked, enough = store.acquire, list[str](), asyncio.Event()

    async def refuse_the_second(session: str, owner: str, now: datetime, until: datetime) -> Lease | None:
        asked.append(session)
        if len(asked) == 2:
            raise StoreUnwritable("the disk is full")
        if len(asked) == 4:
            enough.set()
        return await acquire(session, owner, now, now + timedelta(hours=1))

    monkeypatch.setattr(store, "acquire", refuse_the_second)
    keeping = asyncio.ensure_future(keep_process_lease(store, SystemClock(), "one"))
    await asyncio.wait_for(enough.wait(), 30)
    now = SystemClock().now()
    assert await acquire(f"{PREFIX}one", "two", now, now + timedelta(hours=1)) is None
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    assert set(asked) == {f"{PREFIX}one"}
    assert await acquire(f"{PREFIX}one", "two", now, now + timedelta(hours=1)) is not None


async def test_a_lease_got_in_the_moment_of_the_end_is_released(store: AsyncStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends while it asks for its first lease: the database gives it, and yet nobody waits for it to run out."""
    acquire, asked = store.acquire, asyncio.Event()
    now = SystemClock().now()
    await acquire("another", "one", now, now)

    async def note_question(session: str, owner: str, now: datetime, until: datetime) -> Lease | None:
        asked.set()
        return await acquire(session, owner, now, until)

    monkeypatch.setattr(store, "acquire", note_question)
    keeping = asyncio.ensure_future(keep_process_lease(store, SystemClock(), "one"))
    await asked.wait()
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    now = SystemClock().now()
    assert await acquire(f"{PREFIX}one", "two", now, now + timedelta(hours=1)) is not None
