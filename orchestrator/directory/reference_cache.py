"""Caches reads.

`load` returns an old value while the portal fails, `load_matching` reads again if the item is missing, `load_fresh` reads now or raises.
One read at a time for each key.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar, cast

from bitrix.errors import BitrixError, OutcomeUnknown, Refused
from state.clock import Clock

T = TypeVar("T")
Key = tuple[str, ...]
Read = Callable[[], Awaitable[T]]

MAX_KEYS: Final = 500
"""Requests from outside may name any funnel or employee."""
FAILURE_PAUSE: Final = timedelta(seconds=30)
"""While an older value can be shown."""
FIRST_FAILURE_PAUSE: Final = timedelta(seconds=5)
"""Without a value: a table of a hundred rows must not wait for a hundred failures."""
MISS_RETRY_AGE: Final = timedelta(seconds=10)
"""A value that lacks an item is read again only if it is older."""


@dataclass
class _Entry:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    value: object = None
    known: bool = False
    read_at: datetime | None = None  # None: never read, or outdated
    began: int = 0
    forgotten: int = 0
    failed_at: datetime | None = None
    failure: BitrixError | None = None
    changes: int = 0
    """Grows whenever `load` gives something else than before."""


class ReadLog:
    """What was loaded for one text: would the same loads give the same now?"""

    def __init__(self) -> None:
        self._loads: list[tuple[Key, _Entry, int]] = []
        self._until = _NEVER_OVER

    def add(self, key: Key, entry: _Entry, until: datetime) -> None:
        """It would ask the portal again from `until` on."""
        self._loads.append((key, entry, entry.changes))
        self._until = min(self._until, until)

    def is_current(self, entries: Mapping[Key, _Entry], now: datetime) -> bool:
        """And would not ask the portal."""
        if now >= self._until:
            return False
        for key, entry, changes in self._loads:  # noqa: SIM110 - a generator takes twice as long, and each prompt asks this
            if entries.get(key) is not entry or entry.changes != changes:
                return False
        return True


_NEVER_OVER: Final = datetime.max.replace(tzinfo=UTC)
_OVER: Final = datetime.min.replace(tzinfo=UTC)


class ReadCache:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[Key, _Entry] = {}
        self._reads = 0

    async def load(self, key: Key, read: Read[T], *, life: timedelta) -> T:
        """At most `life` old; while the portal fails, the last value. Raises BitrixError if there is none."""
        entry = self._get_entry(key)
        if not self._is_younger(entry, life):
            async with entry.lock:
                if not self._is_younger(entry, life):
                    await self._read_or_keep(entry, read, life)
        return cast("T", entry.value)

    async def load_matching(self, key: Key, read: Read[T], has: Callable[[T], bool], *, life: timedelta) -> T:
        """Read again once if `has` is False for the value."""
        value = await self.load(key, read, life=life)
        if has(value):
            return value
        return await self.load(key, read, life=min(life, MISS_RETRY_AGE))

    async def load_fresh(self, key: Key, read: Read[T]) -> T:
        """Read after this call began; callers that wait together share one read. Raises BitrixError."""
        reads_before = self._reads
        entry = self._get_entry(key)
        async with entry.lock:
            if entry.began <= reads_before or entry.read_at is None:
                await self._read(entry, read)
            return cast("T", entry.value)

    def discard(self, *prefix: str) -> None:
        """`load` returns the old value only while the portal fails."""
        for key, entry in self._entries.items():
            if key[: len(prefix)] == prefix:
                entry.read_at = entry.failed_at = entry.failure = None
                entry.forgotten += 1
                entry.changes += 1

    def note(self, key: Key, log: ReadLog, *, life: timedelta) -> None:
        """Also if the load has raised."""
        entry = self._entries.get(key) or _Entry()
        log.add(key, entry, self._find_end(entry, life))

    def is_current(self, log: ReadLog) -> bool:
        """Without asking the portal."""
        return log.is_current(self._entries, self._clock.now())

    def clear(self) -> None:
        self._entries.clear()

    def _get_entry(self, key: Key) -> _Entry:
        entry = self._entries.pop(key, None) or _Entry()
        if len(self._entries) >= MAX_KEYS:
            idle = next((old for old, other in self._entries.items() if not other.lock.locked()), None)
            if idle is not None:
                del self._entries[idle]
        self._entries[key] = entry  # put last, so that the least recently used key is evicted first
        return entry

    def _is_younger(self, entry: _Entry, age: timedelta) -> bool:
        return entry.read_at is not None and self._clock.now() - entry.read_at < age

    async def _read(self, entry: _Entry, read: Read[object]) -> None:
        self._reads += 1
        began, forgotten = self._reads, entry.forgotten
        value = await read()
        if not entry.known or value != entry.value:
            entry.changes += 1
        entry.value, entry.known, entry.began = value, True, began
        entry.failed_at = entry.failure = None
        # If the key was discarded during the read, the value may be from before the change that caused this, so it counts as outdated.
        entry.read_at = self._clock.now() if entry.forgotten == forgotten else None

    async def _read_or_keep(self, entry: _Entry, read: Read[object], life: timedelta) -> None:
        """After a failure the portal rests: for `life` if it refused, else 5 seconds, or 30 with an old value."""
        if self._is_resting(entry, life):
            if not entry.known and entry.failure is not None:
                raise entry.failure.with_traceback(None)
            return
        try:
            await self._read(entry, read)
        except BitrixError as error:
            entry.failed_at, entry.failure = self._clock.now(), error
            if not entry.known:
                raise

    def _is_resting(self, entry: _Entry, life: timedelta) -> bool:
        return entry.failed_at is not None and self._clock.now() - entry.failed_at < _find_pause(entry, life)

    def _find_end(self, entry: _Entry, life: timedelta) -> datetime:
        """When `load` asks the portal again."""
        young = entry.read_at + life if entry.read_at is not None else _OVER
        return max(young, entry.failed_at + _find_pause(entry, life)) if entry.failed_at is not None else young


def _find_pause(entry: _Entry, life: timedelta) -> timedelta:
    if isinstance(entry.failure, Refused):
        return life
    return FAILURE_PAUSE if entry.known else FIRST_FAILURE_PAUSE


R = TypeVar("R")
READ_TIMEOUTS: Final[Mapping[str, float]] = {"fields": 4.0, "stages": 4.0, "categories": 4.0, "user": 4.0}
"""Seconds, for reads that a write is checked against; the client alone would wait for minutes."""
DEFAULT_READ_TIMEOUT: Final = 20.0
"""Seconds; the list of employees takes three requests."""
TIMEOUT_PAUSE: Final = timedelta(seconds=60)
"""Not every call must wait for the timeout."""


class ReadTimedOut(OutcomeUnknown):
    """The portal did not answer a read in time, or a read of the same kind of data timed out within the last minute."""


class ReadTimeouts:
    """After a timeout, reads of the same kind are rejected for a minute."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._hung: dict[tuple[str, ...], datetime] = {}

    def wrap(self, key: tuple[str, ...], read: Callable[[], Awaitable[R]]) -> Callable[[], Awaitable[R]]:
        """Raises ReadTimedOut, during the pause at once."""
        # Fifty funnels or employees of one batch must not time out one after the other.
        method = (key[0], key[1].partition(":")[0]) if key[0] == "fields" else key[:1]

        async def within() -> R:
            if self._is_resting(method):
                raise ReadTimedOut(f"the portal did not give its {key[0]} a moment ago")
            try:
                async with asyncio.timeout(READ_TIMEOUTS.get(key[0], DEFAULT_READ_TIMEOUT)):
                    return await read()
            except TimeoutError:
                self._hung[method] = self._clock.now()
                raise ReadTimedOut(f"the portal does not give its {key[0]}") from None

        return within

    def _is_resting(self, method: tuple[str, ...]) -> bool:
        since = self._hung.get(method)
        return since is not None and self._clock.now() - since < TIMEOUT_PAUSE
