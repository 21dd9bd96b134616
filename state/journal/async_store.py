"""The store for asyncio: its methods run in threads, so that no flush blocks the event loop.

SQLite gets one thread for writes and one for reads, PostgreSQL several for both: a caller that needs an order between two calls awaits the
first. A started call is always carried out: a cancelled caller gets the cancellation only after the thread has finished, so no commit is
still running then; its result can be read from the store.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextvars import copy_context
from datetime import datetime
from functools import partial
from queue import SimpleQueue
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar

from state.events.talking import AnswerGiven
from state.journal.record_index import IndexEntry, What
from state.journal.store import (
    ClearEvent,
    Commit,
    EffectRow,
    EffectStatus,
    InboxRow,
    Lane,
    Lease,
    OutboxRow,
    Snapshot,
    Store,
    StoredEvent,
    StoredInputs,
    StoreUnwritable,
    Timer,
)

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
Job = Callable[[], None]


class Notifier(Protocol):
    """Tells other processes that there may be new rows, and is told by them. Any hint may be lost."""

    def start(self, heard: Callable[[], None]) -> None:
        """Begin to listen; `heard` is called from a thread."""
        ...

    def tell(self) -> None:
        """Tell the other processes soon; returns at once and never fails."""
        ...

    def close(self) -> None:
        """Stop listening and telling."""
        ...


class _Answer(asyncio.Future[T]):
    """A future that a thread completes; it refuses cancellation, so asyncio reports a cancellation only once the result is there.

    `shield` would do the same with a second future and two more rounds of the loop per call.
    """

    def cancel(self, msg: Any | None = None) -> bool:
        """Refuse the cancellation."""
        del msg
        return False


class ThreadWorker:
    """Runs functions in its threads, in order if there is one thread. Costs a third of concurrent.futures per call."""

    def __init__(self, name: str, threads: int = 1) -> None:
        """Start the threads."""
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._closed = False
        self._threads = [threading.Thread(target=self._work, name=f"{name}-{number}", daemon=True) for number in range(threads)]
        for thread in self._threads:
            thread.start()

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function` in a thread; a cancellation is raised only after it has finished."""
        if self._closed:
            raise StoreUnwritable("the store is closed")
        return await self._run(partial(function, *args, **kwargs))

    async def aclose(self) -> None:
        """Finish the calls handed in before, then end the threads."""
        if not self._closed:
            self._closed = True
            for _ in self._threads:
                self._jobs.put(None)
            for thread in self._threads:
                await asyncio.to_thread(thread.join)

    async def _run(self, function: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        answer: _Answer[T] = _Answer(loop=loop)
        context = copy_context()  # log lines of the thread belong to the caller's context

        def job() -> None:
            try:
                value = context.run(function)
            except BaseException as error:  # noqa: BLE001  whatever it is belongs to the caller, not to this thread
                _hand_over(loop, answer.set_exception, error)
            else:
                _hand_over(loop, answer.set_result, value)

        self._jobs.put(job)
        try:
            return await answer
        except asyncio.CancelledError:
            answer.exception()  # Mark the exception as retrieved; the caller gets the cancellation.
            raise

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


def _hand_over(loop: asyncio.AbstractEventLoop, setter: Callable[[Any], None], value: object) -> None:
    try:
        loop.call_soon_threadsafe(setter, value)
    except RuntimeError:  # the loop was closed meanwhile: nobody waits for the result
        return


def _is_news(step: Commit) -> bool:
    """Whether another process may be waiting for this commit: to deliver, to work on it, or to answer."""
    return bool(step.outbox or step.inbox_new or any(isinstance(event, AnswerGiven) for event in step.events))


async def run_to_end(work: Coroutine[Any, Any, T], told: Callable[[], None] | None = None) -> T:
    """Return the result of `work`; a cancellation is raised only after `work` has ended. `told` is called on each cancellation.

    The work is an ordinary task: a task that refuses to be cancelled would also refuse its own timeouts.
    """
    task = asyncio.ensure_future(work)
    stopped: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            stopped = error
            if told is not None:
                told()
    if stopped is not None:
        if not task.cancelled():
            task.exception()  # Mark the exception as retrieved; the caller gets the cancellation.
        raise stopped
    return task.result()


class AsyncStore:
    """Every method of `Store` as a coroutine; closes the store it was given."""

    def __init__(self, store: Store, *, threads: int = 1, hints: Notifier | None = None) -> None:
        """Drive `store` from this event loop only. With one thread, reads get their own thread; `hints` tell other processes to look."""
        self._store = store
        self._writer = ThreadWorker("store-writer", threads)
        self._reader = ThreadWorker("store-reader") if threads == 1 else self._writer
        self._hints = hints
        self.listeners: list[Callable[[], None]] = []
        """Called in the loop when another process may have stored inputs or replies. A hint only, never to be relied on."""
        self.watchers: list[Callable[[Commit], None]] = []
        """Called in the loop for each commit that this process stored; their exceptions are logged and ignored."""
        if hints is not None:
            hints.start(partial(_hand_over, asyncio.get_running_loop(), self._notify_listeners, None))

    def _notify_listeners(self, _: None) -> None:
        for listener in self.listeners:
            listener()

    async def read(self, function: Callable[Concatenate[Store, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function(store, …)`, which only reads (such as `journal.load_state`), as one call."""
        return await self._reader.call(function, self._store, *args, **kwargs)

    async def write(self, function: Callable[Concatenate[Store, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function(store, …)`, which writes (such as `freeze_switch.freeze`), as one call."""
        done = await self._writer.call(function, self._store, *args, **kwargs)
        if self._hints is not None:
            self._hints.tell()
        return done

    async def aclose(self) -> None:
        """Finish the calls under way, then close the store."""
        if self._hints is not None:
            await asyncio.to_thread(self._hints.close)
        await self._reader.aclose()
        await self._writer.aclose()
        self._store.close()

    async def put_inbox(self, rows: Sequence[InboxRow], claim: Sequence[tuple[str, Lane]] = ()) -> StoredInputs:
        """See `Store.put_inbox`."""
        stored = await self._writer.call(self._store.put_inbox, rows, claim)
        if self._hints is not None:
            self._hints.tell()
        return stored

    async def list_ready_sessions(self, owner: str = "", now: datetime | None = None) -> list[tuple[str, Lane]]:
        """See `Store.list_ready_sessions`."""
        return await self._reader.call(self._store.list_ready_sessions, owner, now)

    async def take_inbox(self, session: str, lane: Lane) -> InboxRow | None:
        """See `Store.take_inbox`."""
        return await self._writer.call(self._store.take_inbox, session, lane)

    async def return_inbox(self, row_id: str) -> None:
        """See `Store.return_inbox`."""
        await self._writer.call(self._store.return_inbox, row_id)

    async def list_waiting_inbox(self, session: str, lane: Lane, limit: int = 100) -> list[InboxRow]:
        """See `Store.list_waiting_inbox`."""
        return await self._reader.call(self._store.list_waiting_inbox, session, lane, limit)

    async def find_inbox(self, source: str) -> InboxRow | None:
        """See `Store.find_inbox`."""
        return await self._reader.call(self._store.find_inbox, source)

    async def finish_inbox(self, row_id: str, status: Literal["done", "quarantined"], note: str = "") -> None:
        """See `Store.finish_inbox`."""
        await self._writer.call(self._store.finish_inbox, row_id, status, note)

    async def acquire(self, session: str, owner: str, now: datetime, until: datetime) -> Lease | None:
        """See `Store.acquire`."""
        return await self._writer.call(self._store.acquire, session, owner, now, until)

    async def expire_leases(self) -> None:
        """See `Store.expire_leases`."""
        await self._writer.call(self._store.expire_leases)

    async def release(self, lease: Lease) -> None:
        """See `Store.release`."""
        await self._writer.call(self._store.release, lease)

    async def commit(self, commit: Commit) -> list[StoredEvent]:
        """See `Store.commit`."""
        stored = await self._writer.call(self._store.commit, commit)
        self._tell_of(commit)
        return stored

    async def commit_then(self, commit: Commit, then: Callable[[list[StoredEvent]], None]) -> None:
        """Commit as `commit` does and call `then` in the loop with the stored events, even if the caller was cancelled meanwhile."""
        stored: list[list[StoredEvent]] = []
        try:
            await self._writer.call(lambda: stored.append(self._store.commit(commit)))
        finally:
            if stored:
                self._tell_of(commit)
                then(stored[0])

    def _tell_of(self, commit: Commit) -> None:
        for watcher in self.watchers:
            try:
                watcher(commit)
            except Exception:  # a watcher must not disturb the commit
                log.exception("a stored step was not counted", extra={"action": "watcher_failed"})
        if self._hints is not None and any(_is_news(step) for step in (*commit.earlier, commit)):
            self._hints.tell()

    async def read_events(self, stream: str, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """See `Store.read_events`."""
        return await self._reader.call(self._store.read_events, stream, after, limit)

    async def read_head(self, stream: str) -> tuple[int, str]:
        """See `Store.read_head`."""
        return await self._reader.call(self._store.read_head, stream)

    async def read_records(self, stream: str, after: int = 0, limit: int = 1000) -> list[tuple[int, str, str]]:
        """See `Store.read_records`."""
        return await self._reader.call(self._store.read_records, stream, after, limit)

    async def read_encrypted(self, stream: str, after: int = 0, limit: int = 1000) -> list[tuple[int, str, str]]:
        """See `Store.read_encrypted`."""
        return await self._reader.call(self._store.read_encrypted, stream, after, limit)

    async def list_heads(self) -> list[tuple[str, int, str]]:
        """See `Store.list_heads`."""
        return await self._reader.call(self._store.list_heads)

    async def scan(self, types: Sequence[str] = (), after: str = "", limit: int = 1000) -> list[StoredEvent]:
        """See `Store.scan`."""
        return await self._reader.call(self._store.scan, types, after, limit)

    async def scan_clear(self, types: Sequence[str], after: str = "", limit: int = 1000) -> list[ClearEvent]:
        """See `Store.scan_clear`."""
        return await self._reader.call(self._store.scan_clear, types, after, limit)

    async def list_streams(self) -> list[str]:
        """See `Store.list_streams`."""
        return await self._reader.call(self._store.list_streams)

    async def load_snapshot(self, stream: str) -> Snapshot | None:
        """See `Store.load_snapshot`."""
        return await self._reader.call(self._store.load_snapshot, stream)

    async def find_effect(self, effect_id: str) -> EffectRow | None:
        """See `Store.find_effect`."""
        return await self._reader.call(self._store.find_effect, effect_id)

    async def list_effects(self, stream: str, status: EffectStatus) -> list[EffectRow]:
        """See `Store.list_effects`."""
        return await self._reader.call(self._store.list_effects, stream, status)

    async def list_index_entries(self, about: str, what: What, after: str = "", limit: int = 1000) -> list[IndexEntry]:
        """See `Store.list_index_entries`."""
        return await self._reader.call(self._store.list_index_entries, about, what, after, limit)

    async def list_last_index_entries(self, about: str, what: What, limit: int) -> list[IndexEntry]:
        """See `Store.list_last_index_entries`."""
        return await self._reader.call(self._store.list_last_index_entries, about, what, limit)

    async def load_blob(self, digest: str) -> str | None:
        """See `Store.load_blob`."""
        return await self._reader.call(self._store.load_blob, digest)

    async def list_due_outbox(self, channel: str, now: datetime, limit: int = 50) -> list[OutboxRow]:
        """See `Store.list_due_outbox`."""
        return await self._reader.call(self._store.list_due_outbox, channel, now, limit)

    async def mark_outbox_sent(self, row_id: str, sent_ref: str) -> None:
        """See `Store.mark_outbox_sent`."""
        await self._writer.call(self._store.mark_outbox_sent, row_id, sent_ref)

    async def reschedule_outbox(self, row_id: str, due_at: datetime, note: str) -> None:
        """See `Store.reschedule_outbox`."""
        await self._writer.call(self._store.reschedule_outbox, row_id, due_at, note)

    async def mark_outbox_failed(self, row_id: str, note: str) -> None:
        """See `Store.mark_outbox_failed`."""
        await self._writer.call(self._store.mark_outbox_failed, row_id, note)

    async def find_sent_ref(self, session: str, key: str) -> str:
        """See `Store.find_sent_ref`."""
        return await self._reader.call(self._store.find_sent_ref, session, key)

    async def list_due_timers(self, now: datetime, limit: int = 100) -> list[Timer]:
        """See `Store.list_due_timers`."""
        return await self._reader.call(self._store.list_due_timers, now, limit)

    async def get_value(self, key: str) -> str | None:
        """See `Store.get_value`."""
        return await self._reader.call(self._store.get_value, key)

    async def set_value(self, key: str, value: str) -> None:
        """See `Store.set_value`."""
        await self._writer.call(self._store.set_value, key, value)

    async def swap_value(self, key: str, expected: str | None, value: str) -> bool:
        """See `Store.swap_value`."""
        return await self._writer.call(self._store.swap_value, key, expected, value)
