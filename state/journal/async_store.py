"""The store for asyncio: its methods run in threads, so that no flush blocks the event loop.

SQLite gets one thread for writes and one for reads, PostgreSQL several for both: a caller that needs an order between two calls awaits the
first. Commits that wait for SQLite's one thread at the same time share a transaction: with many sessions at once most of the time went to
flushing the disk for each. A started call is always carried out. If its caller is cancelled, the cancellation is raised only after the
thread has finished, so no commit is still running then; what the call has stored can be read from the store.
"""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from queue import SimpleQueue
from typing import Any, Concatenate, Final, Literal, ParamSpec, Protocol, TypeVar

from state.events.talking import AnswerGiven
from state.journal.record_index import IndexEntry, What
from state.journal.run_index import RunFilter, RunRow
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
MOST_TOGETHER: Final = 64
"""How many commits share a transaction at most."""

P = ParamSpec("P")
T = TypeVar("T")
Job = Callable[[], None]


class Notifier(Protocol):
    """Tells other processes that the database may have new rows, and receives the same notification from them.

    A notification may be lost. `AsyncStore` uses one notifier per process.
    """

    def start(self, heard: Callable[[], None]) -> None:
        """Begin to listen: call `heard`, without arguments and in any thread, after another process has called `tell`."""

    def tell(self) -> None:
        """Let the other processes know soon that there may be new rows; returns at once and never fails."""

    def close(self) -> None:
        """Stop listening and telling."""


class _Answer(asyncio.Future[T]):
    """A future that a thread completes and that cannot be cancelled, so that a cancellation is raised only once the result is there.

    `asyncio.shield` would do the same with a second future and two more rounds of the event loop per call.
    """

    def cancel(self, msg: Any | None = None) -> bool:
        """Refuse the cancellation."""
        del msg
        return False


class ThreadWorker:
    """Runs functions in its own threads and returns their results to asyncio. With one thread the functions run in the order of the calls.

    A call costs a third of one with concurrent.futures.
    """

    def __init__(self, name: str, threads: int = 1) -> None:
        """Start the threads."""
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._closed = False
        self._threads = [threading.Thread(target=self._work, name=f"{name}-{number}", daemon=True) for number in range(threads)]
        for thread in self._threads:
            thread.start()

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function` in a thread and return its result; a cancellation is raised only after the function has finished."""
        self.check_open()
        return await self._run(partial(function, *args, **kwargs))

    def check_open(self) -> None:
        """Raise StoreUnwritable if no call is taken any more."""
        if self._closed:
            raise StoreUnwritable("the store is closed")

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
    """Whether another process may wait for this commit: to deliver a message, handle an input or answer an HTTP caller."""
    return bool(step.outbox or step.inbox_new or any(isinstance(event, AnswerGiven) for event in step.events))


async def run_to_end(work: Coroutine[Any, Any, T], told: Callable[[], None] | None = None) -> T:
    """Return the result of `work`; a cancellation of the caller is raised only after `work` has ended.

    If `told` is given, it is called on each cancellation. `work` runs as an ordinary task, because a task that refuses to be cancelled
    would also refuse its own timeouts.
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


@dataclass(slots=True)
class _Waiting:
    """A commit that waits to be written, and then what became of it."""

    commit: Commit
    keep: Callable[[list[StoredEvent]], None]
    is_over: bool = False
    error: BaseException | None = None


class _CommitQueue:
    """Writes commits in a single thread. Those that wait there at the same time share a transaction, and so a flush to disk.

    Whoever handed a commit in is told of it when it is durable, as if it had been written by itself.
    """

    def __init__(self, store: Store, writer: ThreadWorker) -> None:
        self._store, self._writer = store, writer
        self._waiting: deque[_Waiting] = deque()

    async def write(self, commit: Commit, keep: Callable[[list[StoredEvent]], None]) -> None:
        """Write the commit, then call `keep` with its events in the writer's thread; raises what `Store.commit` raises."""
        self._writer.check_open()  # what is handed in after that is written, also if its caller is told otherwise
        mine = _Waiting(commit, keep)
        self._waiting.append(mine)
        await self._writer.call(self._write_with_others, mine)

    def _write_with_others(self, mine: _Waiting) -> None:
        """Write this commit with those that wait behind it, unless it was written with one before."""
        if not mine.is_over:
            count = min(len(self._waiting), MOST_TOGETHER)
            self._write_group([self._waiting.popleft() for _ in range(count)])
        if mine.error is not None:
            raise mine.error

    def _write_group(self, group: Sequence[_Waiting]) -> None:
        """Write all in one transaction. If one of them cannot be stored, each is tried by itself, so that only its caller hears of it."""
        if len(group) > 1:
            try:
                stored = self._store.commit_group([one.commit for one in group])
            except StoreUnwritable as error:  # the database's fault, and none of theirs
                for one in group:
                    one.is_over, one.error = True, error
                return
            except BaseException:  # noqa: BLE001 - nothing of the group is stored; whose error it is shows when each is tried
                log.debug("%d commits are stored one by one", len(group), extra={"action": "commits_parted"})
            else:
                for one, events in zip(group, stored, strict=True):
                    one.is_over = True
                    one.keep(events)
                return
        for one in group:
            one.is_over = True
            try:
                one.keep(self._store.commit(one.commit))
            except BaseException as error:  # noqa: BLE001 - whatever it is belongs to the caller of that commit, not to this thread
                one.error = error


class AsyncStore:
    """Offers every method of `Store` as a coroutine, which runs the method of the given store in a thread. Closing it closes that store."""

    def __init__(self, store: Store, *, threads: int = 1, hints: Notifier | None = None) -> None:
        """Use `store` from this event loop only, with `threads` threads; `hints` notifies other processes, None for no notification.

        With one thread for writes, reads get a thread of their own; with several, reads and writes share them.
        """
        self._store = store
        self._writer = ThreadWorker("store-writer", threads)
        self._reader = ThreadWorker("store-reader") if threads == 1 else self._writer
        self._commits = _CommitQueue(store, self._writer) if threads == 1 else None
        self._hints = hints
        self.listeners: list[Callable[[], None]] = []
        """Functions called in the loop when another process may have stored inputs or replies; such a call may also be missing."""
        self.watchers: list[Callable[[Commit], None]] = []
        """Functions called in the loop with each commit that this process stored; their exceptions are logged and ignored."""
        if hints is not None:
            hints.start(partial(_hand_over, asyncio.get_running_loop(), self._notify_listeners, None))

    def _notify_listeners(self, _: None) -> None:
        for listener in self.listeners:
            listener()

    async def read(self, function: Callable[Concatenate[Store, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function(store, …)`, which only reads from the store (as `journal.load_state` does), in a thread; return its result."""
        return await self._reader.call(function, self._store, *args, **kwargs)

    async def write(self, function: Callable[Concatenate[Store, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function(store, …)`, which writes to the store (as `freeze_switch.freeze_writes` does), in a thread; return its result."""
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
        """Store inputs, and claim the oldest new row of each (session, lane) in `claim`; return which inputs are new, and the claimed rows.

        A lane is one of a session's two queues; a row is new until it has been handled. `Store.put_inbox` explains claiming.
        """
        stored = await self._writer.call(self._store.put_inbox, rows, claim)
        if self._hints is not None:
            self._hints.tell()
        return stored

    async def list_ready_sessions(self, owner: str = "", now: datetime | None = None) -> list[tuple[str, Lane]]:
        """Return each (session, lane) that has new (not yet handled) inbox rows, the one with the oldest row first.

        A lane is one of a session's two queues. If `now` is given, sessions that another owner than `owner` has leased at that time are
        left out.
        """
        return await self._reader.call(self._store.list_ready_sessions, owner, now)

    async def take_inbox(self, session: str, lane: Lane) -> InboxRow | None:
        """Return the oldest new inbox row in the session's queue `lane`, None if there is none; add one to the row's stored `attempts`.

        The row stays new until it has been handled.
        """
        return await self._writer.call(self._store.take_inbox, session, lane)

    async def return_inbox(self, row_id: str) -> None:
        """Subtract one from the stored `attempts` of an inbox row, because the last attempt failed for a reason outside the input."""
        await self._writer.call(self._store.return_inbox, row_id)

    async def list_waiting_inbox(self, session: str, lane: Lane, limit: int = 100) -> list[InboxRow]:
        """Return the new inbox rows in the session's queue `lane`, oldest first, and change none of them.

        A row is new until it has been handled, so the row that is being handled is one of them.
        """
        return await self._reader.call(self._store.list_waiting_inbox, session, lane, limit)

    async def find_inbox(self, source: str) -> InboxRow | None:
        """Return the inbox row with the unique `source`, whatever its status; None if there is none."""
        return await self._reader.call(self._store.find_inbox, source)

    async def finish_inbox(self, row_id: str, status: Literal["done", "quarantined"], note: str = "") -> None:
        """Set the final status of an inbox row without storing events: "quarantined" if it cannot be handled, with the reason in `note`."""
        await self._writer.call(self._store.finish_inbox, row_id, status, note)

    async def acquire(self, session: str, owner: str, now: datetime, until: datetime) -> Lease | None:
        """Acquire or renew the lease of a session (the right to write it) and return it; None while another owner holds it.

        The lease lasts until the time `until`. Each new owner gets the next epoch (the lease's number); commits with an older epoch are
        refused.
        """
        return await self._writer.call(self._store.acquire, session, owner, now, until)

    async def expire_leases(self) -> None:
        """End all leases. Only for a process that holds the database's lock file, so that no other process uses the database."""
        await self._writer.call(self._store.expire_leases)

    async def release(self, lease: Lease) -> None:
        """Release the lease; do nothing if its owner no longer holds it."""
        await self._writer.call(self._store.release, lease)

    async def commit(self, commit: Commit) -> list[StoredEvent]:
        """Write the commit in one transaction and return its stored events; raises what `Store.commit` raises."""
        stored: list[list[StoredEvent]] = []
        await self.commit_then(commit, stored.append)
        return stored[0]

    async def commit_then(self, commit: Commit, then: Callable[[list[StoredEvent]], None]) -> None:
        """Commit as `commit` does, then call `then` with the stored events, even if the caller was cancelled meanwhile.

        `then` runs in the thread of the event loop.
        """
        stored: list[list[StoredEvent]] = []
        try:
            if self._commits is not None:
                await self._commits.write(commit, stored.append)
            else:
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
        """Return those events of a stream (the record of one session) whose number (seq) is above `after`, in order."""
        return await self._reader.call(self._store.read_events, stream, after, limit)

    async def read_head(self, stream: str) -> tuple[int, str]:
        """Return the number (seq) and hash that the stream's last event should have; (0, "") if it has no events.

        Both are stored apart from the events, so that missing events are noticed.
        """
        return await self._reader.call(self._store.read_head, stream)

    async def read_records(self, stream: str, after: int = 0, limit: int = 1000) -> list[tuple[int, str, str]]:
        """Return (seq, raw, hash) of the records with seq > `after`, in order. `raw` is the text of the whole record, still encrypted."""
        return await self._reader.call(self._store.read_records, stream, after, limit)

    async def read_encrypted(self, stream: str, after: int = 0, limit: int = 1000) -> list[tuple[int, str, str]]:
        """Return (seq, type, data) of the records with seq > `after`, in order. `data` is the stored JSON text, still encrypted."""
        return await self._reader.call(self._store.read_encrypted, stream, after, limit)

    async def list_heads(self) -> list[tuple[str, int, str]]:
        """Return (stream, seq, hash) for every stream with events: the number (seq) and hash that its last event should have."""
        return await self._reader.call(self._store.list_heads)

    async def scan(self, types: Sequence[str] = (), after: str = "", limit: int = 1000) -> list[StoredEvent]:
        """Return events of all streams with id > `after` and one of `types` (all if empty), in order of id, which is nearly time order."""
        return await self._reader.call(self._store.scan, types, after, limit)

    async def scan_clear(self, types: Sequence[str], after: str = "", limit: int = 1000) -> list[ClearEvent]:
        """Return what `scan` returns, but only the part readable without a key: much faster, for counting."""
        return await self._reader.call(self._store.scan_clear, types, after, limit)

    async def list_streams(self) -> list[str]:
        """Return the name of every stream in the journal: "session:<key>", or "run:<id>" for work outside of any session."""
        return await self._reader.call(self._store.list_streams)

    async def load_snapshot(self, stream: str) -> Snapshot | None:
        """Return the newest snapshot of the stream's state, None if there is none."""
        return await self._reader.call(self._store.load_snapshot, stream)

    async def find_effect(self, effect_id: str) -> EffectRow | None:
        """Return the row of the effect (proposed call) with that id, None if there is none."""
        return await self._reader.call(self._store.find_effect, effect_id)

    async def list_effects(self, stream: str, status: EffectStatus) -> list[EffectRow]:
        """Return the effects (proposed calls) of a stream that have the status `status`, sorted by the time of their last change."""
        return await self._reader.call(self._store.list_effects, stream, status)

    async def list_index_entries(self, about: str, what: What, after: str = "", limit: int = 1000) -> list[IndexEntry]:
        """Return the index entries of the kind `what` about `about` (a record or call), from events with id > `after`, oldest first.

        An index entry says that an event is about a record or call, and in which way (`what`); see `state.journal.record_index`.
        """
        return await self._reader.call(self._store.list_index_entries, about, what, after, limit)

    async def list_last_index_entries(self, about: str, what: What, limit: int) -> list[IndexEntry]:
        """Return the newest `limit` index entries of the kind `what` for the record or call `about`, newest first."""
        return await self._reader.call(self._store.list_last_index_entries, about, what, limit)

    async def list_runs(self, wanted: RunFilter) -> list[RunRow]:
        """Return the runs that fit `wanted`, the one that was started last first."""
        return await self._reader.call(self._store.list_runs, wanted)

    async def remove_run(self, key: str, digests: Sequence[str]) -> int:
        """Remove the index entry, the snapshot and the own blobs of a run; see `Store.remove_run`."""
        return await self._writer.call(self._store.remove_run, key, digests)

    async def load_blob(self, digest: str) -> str | None:
        """Return the large answer of the portal that is stored under its SHA-256 `digest`, None if there is none."""
        return await self._reader.call(self._store.load_blob, digest)

    async def list_due_outbox(self, channel: str, now: datetime, limit: int = 50) -> list[OutboxRow]:
        """Return the channel's unsent outbox rows whose `due_at` has come, oldest first.

        A row waits while an older unsent row of its session exists.
        """
        return await self._reader.call(self._store.list_due_outbox, channel, now, limit)

    async def mark_outbox_sent(self, row_id: str, sent_ref: str) -> None:
        """Mark the outbox row as delivered. `sent_ref` is the id of the sent message, so that it can be edited later."""
        await self._writer.call(self._store.mark_outbox_sent, row_id, sent_ref)

    async def reschedule_outbox(self, row_id: str, due_at: datetime, note: str) -> None:
        """Record that the outbox row was not delivered, for the reason in `note`, and is to be tried again at `due_at`."""
        await self._writer.call(self._store.reschedule_outbox, row_id, due_at, note)

    async def mark_outbox_failed(self, row_id: str, note: str) -> None:
        """Mark the outbox row as undeliverable, for the reason in `note`. Operators can still see it."""
        await self._writer.call(self._store.mark_outbox_failed, row_id, note)

    async def find_sent_ref(self, session: str, key: str) -> str:
        """Return the `sent_ref` (id) of the message last sent for an outbox row of `session` with the key `key`, "" if there is none."""
        return await self._reader.call(self._store.find_sent_ref, session, key)

    async def list_due_timers(self, now: datetime, limit: int = 100) -> list[Timer]:
        """Return timers whose `due_at` has come, oldest first. A timer stays until a commit deletes it."""
        return await self._reader.call(self._store.list_due_timers, now, limit)

    async def list_timers(self, kind: str, after: str = "", limit: int = 1000) -> list[Timer]:
        """Return the timers of one kind with an id above `after`, sorted by id, whether they are due or not."""
        return await self._reader.call(self._store.list_timers, kind, after, limit)

    async def find_timer(self, timer_id: str) -> Timer | None:
        """Return the timer with this id, None if there is none."""
        return await self._reader.call(self._store.find_timer, timer_id)

    async def get_value(self, key: str) -> str | None:
        """Return the small value stored under `key` (such as a polling offset), None if there is none."""
        return await self._reader.call(self._store.get_value, key)

    async def set_value(self, key: str, value: str) -> None:
        """Store the small value `value` durably under `key`."""
        await self._writer.call(self._store.set_value, key, value)

    async def swap_value(self, key: str, expected: str | None, value: str) -> bool:
        """If the stored value is `expected` (None: there is none), replace it durably and return True; else return False."""
        return await self._writer.call(self._store.swap_value, key, expected, value)
