"""The asynchronous store: nothing half-known after a cancellation; what the chain covers; and a process's lease, kept while it lives."""

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from state.clock import SystemClock
from state.events.conversation import MessageReceived
from state.journal import journal, process_lease
from state.journal.async_store import AsyncStore
from state.journal.journal import RecordHead
from state.journal.process_lease import PREFIX, keep_process_lease
from state.journal.store import Commit, Lease, Store, StoreUnwritable
from state.journal.thread_worker import ThreadWorker, run_to_end
from state.sql import build_sqlite_url, open_store

NOW = datetime(2026, 11, 21, tzinfo=UTC)
OWN = {"close", "commit_group", "find_effects", "list_calls_about"}
"""What the facade calls by itself, as it has `aclose` and lets commits that wait together share a transaction, and parts of composite readings."""


class Recorder:
    """Stands for a store: remembers what was called, with what."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *args: self.calls.append((name, args))


async def test_every_method_hands_over_to_its_own_name() -> None:
    """Name and arguments arrive as they were given."""
    recorder = Recorder()
    store = AsyncStore(recorder)  # type: ignore[arg-type]
    expected = []
    for name, method in inspect.getmembers(Store, inspect.isfunction):
        if not name.startswith("_") and name not in OWN:
            args = tuple(f"argument {number}" for number in range(len(inspect.signature(method).parameters) - 1))
            await getattr(store, name)(*args)
            expected.append((name, args))
    await store.aclose()

    assert recorder.calls == [*expected, ("close", ())]


async def test_it_reads_and_writes() -> None:
    """What a commit wrote is what a composite reading finds."""
    store = AsyncStore(open_store("sqlite://"))
    lease = await store.acquire("tg:1", "one", NOW, NOW + timedelta(minutes=1))
    assert lease is not None
    said = MessageReceived(turn_id="t", text="Привет")
    [event] = await store.commit(Commit(stream="session:tg:1", epoch=1, actor="a", now=NOW, events=[said]))
    state, seq = await store.read(journal.load_state, "session:tg:1")
    await store.aclose()
    await store.aclose()

    assert (event.seq, seq, state.agent.goals) == (1, 1, ["Привет"])
    with pytest.raises(StoreUnwritable):
        await store.get_value("x")


async def test_an_error_of_the_store_reaches_the_caller() -> None:
    """The thread survives what a call raises."""
    worker = ThreadWorker("test")
    with pytest.raises(ValueError, match="invalid literal"):
        await worker.call(int, "x")
    assert await worker.call(int, "5") == 5
    await worker.aclose()


async def test_a_cancelled_call_has_ended_when_the_cancellation_arrives() -> None:
    """However often it is cancelled, the caller goes on only after the thread has finished the call."""
    worker = ThreadWorker("test")
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        may_end.wait(5)
        ended.set()

    task = asyncio.create_task(worker.call(slow))
    await asyncio.to_thread(begun.wait, 5)
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    assert not task.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert ended.is_set()
    await worker.aclose()


async def test_closing_waits_for_what_was_handed_in() -> None:
    """Calls that were made before the end are carried out in order."""
    worker = ThreadWorker("test")
    done: list[int] = []
    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(worker.call(done.append, number))
        await asyncio.sleep(0)
        await worker.aclose()

    assert done == list(range(20))


async def test_what_goes_to_its_end_hears_each_cancellation_and_is_not_cut_short() -> None:
    """However often it is cancelled: the work ends first, each try is told, then the cancellation is raised."""
    going, told, done = asyncio.Event(), [0], [False]

    async def work() -> None:
        await going.wait()
        done[0] = True

    def tell() -> None:
        told[0] += 1

    task = asyncio.ensure_future(run_to_end(work(), tell))
    for _ in range(3):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.sleep(0)
    assert (told, done) == ([3], [False])
    going.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == [True]


async def test_what_goes_to_its_end_keeps_its_own_timeouts() -> None:
    """Nothing that runs inside may wait for ever because nobody can cut it short from outside."""

    async def work() -> str:
        try:
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        except TimeoutError:
            return "in time"
        return "never"

    assert await asyncio.wait_for(run_to_end(work()), 30) == "in time"


def test_a_hash_covers_the_record_and_the_hash_before() -> None:
    """The exact text, byte by byte: old journals must verify for ever."""
    head = RecordHead("session:tg:1", 7, "id", "2026-11-21T12:00:00.000000Z", "MessageReceived", 1, 'an "actor"')
    raw = (
        '{"actor":"an \\"actor\\"","data":{"text":"Ромашка"},"id":"id","seq":7,"stream":"session:tg:1",'
        '"ts":"2026-11-21T12:00:00.000000Z","type":"MessageReceived","v":1}'
    )

    assert journal.record_text(head, '{"text":"Ромашка"}') == raw
    assert journal.hash_record("abc", raw) == sha256(b"abc" + raw.encode()).hexdigest()


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
