"""Work that one process does at a time: taken over when its leader stops or is silent, never done by two."""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bot.telegram import leader_election
from bot.telegram.leader_election import LeaderElection
from state.clock import SystemClock
from state.journal.async_store import AsyncStore
from state.journal.store import Lease, StoreUnwritable
from state.sql import build_sqlite_url, open_store

NAME = "door:telegram:77"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lease of the real clock, shortened."""
    monkeypatch.setattr(leader_election, "LEASE", timedelta(seconds=0.6))
    monkeypatch.setattr(leader_election, "LOOK", 0.01)


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[list[AsyncStore]]:
    """The stores of two processes."""
    made = [AsyncStore(open_store(build_sqlite_url(tmp_path / "x.db"))) for _ in range(2)]
    yield made
    for store in made:
        await store.aclose()


class Job:
    """Work without end; knows whether it runs."""

    running = 0
    most = 0

    def __init__(self, store: AsyncStore) -> None:
        self.lead = LeaderElection(store, SystemClock(), NAME)
        self.begun = asyncio.Event()
        self.task = asyncio.ensure_future(self.lead.run(self.work))

    async def work(self) -> None:
        """Until cancelled."""
        Job.running += 1
        Job.most = max(Job.most, Job.running)
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            Job.running -= 1

    async def stop(self) -> None:
        """As at the end of the program."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@pytest.mark.slow
async def test_one_leads_and_the_next_follows_at_once(stores: list[AsyncStore]) -> None:
    """While the first renews nobody else begins; after its clean stop the second one does, well before a lease would end."""
    Job.most = Job.running = 0
    first = Job(stores[0])
    await asyncio.wait_for(first.begun.wait(), 30)
    second = Job(stores[1])
    await asyncio.sleep(1.0)  # nearly two leases
    assert not second.begun.is_set()
    await first.stop()
    await asyncio.wait_for(second.begun.wait(), 0.5)
    await second.stop()
    assert Job.most == 1


@pytest.mark.slow
async def test_who_cannot_renew_stops_before_another_begins(stores: list[AsyncStore], monkeypatch: pytest.MonkeyPatch) -> None:
    """The database is gone for the leader only: its work has ended when the other one's begins."""
    Job.most = Job.running = 0
    first = Job(stores[0])
    await asyncio.wait_for(first.begun.wait(), 30)

    async def gone(*_: object) -> None:
        raise StoreUnwritable("no route")

    monkeypatch.setattr(stores[0], "acquire", gone)
    second = Job(stores[1])
    await asyncio.wait_for(second.begun.wait(), 30)
    assert Job.most == 1
    assert not first.lead.is_leader
    await first.stop()
    await second.stop()


async def test_what_the_work_raises_is_the_leaders_own(stores: list[AsyncStore]) -> None:
    """A wrong token ends the program, and the lease is free."""

    async def broken() -> None:
        raise ValueError("token")

    with pytest.raises(ValueError, match="token"):
        await LeaderElection(stores[0], SystemClock(), NAME).run(broken)
    after = Job(stores[1])
    await asyncio.wait_for(after.begun.wait(), 0.5)
    await after.stop()


async def test_a_lease_runs_out_while_the_machine_sleeps(stores: list[AsyncStore], monkeypatch: pytest.MonkeyPatch) -> None:
    """A suspended machine comes back hours later: nothing of the loop's own time has gone by, and yet nobody here believes to lead."""
    slept = 0.0

    def boottime(_: int) -> float:
        return time.monotonic() + slept

    monkeypatch.setattr("state.clock._ELAPSING", 7)
    monkeypatch.setattr("time.clock_gettime", boottime)
    job = Job(stores[0])
    await asyncio.wait_for(job.begun.wait(), 30)
    assert job.lead.is_leader
    slept = 3600.0
    assert not job.lead.is_leader
    await job.stop()


async def test_a_lease_got_in_the_moment_of_the_end_is_released(stores: list[AsyncStore]) -> None:
    """The program ends while it asks for the lease: the database gives it, and yet no other process has to wait until it expires."""
    store, asked = stores[0], asyncio.Event()
    acquire = store.acquire

    async def note_question(name: str, owner: str, now: datetime, until: datetime) -> Lease | None:
        asked.set()
        return await acquire(name, owner, now, until)

    store.acquire = note_question  # type: ignore[method-assign]
    job = Job(store)
    await asked.wait()
    await job.stop()
    assert not job.begun.is_set()
    now = SystemClock().now()
    assert await stores[1].acquire(NAME, "somebody else", now, now + timedelta(seconds=1)) is not None
