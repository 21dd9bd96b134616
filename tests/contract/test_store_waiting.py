"""What waits for a disk, a lock or a long report, and what goes on meanwhile: the loop always, and whoever does not need the same."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from state.journal import journal
from state.journal.async_store import LONGEST_PAGE, READERS, SHORTEST_PAGE, AsyncStore
from state.journal.store import Lease, StoreUnwritable
from state.sql import SqlStore, open_store
from state.sql.dialect import build_sqlite_url
from tests import chain_kit
from tests.contract.store_kit import STREAM, incoming, lease, said, step


class Opened:
    """A database in a file with its coroutines."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "sdelka.db"
        self.sql = open_store(build_sqlite_url(self.path))
        self.store = AsyncStore(self.sql)

    def count_events(self, session_lease: Lease) -> int:
        chain = chain_kit.verify_stream(self.sql, f"session:{session_lease.session}")
        assert isinstance(chain, chain_kit.Verified)
        return chain.seq


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Opened]:
    opened = Opened(tmp_path)
    yield opened
    await opened.store.aclose()


async def test_a_stalled_disk_holds_up_only_who_writes(world: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a flush does not return, the loop and all reads go on; then the writes are carried out, each once and in their order."""
    session_lease, order = lease(world.sql), list[str]()
    begun, disk_is_back = threading.Event(), threading.Event()
    put_inbox, commit = SqlStore.put_inbox, SqlStore.commit

    def put_on_a_stalled_disk(store: SqlStore, *arguments: Any) -> Any:
        begun.set()
        assert disk_is_back.wait(30)
        order.append("input")
        return put_inbox(store, *arguments)

    def commit_in_order(store: SqlStore, *arguments: Any) -> Any:
        order.append("commit")
        return commit(store, *arguments)

    monkeypatch.setattr(SqlStore, "put_inbox", put_on_a_stalled_disk)
    monkeypatch.setattr(SqlStore, "commit", commit_in_order)
    received = asyncio.ensure_future(world.store.put_inbox([incoming("one")]))
    assert await asyncio.to_thread(begun.wait, 30)
    committed = asyncio.ensure_future(world.store.commit(step(session_lease, said())))
    assert await world.store.get_value("whoever reads is answered") is None
    assert await world.store.read(journal.load_state, STREAM)
    assert (received.done(), committed.done(), order) == (False, False, [])
    disk_is_back.set()
    assert (await received).fresh == [True]
    assert len(await committed) == 1
    assert (order, world.count_events(session_lease)) == (["input", "commit"], 1)


async def test_long_reports_keep_nobody_from_reading(world: Opened) -> None:
    """As long as one reader is left, a turn reads while others go through the whole journal."""
    may_end = threading.Event()
    reports = [asyncio.ensure_future(world.store.read(lambda _: may_end.wait(30))) for _ in range(READERS - 1)]
    await asyncio.sleep(0)
    assert await world.store.get_value("x") is None
    assert not any(report.done() for report in reports)
    may_end.set()
    assert await asyncio.gather(*reports) == [True] * (READERS - 1)


async def test_the_lock_of_another_process_holds_up_writes_only(world: Opened) -> None:
    """A commit waits for it, reads do not, and the commit is stored once when the lock is free."""
    session_lease = lease(world.sql)
    with closing(sqlite3.connect(world.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        committed = asyncio.ensure_future(world.store.commit(step(session_lease, said())))
        assert await world.store.get_value("reads need no such lock") is None
        assert not committed.done()
        other.execute("COMMIT")
        assert len(await committed) == 1
    assert world.count_events(session_lease) == 1


async def test_a_full_disk_keeps_nothing_of_a_commit(world: Opened) -> None:
    """The caller hears of it; with room again all goes on."""
    session_lease = lease(world.sql)
    [connection] = [idle.driver_connection for idle in world.sql._database._idle]
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages}")
    large = step(session_lease, *(said("x" * 5000 + str(number)) for number in range(60)))
    with pytest.raises(StoreUnwritable, match="the database did not take it: database or disk is full"):
        await world.store.commit(large)
    assert world.count_events(session_lease) == 0
    for idle in world.sql._database._idle:
        idle.driver_connection.execute("PRAGMA max_page_count=1073741823")
    assert len(await world.store.commit(large)) == 60


async def test_what_may_not_have_reached_the_disk_is_flushed_first(world: Opened) -> None:
    """After a flush that failed, the next call empties the log before anything else."""
    session_lease = lease(world.sql)
    world.sql._database.mark_unflushed()
    await world.store.commit(step(session_lease, said()))
    assert not world.sql._database._doubtful
    assert world.count_events(session_lease) == 1


async def test_pages_from_the_end_are_short_at_first(world: Opened) -> None:
    """They hold every event once, the last page first; whoever finds what it looks for early reads little."""
    session_lease = lease(world.sql)
    count = SHORTEST_PAGE * 8
    world.sql.commit(step(session_lease, *(said(str(number)) for number in range(count))))
    pages = [[event.seq for event in page] async for page in world.store.iterate_back(STREAM, count - 1)]
    assert [len(page) for page in pages[:3]] == [SHORTEST_PAGE, 2 * SHORTEST_PAGE, 4 * SHORTEST_PAGE]
    assert [seq for page in reversed(pages) for seq in page] == list(range(1, count))
    assert all(len(page) <= LONGEST_PAGE for page in pages)
    assert [page async for page in world.store.iterate_back(STREAM, 0)] == []
