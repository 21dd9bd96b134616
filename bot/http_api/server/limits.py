"""Rates and lock-outs per process, in limited memory."""

from collections import OrderedDict, deque
from collections.abc import Callable
from math import ceil
from typing import Final, Generic, TypeVar

from bot.token_bucket import BucketRate, TokenBucket

T = TypeVar("T")

MAX_REMEMBERED: Final = 10_000
"""Above it the one seen longest ago is forgotten."""
FAILURES: Final = 5
FAILURE_WINDOW: Final = 15 * 60.0
LOCKED_FOR: Final = 15 * 60.0
_MINUTE: Final = 60.0


class _RecentKeys(Generic[T]):
    """When it is full, the entry that was used longest ago goes."""

    def __init__(self, most: int = MAX_REMEMBERED) -> None:
        self._most = most
        self._kept: OrderedDict[str, T] = OrderedDict()

    def find(self, key: str) -> T | None:
        """None if there is none; marks it as just used."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def put(self, key: str, value: T) -> None:
        self._kept[key] = value
        self._kept.move_to_end(key)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def drop(self, key: str) -> None:
        self._kept.pop(key, None)

    def __len__(self) -> int:
        return len(self._kept)


class RequestRate:
    """Per key, as a token bucket. 0 means no limit."""

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self._rate = BucketRate(per_second=per_minute / _MINUTE, burst=per_minute)
        self._clock = clock
        self._buckets: _RecentKeys[TokenBucket] = _RecentKeys()

    def wait(self, key: str) -> int:
        """Seconds until it may; 0 counts the request."""
        if not self._rate.burst:
            return 0
        now = self._clock()
        bucket = self._buckets.find(key)
        if bucket is None:
            bucket = TokenBucket(self._rate, now)
            self._buckets.put(key, bucket)
        seconds = bucket.wait(now)
        if not seconds:
            bucket.take(now)
        return ceil(seconds)


class Lockout:
    """Five wrong tokens within 15 minutes lock an address out for 15 minutes."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failed: _RecentKeys[deque[float]] = _RecentKeys()
        self._locked: _RecentKeys[float] = _RecentKeys()

    def wait(self, address: str) -> int:
        """Seconds; 0 if it is not locked out."""
        until = self._locked.find(address)
        left = until - self._clock() if until is not None else 0.0
        if until is not None and left <= 0:
            self._locked.drop(address)
        return max(0, ceil(left))

    def record_failure(self, address: str) -> bool:
        """Whether the address is now locked out."""
        now = self._clock()
        times = self._failed.find(address)
        if times is None:
            times = deque(maxlen=FAILURES)
            self._failed.put(address, times)
        times.append(now)
        if len(times) < FAILURES or now - times[0] > FAILURE_WINDOW:
            return False
        self._failed.drop(address)
        self._locked.put(address, now + LOCKED_FOR)
        return True

    def __len__(self) -> int:
        return len(self._failed) + len(self._locked)
