"""The store for asyncio: calls run in threads and always to their end, and none blocks the event loop.

SQLite has one thread for writes, in order, and some for reads; PostgreSQL several for both. Waiting commits to SQLite share a flush.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Concatenate, Final, Literal, ParamSpec, Protocol, TypeVar

from state.clock import read_boottime
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
from state.journal.thread_worker import ThreadWorker, hand_over

MOST_TOGETHER: Final = 64


@dataclass(slots=True)
class _Waiting:
    commit: Commit
    keep: Callable[[list[StoredEvent]], None]
    is_over: bool = False
    error: BaseException | None = None


class CommitQueue:
    """Callers are told when their commit is durable, as if it had been written by itself."""

    def __init__(self, store: Store, writer: ThreadWorker) -> None:
        self._store, self._writer = store, writer
        self._waiting: deque[_Waiting] = deque()

    async def write(self, commit: Commit, keep: Callable[[list[StoredEvent]], None]) -> None:
        """Calls `keep` in the writing thread; raises what `Store.commit` raises."""
        self._writer.check_open()  # what is handed in after that is written, also if its caller is told otherwise
        mine = _Waiting(commit, keep)
        self._waiting.append(mine)
        await self._writer.call(self._write_with_others, mine)

    def _write_with_others(self, mine: _Waiting) -> None:
        while not mine.is_over:
            group = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_TOGETHER))]
            if len(group) == 1 or not self._write_together(group):
                for waiting in group:
                    self._write_alone(waiting)
        if mine.error is not None:
            raise mine.error

    def _write_together(self, group: Sequence[_Waiting]) -> bool:
        """Return False, with nothing written, if one cannot be stored."""
        try:
            stored = self._store.commit_group([waiting.commit for waiting in group])
        except StoreUnwritable as error:  # the database's fault, and none of theirs
            for waiting in group:
                waiting.is_over, waiting.error = True, error
        except BaseException:  # noqa: BLE001 - nothing of the group is stored; whose error it is shows when each is tried
            log.debug("%d commits are stored one by one", len(group), extra={"action": "commits_parted"})
            return False
        else:
            for waiting, events in zip(group, stored, strict=True):
                waiting.is_over = True
                waiting.keep(events)
        return True

    def _write_alone(self, waiting: _Waiting) -> None:
        try:
            waiting.keep(self._store.commit(waiting.commit))
        except BaseException as error:  # noqa: BLE001 - whatever it is belongs to the caller of that commit, not to this thread
            waiting.error = error
        waiting.is_over = True


log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
Job = Callable[[], None]
READERS: Final = 4
"""A turn reads beside long reports."""
SHORTEST_PAGE: Final = 12
LONGEST_PAGE: Final = 768


class Notifier(Protocol):
    """Tells other processes of new rows, and hears it from them; a notification may be lost."""

    def start(self, heard: Callable[[], None]) -> None:
        """`heard` is called in any thread."""

    def tell(self) -> None:
        """Returns at once and never fails."""

    def close(self) -> None: ...


async def retry_while_busy(attempt: Callable[[], Awaitable[T]], *busy: type[Exception], patience: float, pause: float = 0.05) -> T:
    """After `patience` seconds the last error is raised."""
    until = read_boottime() + patience
    while True:
        try:
            return await attempt()
        except busy:
            if read_boottime() > until:
                raise
            await asyncio.sleep(pause)


def _is_news(step: Commit) -> bool:
    return bool(step.outbox or step.inbox_new or any(isinstance(event, AnswerGiven) for event in step.events))


class AsyncStore:
    """Offers the methods of `Store` as coroutines."""

    def __init__(self, store: Store, *, threads: int = 1, hints: Notifier | None = None) -> None:
        """Use it from this event loop only; with several `threads`, reads share them."""
        self._store = store
        self._writer = ThreadWorker("store-writer", threads)
        self._reader = ThreadWorker("store-reader", READERS) if threads == 1 else self._writer
        self._commits = CommitQueue(store, self._writer) if threads == 1 else None
        self._hints = hints
        self.listeners: list[Callable[[], None]] = []
        """Called in the loop when there may be new inputs or replies; calls may be missing."""
        self.watchers: list[Callable[[Commit], None]] = []
        """Called in the loop with each stored commit; exceptions are logged."""
        if hints is not None:
            hints.start(partial(hand_over, asyncio.get_running_loop(), self._notify_listeners, None))

    def _notify_listeners(self, _: None) -> None:
        for listener in self.listeners:
            listener()

    async def read(self, function: Callable[Concatenate[Store, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """`function` only reads."""
        return await self._reader.call(function, self._store, *args, **kwargs)

    async def write(self, function: Callable[Concatenate[Store, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        done = await self._writer.call(function, self._store, *args, **kwargs)
        if self._hints is not None:
            self._hints.tell()
        self._notify_listeners(None)  # what was stored may hold inputs, which would otherwise wait for the next poll
        return done

    async def aclose(self) -> None:
        if self._hints is not None:
            await asyncio.to_thread(self._hints.close)
        await self._reader.aclose()
        await self._writer.aclose()
        self._store.close()

    async def put_inbox(self, rows: Sequence[InboxRow], claim: Sequence[tuple[str, Lane]] = ()) -> StoredInputs:
        stored = await self._writer.call(self._store.put_inbox, rows, claim)
        if self._hints is not None:
            self._hints.tell()
        return stored

    async def list_ready_sessions(self, owner: str = "", now: datetime | None = None) -> list[tuple[str, Lane]]:
        return await self._reader.call(self._store.list_ready_sessions, owner, now)

    async def take_inbox(self, session: str, lane: Lane) -> InboxRow | None:
        return await self._writer.call(self._store.take_inbox, session, lane)

    async def return_inbox(self, row_id: str) -> None:
        await self._writer.call(self._store.return_inbox, row_id)

    async def list_waiting_inbox(self, session: str, lane: Lane, limit: int = 100) -> list[InboxRow]:
        return await self._reader.call(self._store.list_waiting_inbox, session, lane, limit)

    async def find_inbox(self, source: str) -> InboxRow | None:
        return await self._reader.call(self._store.find_inbox, source)

    async def finish_inbox(self, row_id: str, status: Literal["done", "quarantined"], note: str = "") -> None:
        await self._writer.call(self._store.finish_inbox, row_id, status, note)

    async def acquire(self, session: str, owner: str, now: datetime, until: datetime) -> Lease | None:
        return await self._writer.call(self._store.acquire, session, owner, now, until)

    async def expire_leases(self) -> None:
        await self._writer.call(self._store.expire_leases)

    async def release(self, lease: Lease) -> None:
        await self._writer.call(self._store.release, lease)

    async def commit(self, commit: Commit) -> list[StoredEvent]:
        stored: list[list[StoredEvent]] = []
        await self.commit_then(commit, stored.append)
        return stored[0]

    async def commit_then(self, commit: Commit, then: Callable[[list[StoredEvent]], None]) -> None:
        """Call `then` in the loop with the stored events, even if the caller was cancelled."""
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
        return await self._reader.call(self._store.read_events, stream, after, limit)

    async def iterate_back(self, stream: str, end: int) -> AsyncGenerator[list[StoredEvent], None]:
        """Yield pages up to `end`, the last first, each in order; the first are short."""
        size = SHORTEST_PAGE
        while end > 0:
            begin = max(0, end - size)
            yield await self.read_events(stream, begin, end - begin)
            end, size = begin, min(2 * size, LONGEST_PAGE)

    async def read_head(self, stream: str) -> tuple[int, str]:
        return await self._reader.call(self._store.read_head, stream)

    async def read_records(self, stream: str, after: int = 0, limit: int = 1000) -> list[tuple[int, str, str]]:
        return await self._reader.call(self._store.read_records, stream, after, limit)

    async def read_encrypted(self, stream: str, after: int = 0, limit: int = 1000) -> list[tuple[int, str, str]]:
        return await self._reader.call(self._store.read_encrypted, stream, after, limit)

    async def list_heads(self) -> list[tuple[str, int, str]]:
        return await self._reader.call(self._store.list_heads)

    async def list_ends(self) -> list[tuple[str, int, str]]:
        return await self._reader.call(self._store.list_ends)

    async def scan(self, types: Sequence[str] = (), after: str = "", limit: int = 1000) -> list[StoredEvent]:
        return await self._reader.call(self._store.scan, types, after, limit)

    async def scan_back(self, types: Sequence[str] = (), before: str = "", limit: int = 1000) -> list[StoredEvent]:
        return await self._reader.call(self._store.scan_back, types, before, limit)

    async def scan_clear(self, types: Sequence[str], after: str = "", limit: int = 1000) -> list[ClearEvent]:
        return await self._reader.call(self._store.scan_clear, types, after, limit)

    async def list_streams(self) -> list[str]:
        return await self._reader.call(self._store.list_streams)

    async def load_snapshot(self, stream: str) -> Snapshot | None:
        return await self._reader.call(self._store.load_snapshot, stream)

    async def find_effect(self, effect_id: str) -> EffectRow | None:
        return await self._reader.call(self._store.find_effect, effect_id)

    async def list_effects(self, stream: str, status: EffectStatus) -> list[EffectRow]:
        return await self._reader.call(self._store.list_effects, stream, status)

    async def list_effects_in(self, status: EffectStatus, limit: int = 1000) -> list[EffectRow]:
        return await self._reader.call(self._store.list_effects_in, status, limit)

    async def find_effects(self, effect_ids: Sequence[str]) -> list[EffectRow]:
        return await self._reader.call(self._store.find_effects, effect_ids)

    async def count_starts(self, person: str, now: datetime, account: str = "") -> int | None:
        return await self._reader.call(self._store.count_starts, person, now, account)

    async def list_calls_about(self, record: str, after: str, limit: int) -> list[str]:
        return await self._reader.call(self._store.list_calls_about, record, after, limit)

    async def list_index_entries(self, about: str, what: What, after: str = "", limit: int = 1000) -> list[IndexEntry]:
        return await self._reader.call(self._store.list_index_entries, about, what, after, limit)

    async def list_last_index_entries(self, about: str, what: What, limit: int) -> list[IndexEntry]:
        return await self._reader.call(self._store.list_last_index_entries, about, what, limit)

    async def list_runs(self, criteria: RunFilter) -> list[RunRow]:
        return await self._reader.call(self._store.list_runs, criteria)

    async def remove_run(self, key: str, digests: Sequence[str]) -> int:
        return await self._writer.call(self._store.remove_run, key, digests)

    async def load_blob(self, digest: str) -> str | None:
        return await self._reader.call(self._store.load_blob, digest)

    async def list_due_outbox(self, channel: str, now: datetime, limit: int = 50) -> list[OutboxRow]:
        return await self._reader.call(self._store.list_due_outbox, channel, now, limit)

    async def mark_outbox_sent(self, row_id: str, sent_ref: str) -> None:
        await self._writer.call(self._store.mark_outbox_sent, row_id, sent_ref)

    async def reschedule_outbox(self, row_id: str, due_at: datetime, note: str) -> None:
        await self._writer.call(self._store.reschedule_outbox, row_id, due_at, note)

    async def mark_outbox_failed(self, row_id: str, note: str) -> None:
        await self._writer.call(self._store.mark_outbox_failed, row_id, note)

    async def find_sent_ref(self, session: str, key: str) -> str:
        return await self._reader.call(self._store.find_sent_ref, session, key)

    async def list_due_timers(self, now: datetime, limit: int = 100) -> list[Timer]:
        return await self._reader.call(self._store.list_due_timers, now, limit)

    async def list_timers(self, kind: str, after: str = "", limit: int = 1000) -> list[Timer]:
        return await self._reader.call(self._store.list_timers, kind, after, limit)

    async def find_timer(self, timer_id: str) -> Timer | None:
        return await self._reader.call(self._store.find_timer, timer_id)

    async def get_value(self, key: str) -> str | None:
        return await self._reader.call(self._store.get_value, key)

    async def set_value(self, key: str, value: str) -> None:
        await self._writer.call(self._store.set_value, key, value)

    async def swap_value(self, key: str, expected: str | None, value: str) -> bool:
        return await self._writer.call(self._store.swap_value, key, expected, value)
