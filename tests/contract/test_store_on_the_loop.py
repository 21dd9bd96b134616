"""Store calls that run in the loop's thread: locks of others, a full disk and a doubtful log disturb nobody else."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from state.journal import journal, quick_worker
from state.journal.async_store import LONGEST_PAGE, SHORTEST_PAGE, AsyncStore
from state.journal.store import Commit, Lease, StaleEpoch, StoreLocked, StoreUnwritable
from state.sql import SqlStore, open_store
from state.sql.dialect import build_sqlite_url
from tests.contract.store_kit import STREAM, incoming, intent, lease, said, step


class Watched:
    """A database in a file with its coroutines, and in which thread each commit was written."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = folder / "sdelka.db"
        self.sql = open_store(build_sqlite_url(self.path))
        self.store = AsyncStore(self.sql)
        self.groups: list[int] = []
        self.here: list[bool] = []
        self._watch("commit", monkeypatch, lambda _: 1)
        self._watch("commit_group", monkeypatch, len)

    def _watch(self, name: str, monkeypatch: pytest.MonkeyPatch, count: Callable[[Any], int]) -> None:
        whole = getattr(self.sql, name)

        def watched(given: Any) -> Any:
            done = whole(given)
            self.groups.append(count(given))
            self.here.append(threading.current_thread() is threading.main_thread())
            return done

        monkeypatch.setattr(self.sql, name, watched)

    def count_events(self, held: Lease) -> int:
        found = journal.verify_stream(self.sql, f"session:{held.session}")
        assert isinstance(found, journal.Verified)
        return found.seq


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Watched]:
    # how long a call takes is up to the machine; only the test of a stalled call is about that
    monkeypatch.setattr(quick_worker, "SLOW", 60.0)
    monkeypatch.setattr(quick_worker, "FULL", 60.0)
    made = Watched(tmp_path, monkeypatch)
    yield made
    await made.store.aclose()


async def rounds(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_commit_that_meets_no_lock_is_written_at_once(world: Watched) -> None:
    """No thread, no round of the loop."""
    held = lease(world.sql)
    await world.store.commit(step(held, said()))
    assert (world.here, world.count_events(held)) == ([True], 1)


async def test_the_lock_of_another_process_holds_up_its_own_caller_only(world: Watched) -> None:
    """The loop goes on while the commit waits, and the commit is stored once when the lock is free."""
    held = lease(world.sql)
    await world.store.get_value("warm")
    with closing(sqlite3.connect(world.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.ensure_future(world.store.commit(step(held, said())))
        received = asyncio.ensure_future(world.store.put_inbox([incoming("one")]))
        await rounds()
        assert (waiting.done(), received.done()) == (False, False)
        assert await world.store.get_value("reads need no such lock") is None
        other.execute("COMMIT")
        assert len(await waiting) == 1
        assert (await received).fresh == [True]
    assert (world.here, world.count_events(held)) == ([False], 1)


async def test_a_group_that_meets_a_lock_is_written_once_for_all(world: Watched) -> None:
    """Nobody is told of the lock."""
    held = [lease(world.sql, f"tg:{number}") for number in range(4)]
    with closing(sqlite3.connect(world.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = [asyncio.ensure_future(world.store.commit(step(one, said(), effects=[intent(one.session)]))) for one in held]
        await rounds()
        other.execute("ROLLBACK")
        await asyncio.gather(*waiting)
    assert [world.count_events(one) for one in held] == [1] * 4
    assert sum(world.groups) == 4


async def test_commits_of_one_round_of_the_loop_share_transactions(world: Watched) -> None:
    """The first is written at once, all others of the round together: with many sessions a flush for each would be most of the work."""
    held = [lease(world.sql, f"tg:{number}") for number in range(9)]
    answers = await asyncio.gather(*(world.store.commit(step(one, said())) for one in held))
    assert world.groups == [1, 8]
    assert world.here == [True, True]
    assert [[event.stream for event in one] for one in answers] == [[f"session:{one.session}"] for one in held]


async def test_commits_that_are_parted_are_written_in_the_thread(world: Watched) -> None:
    """One cannot be stored, so each of the others has a flush of its own: 64 of them on the loop would hold up everybody."""
    held = [lease(world.sql, f"tg:{number}") for number in range(9)]
    waiting = [world.store.commit(step(one, said(), after=5 if one.session == "tg:4" else 0)) for one in held]
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert [number for number, one in enumerate(answers) if isinstance(one, StaleEpoch)] == [4]
    assert [world.count_events(one) for one in held] == [1, 1, 1, 1, 0, 1, 1, 1, 1]
    assert (world.groups, world.here) == ([1] * 8, [True, *[False] * 7])


async def test_a_cancelled_commit_of_a_group_is_stored_and_told(world: Watched) -> None:
    """The cancellation comes after that, as with a thread."""
    held = [lease(world.sql, f"tg:{number}") for number in range(3)]
    told: list[str] = []
    world.store.watchers.append(lambda commit: told.append(commit.stream))
    waiting = [asyncio.ensure_future(world.store.commit(step(one, said()))) for one in held]
    await asyncio.sleep(0)
    waiting[2].cancel()
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(answers[2], asyncio.CancelledError)
    assert [world.count_events(one) for one in held] == [1, 1, 1]
    assert sorted(told) == [f"session:tg:{number}" for number in range(3)]


async def test_a_full_disk_is_told_as_ever_and_keeps_nothing(world: Watched) -> None:
    """The same error as from the thread; with room again all goes on."""
    held = lease(world.sql)
    await world.store.get_value("warm")
    [connection] = [one.driver_connection for one in world.sql._database._idle_hurried]
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages}")
    large = step(held, *(said("x" * 5000 + str(number)) for number in range(60)))
    with pytest.raises(StoreUnwritable, match="the database did not take it: database or disk is full"):
        await world.store.commit(large)
    assert world.count_events(held) == 0
    for one in world.sql._database._idle_hurried:
        one.driver_connection.execute("PRAGMA max_page_count=1073741823")
    assert len(await world.store.commit(large)) == 60


async def test_what_must_be_flushed_first_is_flushed_in_the_thread(world: Watched) -> None:
    """Emptying the log may take long."""
    held = lease(world.sql)
    world.sql._database.mark_unflushed()
    await world.store.commit(step(held, said()))
    assert world.here == [False]
    assert not world.sql._database._doubtful


async def test_a_stalled_flush_sends_those_after_it_to_the_thread(world: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """One call holds up the loop; the next ones do not, and nothing is lost."""
    held = lease(world.sql)
    whole = SqlStore.put_inbox
    stalled = threading.Event()

    def stall(self: SqlStore, *given: Any) -> Any:
        stalled.wait(0.05)
        return whole(self, *given)

    monkeypatch.setattr(quick_worker, "SLOW", 0.04)
    monkeypatch.setattr("state.journal.quick_worker.os.getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr(SqlStore, "put_inbox", stall)
    await world.store.put_inbox([incoming("one")])
    await world.store.commit(step(held, said()))
    assert (world.here, world.count_events(held)) == ([False], 1)


def test_whoever_does_not_wait_is_told_of_a_lock_with_nothing_done(tmp_path: Path) -> None:
    """Of another process, and of a thread of this one."""
    path = tmp_path / "a.db"
    store = open_store(build_sqlite_url(path))
    held = lease(store)

    def commit() -> list[Any]:
        return store.commit(Commit(stream=STREAM, epoch=held.epoch, actor="a", now=step(held).now, events=[said()]))

    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLocked):
            store.call_unless_locked(commit)
        other.execute("COMMIT")
    with store._database.write(), pytest.raises(StoreLocked):
        store.call_unless_locked(commit)
    assert len(store.call_unless_locked(commit)) == 1
    assert len(commit()) == 1
    waits = [one.driver_connection.execute("PRAGMA busy_timeout").fetchone()[0] for one in store._database._idle_hurried]
    assert waits == [0], "it would wait on the loop"
    store.close()


async def test_pages_from_the_end_are_short_at_first(world: Watched) -> None:
    """They hold every event once, the last page first; whoever finds what it looks for early reads little."""
    held = lease(world.sql)
    count = SHORTEST_PAGE * 8
    world.sql.commit(step(held, *(said(str(number)) for number in range(count))))
    pages = [[event.seq for event in page] async for page in world.store.iterate_back(STREAM, count - 1)]
    assert [len(page) for page in pages[:3]] == [SHORTEST_PAGE, 2 * SHORTEST_PAGE, 4 * SHORTEST_PAGE]
    assert [seq for page in reversed(pages) for seq in page] == list(range(1, count))
    assert all(len(page) <= LONGEST_PAGE for page in pages)
    assert [page async for page in world.store.iterate_back(STREAM, 0)] == []
