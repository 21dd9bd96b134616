"""The store for asyncio: no call of it blocks the event loop, however long the disk takes.

All calls run in threads: for SQLite one for writes, in the order of the calls, and some for reads, so that a long report keeps nobody
waiting; for PostgreSQL several for both. A caller that needs an order between two calls awaits the first. Commits to SQLite that
wait at the same time share a transaction: with many sessions at once most of the time went to flushing the disk for each. A started call is
always carried out. If its caller is cancelled, the cancellation is raised only after the call has ended, so no commit is still running
then; what the call has stored can be read from the store.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Concatenate, Final, Literal, ParamSpec, Protocol, TypeVar

from state.events.talking import AnswerGiven
from state.journal.commit_queue import CommitQueue
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
    Timer,
)
from state.journal.thread_worker import ThreadWorker, hand_over

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
Job = Callable[[], None]
READERS: Final = 4
"""Threads for reads of SQLite: a turn reads while as many reports less one go through the journal."""
SHORTEST_PAGE: Final = 12
LONGEST_PAGE: Final = 768
"""How many events `AsyncStore.iterate_back` reads at first, and at most, at a time."""


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


def _is_news(step: Commit) -> bool:
    """Whether another process may wait for this commit: to deliver a message, handle an input or answer an HTTP caller."""
    return bool(step.outbox or step.inbox_new or any(isinstance(event, AnswerGiven) for event in step.events))


class AsyncStore:
    """Offers every method of `Store` as a coroutine that runs the method of the given store. Closing it closes that store."""

    def __init__(self, store: Store, *, threads: int = 1, hints: Notifier | None = None) -> None:
        """Use `store` from this event loop only, with `threads` threads; `hints` notifies other processes, None for no notification.

        With one thread for writes, reads get threads of their own; with several, all calls share them.
        """
        self._store = store
        self._writer = ThreadWorker("store-writer", threads)
        self._reader = ThreadWorker("store-reader", READERS) if threads == 1 else self._writer
        self._commits = CommitQueue(store, self._writer) if threads == 1 else None
        self._hints = hints
        self.listeners: list[Callable[[], None]] = []
        """Functions called in the loop when another process, or a `write` of this one, may have stored inputs or replies; a call of
        another process may also be missing."""
        self.watchers: list[Callable[[Commit], None]] = []
        """Functions called in the loop with each commit that this process stored; their exceptions are logged and ignored."""
        if hints is not None:
            hints.start(partial(hand_over, asyncio.get_running_loop(), self._notify_listeners, None))

    def _notify_listeners(self, _: None) -> None:
        for listener in self.listeners:
            listener()

    async def read(self, function: Callable[Concatenate[Store, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function(store, …)`, which only reads from the store (as `journal.load_state` does); return its result."""
        return await self._reader.call(function, self._store, *args, **kwargs)

    async def write(self, function: Callable[Concatenate[Store, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function(store, …)`, which writes to the store (as `freeze_switch.freeze_writes` does); return its result."""
        done = await self._writer.call(function, self._store, *args, **kwargs)
        if self._hints is not None:
            self._hints.tell()
        self._notify_listeners(None)  # what was stored may hold inputs, which would otherwise wait for the next poll
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

    async def iterate_back(self, stream: str, end: int) -> AsyncGenerator[list[StoredEvent], None]:
        """Yield the events of a stream up to the number `end` in pages, the last page first, each in order.

        The first pages are short: whoever looks for something recent need not decrypt much.
        """
        size = SHORTEST_PAGE
        while end > 0:
            begin = max(0, end - size)
            yield await self.read_events(stream, begin, end - begin)
            end, size = begin, min(2 * size, LONGEST_PAGE)

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

    async def list_ends(self) -> list[tuple[str, int, str]]:
        """Return (stream, seq, ts) for every stream with events: the number (seq) of its last event, and when that was written."""
        return await self._reader.call(self._store.list_ends)

    async def scan(self, types: Sequence[str] = (), after: str = "", limit: int = 1000) -> list[StoredEvent]:
        """Return events of all streams with id > `after` and one of `types` (all if empty), in order of id, which is nearly time order."""
        return await self._reader.call(self._store.scan, types, after, limit)

    async def scan_back(self, types: Sequence[str] = (), before: str = "", limit: int = 1000) -> list[StoredEvent]:
        """Return events of all streams with id < `before` ("" for all) and one of `types` (all if empty), the newest id first."""
        return await self._reader.call(self._store.scan_back, types, before, limit)

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

    async def list_effects_in(self, status: EffectStatus, limit: int = 1000) -> list[EffectRow]:
        """Return at most `limit` effects (proposed calls) of all streams that have the status `status`, the one changed first first."""
        return await self._reader.call(self._store.list_effects_in, status, limit)

    async def find_effects(self, effect_ids: Sequence[str]) -> list[EffectRow]:
        """Return the effects (proposed calls) with these ids, in no order; those without a row or with a damaged one are left out."""
        return await self._reader.call(self._store.find_effects, effect_ids)

    async def count_starts(self, person: str, now: datetime, account: str = "") -> int | None:
        """Return how many changes were started for `person` within the 24 hours before `now`, as commits count them.

        None if the database has no count of the person yet, or one of `account`, too; `Store.count_starts` says why.
        """
        return await self._reader.call(self._store.count_starts, person, now, account)

    async def list_calls_about(self, record: str, after: str, limit: int) -> list[str]:
        """Return the ids of at most `limit` effects meant to change `record`, from events with id > `after`, the newest first."""
        return await self._reader.call(self._store.list_calls_about, record, after, limit)

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
