"""What was read and is kept for a while: one read at a time for each key, and never older than the asker allows. Ring 2.

Three ways to ask: `kept` for showing (an old value serves while the portal fails), `load_matching` for looking something up (a miss is read
again once), `fresh` for whatever a write is judged by (read after it was asked for, or the portal's error).

How long a read of reference data may keep people waiting, and how long a read that hung is left alone. Ring 2; keeps no values.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar, cast

from bitrix.errors import BitrixError, OutcomeUnknown, Refused
from state.clock import Clock

T = TypeVar("T")
Key = tuple[str, ...]
Read = Callable[[], Awaitable[T]]

MAX_KEYS: Final = 500
"""Keys kept at once: kinds are few, but funnels and single employees are named from outside."""
FAILURE_PAUSE: Final = timedelta(seconds=30)
"""How long a portal that failed is left alone where an older value can be shown."""
FIRST_FAILURE_PAUSE: Final = timedelta(seconds=5)
"""The same where nothing can be shown: a table of a hundred rows must not wait for a hundred failures."""
MISS_RETRY_AGE: Final = timedelta(seconds=10)
"""A miss is read again unless the value is younger than this."""


@dataclass
class _Entry:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    value: Any = None
    known: bool = False
    read_at: datetime | None = None  # None: never read, or outdated
    began: int = 0
    forgotten: int = 0
    failed_at: datetime | None = None
    failure: BitrixError | None = None


class ReadCache:
    """See the module docstring."""

    def __init__(self, clock: Clock) -> None:
        """Nothing is kept yet."""
        self._clock = clock
        self._entries: dict[Key, _Entry] = {}
        self._reads = 0

    async def load(self, key: Key, read: Read[T], *, life: timedelta) -> T:
        """The value, read at most `life` ago; while the portal fails, the last one. Raises BitrixError when there is none."""
        entry = self._get_entry(key)
        if not self._is_younger(entry, life):
            async with entry.lock:
                if not self._is_younger(entry, life):
                    await self._read_or_keep(entry, read, life)
        return cast("T", entry.value)

    async def load_matching(self, key: Key, read: Read[T], has: Callable[[T], bool], *, life: timedelta) -> T:
        """As `kept`; a value without what is looked for is read again once, since it may be newer than what is kept."""
        value = await self.load(key, read, life=life)
        if has(value):
            return value
        return await self.load(key, read, life=min(life, MISS_RETRY_AGE))

    async def load_fresh(self, key: Key, read: Read[T]) -> T:
        """The value as read after this call began; raises BitrixError and serves nothing older. Concurrent askers share a read."""
        asked = self._reads
        entry = self._get_entry(key)
        async with entry.lock:
            if entry.began <= asked or entry.read_at is None:
                await self._read(entry, read)
            return cast("T", entry.value)

    def discard(self, *prefix: str) -> None:
        """What begins with `prefix` is outdated: it is read again, and shown only while the portal fails."""
        for key, entry in self._entries.items():
            if key[: len(prefix)] == prefix:
                entry.read_at = entry.failed_at = entry.failure = None
                entry.forgotten += 1

    def clear(self) -> None:
        """Drop everything."""
        self._entries.clear()

    def _get_entry(self, key: Key) -> _Entry:
        entry = self._entries.pop(key, None) or _Entry()
        if len(self._entries) >= MAX_KEYS:
            idle = next((old for old, other in self._entries.items() if not other.lock.locked()), None)
            if idle is not None:
                del self._entries[idle]
        self._entries[key] = entry  # last: what is asked for longest ago goes first
        return entry

    def _is_younger(self, entry: _Entry, age: timedelta) -> bool:
        return entry.read_at is not None and self._clock.now() - entry.read_at < age

    async def _read(self, entry: _Entry, read: Read[Any]) -> None:
        self._reads += 1
        began, forgotten = self._reads, entry.forgotten
        value = await read()
        entry.value, entry.known, entry.began = value, True, began
        entry.failed_at = entry.failure = None
        # Forgotten while it was read: it may be what was there before, so it is not young.
        entry.read_at = self._clock.now() if entry.forgotten == forgotten else None

    async def _read_or_keep(self, entry: _Entry, read: Read[Any], life: timedelta) -> None:
        """A portal that says no is not asked again within `life`, one that fails not within a pause."""
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
        if entry.failed_at is None:
            return False
        since = self._clock.now() - entry.failed_at
        if isinstance(entry.failure, Refused):
            return since < life
        return since < (FAILURE_PAUSE if entry.known else FIRST_FAILURE_PAUSE)


R = TypeVar("R")
READ_TIMEOUTS: Final[Mapping[str, float]] = {"fields": 4.0, "stages": 4.0, "categories": 4.0, "user": 4.0}
"""Seconds for the reads that a write is judged by; the client alone would wait for minutes."""
DEFAULT_READ_TIMEOUT: Final = 20.0
"""Seconds for the others: the list of employees takes three requests."""
TIMEOUT_PAUSE: Final = timedelta(seconds=60)
"""What hung is not tried again within this time, so that no second call waits for it."""


class ReadTimedOut(OutcomeUnknown):
    """The portal did not answer in time, or did not a moment ago.

    Speaks to whoever judges or shows: what was asked for is not known now, and waiting would not help.
    """


class ReadTimeouts:
    """See the module docstring."""

    def __init__(self, clock: Clock) -> None:
        """Nothing has hung yet."""
        self._clock = clock
        self._hung: dict[tuple[str, ...], datetime] = {}

    def wrap(self, key: tuple[str, ...], read: Callable[[], Awaitable[R]]) -> Callable[[], Awaitable[R]]:
        """`read`, which raises Hung when it takes too long, and at once while reads like it that hung are left alone."""
        method = _build_group_key(key)

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


def _build_group_key(key: tuple[str, ...]) -> tuple[str, ...]:
    """What is left alone together: fifty funnels or employees of one batch must not wait one after the other."""
    return (key[0], key[1].partition(":")[0]) if key[0] == "fields" else key[:1]
