"""Commits of several sessions that wait at the same time share a transaction of SQLite, and none of them notices."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from state.journal.async_store import MOST_TOGETHER, AsyncStore
from state.journal.store import Commit, EffectConflict, Lease, StaleEpoch, StoredEvent, StoreUnwritable
from state.sql import open_store
from state.sql.dialect import build_sqlite_url
from tests import chain_kit
from tests.contract.store_kit import intent, lease, said, step


class Watched:
    """A database in a file with its coroutines. Its writing thread waits until the test lets it go on, so that commits come together."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sql = open_store(build_sqlite_url(folder / "sdelka.db"))
        self.store = AsyncStore(self.sql)
        self.groups: list[int] = []
        whole = self.sql.commit_group

        def commit_group(commits: Sequence[Commit]) -> list[list[StoredEvent]]:
            self.groups.append(len(commits))
            return whole(commits)

        monkeypatch.setattr(self.sql, "commit_group", commit_group)

    def take_leases(self, count: int) -> list[Lease]:
        """So many sessions of this process."""
        return [lease(self.sql, f"tg:{number}") for number in range(count)]

    async def commit_all(
        self, commits: Sequence[Commit], meanwhile: Callable[[list[asyncio.Task[Any]]], None] = lambda _: None
    ) -> list[Any]:
        """What became of the commits, which waited together; `meanwhile` is called while they do."""
        free = threading.Event()
        busy = asyncio.ensure_future(self.store.write(lambda _: free.wait()))
        await asyncio.sleep(0)
        waiting = [asyncio.ensure_future(self.store.commit(one)) for one in commits]
        await asyncio.sleep(0)
        meanwhile(waiting)
        free.set()
        await busy
        return await asyncio.gather(*waiting, return_exceptions=True)

    def count_events(self, held: Lease) -> int:
        """How many events a session has, whose chain is whole."""
        found = chain_kit.verify_stream(self.sql, f"session:{held.session}")
        assert isinstance(found, chain_kit.Verified)
        return len(self.sql.read_events(f"session:{held.session}"))


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Watched]:
    made = Watched(tmp_path, monkeypatch)
    yield made
    await made.store.aclose()


async def test_what_waits_together_is_stored_together_each_with_its_own_events(world: Watched) -> None:
    """One transaction; each caller gets the events of its own commit, and each stream its own chain."""
    held = world.take_leases(5)
    answers = await world.commit_all([step(one, said(one.session)) for one in held])
    assert world.groups == [5]
    assert [[event.stream for event in one] for one in answers] == [[f"session:{one.session}"] for one in held]
    assert [world.count_events(one) for one in held] == [1] * 5
    assert len(await world.store.commit(step(held[0], said()))) == 1
    assert world.groups == [5], "a commit that waits alone is stored as ever"


async def test_a_commit_that_is_refused_harms_no_other(world: Watched) -> None:
    """A lease that was lost and an effect in another state: the callers hear of their own error, all others are stored once."""
    held = world.take_leases(5)
    assert world.sql.commit(step(held[2], effects=[intent("taken")])) == []
    lost = Lease(session=held[1].session, owner=held[1].owner, epoch=held[1].epoch - 1, until=held[1].until)
    commits = [step(one, said()) for one in held]
    commits[1], commits[2] = step(lost, said()), step(held[2], said(), effects=[intent("taken")])
    answers = await world.commit_all(commits)
    assert world.groups == [5]
    assert isinstance(answers[1], StaleEpoch)
    assert isinstance(answers[2], EffectConflict)
    assert [world.count_events(one) for one in held] == [1, 0, 0, 1, 1]


async def test_if_the_disk_is_full_nobody_is_told_that_anything_was_stored(world: Watched) -> None:
    """All get the error, nothing of any is there, and all can be stored when there is room again."""
    held = world.take_leases(3)
    connection = world.sql._database._idle[0].driver_connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages}")
    commits = [step(one, *(said("x" * 5000 + str(number)) for number in range(40))) for one in held]
    answers = await world.commit_all(commits)
    assert world.groups == [3]
    assert all(isinstance(one, StoreUnwritable) for one in answers)
    assert [world.count_events(one) for one in held] == [0, 0, 0]
    for one in world.sql._database._idle:
        one.driver_connection.execute("PRAGMA max_page_count=1073741823")
    assert [len(one) for one in await world.commit_all(commits)] == [40] * 3


async def test_a_caller_that_is_cancelled_learns_of_it_when_its_commit_is_stored(world: Watched) -> None:
    """As with a commit of its own: what was handed in is stored, and what follows from it is done."""
    held = world.take_leases(3)
    told: list[int] = []
    world.store.watchers.append(lambda commit: told.append(len(commit.events)))
    answers = await world.commit_all([step(one, said()) for one in held], lambda waiting: (waiting[1].cancel(), None)[1])
    assert isinstance(answers[1], asyncio.CancelledError)
    assert [world.count_events(one) for one in held] == [1, 1, 1]
    assert told == [1, 1, 1]


async def test_many_are_stored_in_groups_of_a_bounded_size(world: Watched) -> None:
    """A transaction that grows with the load would hold up everything else."""
    held = world.take_leases(MOST_TOGETHER + 10)
    answers = await world.commit_all([step(one, said()) for one in held])
    assert world.groups == [MOST_TOGETHER, 10]
    assert [len(one) for one in answers] == [1] * len(held)


async def test_a_closed_store_takes_no_commit_even_if_others_still_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is told that it was not stored may rely on that."""
    world = Watched(tmp_path, monkeypatch)
    held = world.take_leases(3)
    free = threading.Event()
    busy = asyncio.ensure_future(world.store.write(lambda _: free.wait()))
    await asyncio.sleep(0)
    waiting = [asyncio.ensure_future(world.store.commit(step(one, said()))) for one in held[:2]]
    await asyncio.sleep(0)
    closing = asyncio.ensure_future(world.store.aclose())
    while not world.store._writer._closed:  # noqa: ASYNC110 - the store tells nobody of it
        await asyncio.sleep(0.001)
    with pytest.raises(StoreUnwritable):
        await world.store.commit(step(held[2], said()))
    free.set()
    await asyncio.gather(busy, *waiting, closing)
    again = open_store(build_sqlite_url(tmp_path / "sdelka.db"))
    assert [len(again.read_events(f"session:{one.session}")) for one in held] == [1, 1, 0]
    again.close()
