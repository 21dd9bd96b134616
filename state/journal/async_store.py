"""The store for asyncio: calls run in threads and always to their end, and none blocks the event loop.

SQLite has one thread for writes, in order, and some for reads; PostgreSQL several for both. Waiting commits to SQLite share a flush.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Concatenate, Final, Generic, ParamSpec, Protocol, TypeVar

from state.clock import read_boottime
from state.events.talking import AnswerGiven
from state.journal.store import (
    Commit,
    InboxRow,
    Lane,
    Store,
    StoredEvent,
    StoredInputs,
    StoreUnwritable,
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


class _Read(Generic[P, T]):
    """A method of the store as a coroutine of `AsyncStore`, in a thread for reads."""

    writes = False

    def __init__(self, method: Callable[Concatenate[Store, P], T]) -> None:
        self._name = method.__name__

    def __get__(self, store: "AsyncStore", _owner: type["AsyncStore"]) -> Callable[P, Coroutine[Any, Any, T]]:
        return partial(store.call_method, self._name, self.writes)


class _Write(_Read[P, T]):
    """As `_Read`, in the thread for writes."""

    writes = True


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

    async def call_method(self, name: str, writes: bool, /, *args: Any, **kwargs: Any) -> Any:  # noqa: FBT001 - bound by `_Read`
        """The store's method of that name, in its thread."""
        return await (self._writer if writes else self._reader).call(getattr(self._store, name), *args, **kwargs)

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

    async def iterate_back(self, stream: str, end: int) -> AsyncGenerator[list[StoredEvent], None]:
        """Yield pages up to `end`, the last first, each in order; the first are short."""
        size = SHORTEST_PAGE
        while end > 0:
            begin = max(0, end - size)
            yield await self.read_events(stream, begin, end - begin)
            end, size = begin, min(2 * size, LONGEST_PAGE)

    list_ready_sessions = _Read(Store.list_ready_sessions)
    list_waiting_inbox = _Read(Store.list_waiting_inbox)
    find_inbox = _Read(Store.find_inbox)
    read_events = _Read(Store.read_events)
    read_head = _Read(Store.read_head)
    read_records = _Read(Store.read_records)
    read_encrypted = _Read(Store.read_encrypted)
    list_heads = _Read(Store.list_heads)
    list_ends = _Read(Store.list_ends)
    scan = _Read(Store.scan)
    scan_back = _Read(Store.scan_back)
    scan_clear = _Read(Store.scan_clear)
    list_streams = _Read(Store.list_streams)
    load_snapshot = _Read(Store.load_snapshot)
    find_effect = _Read(Store.find_effect)
    list_effects = _Read(Store.list_effects)
    list_effects_in = _Read(Store.list_effects_in)
    count_starts = _Read(Store.count_starts)
    list_index_entries = _Read(Store.list_index_entries)
    list_last_index_entries = _Read(Store.list_last_index_entries)
    list_runs = _Read(Store.list_runs)
    load_blob = _Read(Store.load_blob)
    list_due_outbox = _Read(Store.list_due_outbox)
    find_sent_ref = _Read(Store.find_sent_ref)
    list_due_timers = _Read(Store.list_due_timers)
    list_timers = _Read(Store.list_timers)
    find_timer = _Read(Store.find_timer)
    get_value = _Read(Store.get_value)

    take_inbox = _Write(Store.take_inbox)
    return_inbox = _Write(Store.return_inbox)
    finish_inbox = _Write(Store.finish_inbox)
    acquire = _Write(Store.acquire)
    expire_leases = _Write(Store.expire_leases)
    release = _Write(Store.release)
    remove_run = _Write(Store.remove_run)
    mark_outbox_sent = _Write(Store.mark_outbox_sent)
    reschedule_outbox = _Write(Store.reschedule_outbox)
    mark_outbox_failed = _Write(Store.mark_outbox_failed)
    set_value = _Write(Store.set_value)
    swap_value = _Write(Store.swap_value)
