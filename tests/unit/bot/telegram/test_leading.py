"""Work that one process does at a time: taken over when its leader stops or is silent, never done by two."""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.telegram import leader_election
from bot.telegram.leader_election import LeaderElection
from state.clock import SystemClock
from state.journal.async_store import AsyncStore
from state.journal.store import Lease, StoreUnwritable
from state.sql import build_sqlite_url, open_store
from tests.unit.spine_kit import until

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
    begins = 0

    def __init__(self, store: AsyncStore) -> None:
        self.lead = LeaderElection(store, SystemClock(), NAME)
        self.begun = asyncio.Event()
        self.task = asyncio.ensure_future(self.lead.run(self.work))

    async def work(self) -> None:
        """Until cancelled."""
        Job.begins += 1
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


@pytest.mark.long  # a lease of the real clock
async def test_who_renews_leads_on(stores: list[AsyncStore]) -> None:
    """While the first renews nobody else begins."""
    Job.most = Job.running = 0
    first = Job(stores[0])
    await asyncio.wait_for(first.begun.wait(), 30)
    second = Job(stores[1])
    await asyncio.sleep(1.0)  # nearly two leases
    assert not second.begun.is_set()
    await first.stop()
    await second.stop()
    assert Job.most == 1


async def test_one_leads_and_the_next_follows_at_once(stores: list[AsyncStore], monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not wait until the lease would have ended."""
    monkeypatch.setattr(leader_election, "LEASE", timedelta(hours=1))
    Job.most = Job.running = 0
    first = Job(stores[0])
    await asyncio.wait_for(first.begun.wait(), 30)
    second = Job(stores[1])
    await asyncio.sleep(0.1)
    assert not second.begun.is_set()
    await first.stop()
    await asyncio.wait_for(second.begun.wait(), 30)
    await second.stop()
    assert Job.most == 1


class Stall:
    """A database that answers no question for a while, and then all that were put."""

    def __init__(self, store: AsyncStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self._acquire = store.acquire
        self.over = asyncio.Event()
        monkeypatch.setattr(store, "acquire", self.acquire)

    async def acquire(self, *question: Any) -> Lease | None:
        """The answer of the database, which comes when the stall is over."""
        await self.over.wait()
        return await self._acquire(*question)


@pytest.mark.long  # a lease of the real clock
async def test_a_short_stall_of_the_database_interrupts_nothing(stores: list[AsyncStore], monkeypatch: pytest.MonkeyPatch) -> None:
    """A renewal that takes half a lease (five seconds of the real one) leaves the work as it is, and nobody else begins."""
    monkeypatch.setattr(leader_election, "LEASE", timedelta(seconds=2.4))
    Job.most = Job.running = Job.begins = 0
    first = Job(stores[0])
    await asyncio.wait_for(first.begun.wait(), 30)
    second = Job(stores[1])
    stall = Stall(stores[0], monkeypatch)
    await asyncio.sleep(1.2)
    stall.over.set()
    await asyncio.sleep(1.8)  # longer than what was left of the lease
    assert (Job.begins, Job.running, second.begun.is_set(), first.lead.is_leader) == (1, 1, False, True)
    await first.stop()
    await second.stop()


@pytest.mark.long  # a lease of the real clock
async def test_a_long_stall_ends_the_work_before_the_lease(stores: list[AsyncStore], monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader whose renewal hangs stops by itself, although the call cannot be interrupted; the next one begins after that."""
    Job.most = Job.running = Job.begins = 0
    first = Job(stores[0])
    await asyncio.wait_for(first.begun.wait(), 30)
    stall = Stall(stores[0], monkeypatch)
    second = Job(stores[1])
    await asyncio.wait_for(second.begun.wait(), 30)
    assert (Job.most, Job.running, first.lead.is_leader) == (1, 1, False)
    stall.over.set()  # the late answer is that somebody else leads
    await asyncio.sleep(0.2)
    assert (Job.most, Job.running, first.lead.is_leader) == (1, 1, False)
    await first.stop()
    await second.stop()


@pytest.mark.long  # a lease of the real clock
async def test_after_a_stall_of_the_whole_database_the_work_goes_on(stores: list[AsyncStore], monkeypatch: pytest.MonkeyPatch) -> None:
    """The database answers nobody for longer than a lease: the work pauses, and goes on in one process when it answers again."""
    Job.most = Job.running = Job.begins = 0
    jobs = [Job(store) for store in stores]
    await until(lambda: Job.running > 0)
    stalls = [Stall(store, monkeypatch) for store in stores]
    await until(lambda: Job.running == 0)
    assert not any(job.lead.is_leader for job in jobs)
    for stall in stalls:
        stall.over.set()
    await until(lambda: Job.running > 0)
    await asyncio.sleep(0.2)
    assert (Job.most, Job.running, Job.begins) == (1, 1, 2)
    for job in jobs:
        await job.stop()


@pytest.mark.long  # a lease of the real clock
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


async def test_what_the_work_raises_is_the_leaders_own(stores: list[AsyncStore], monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong token ends the program, and the lease is free."""
    monkeypatch.setattr(leader_election, "LEASE", timedelta(hours=1))

    async def broken() -> None:
        raise ValueError("token")

    with pytest.raises(ValueError, match="token"):
        await LeaderElection(stores[0], SystemClock(), NAME).run(broken)
    after = Job(stores[1])
    await asyncio.wait_for(after.begun.wait(), 30)
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
