"""Rate limits per caller, and lock-out after wrong tokens. The memory that the counters take is limited.

The counters belong to this process: if several processes serve one address, each counts for itself.
"""

from collections import OrderedDict, deque
from collections.abc import Callable
from math import ceil
from typing import Final, Generic, TypeVar

from bot.token_bucket import BucketRate, TokenBucket

T = TypeVar("T")

MAX_REMEMBERED: Final = 10_000
"""Maximum number of remembered addresses and tokens; above it the one seen longest ago is forgotten."""
FAILURES: Final = 5
FAILURE_WINDOW: Final = 15 * 60.0
LOCKED_FOR: Final = 15 * 60.0
_MINUTE: Final = 60.0


class _RecentKeys(Generic[T]):
    """A table with a maximum of `most` entries; when it is full, a new entry replaces the one that was used longest ago."""

    def __init__(self, most: int = MAX_REMEMBERED) -> None:
        self._most = most
        self._kept: OrderedDict[str, T] = OrderedDict()

    def find(self, key: str) -> T | None:
        """Return the value stored under `key`, None if there is none, and mark the entry as just used."""
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
    """Limits the requests per minute of each key (an address or a token). A limit of 0 means no limit.

    The requests of a minute may be spread or come all at once (token bucket).
    """

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        """Create a limit with no requests counted."""
        self._rate = BucketRate(per_second=per_minute / _MINUTE, burst=per_minute)
        self._clock = clock
        self._buckets: _RecentKeys[TokenBucket] = _RecentKeys()

    def wait(self, key: str) -> int:
        """Return 0 and count the request if `key` may make one now, else return the seconds until it may."""
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
    """Tells which addresses sent five wrong tokens within 15 minutes: they are locked out for 15 minutes."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Create a lock-out with no failures recorded."""
        self._clock = clock
        self._failed: _RecentKeys[deque[float]] = _RecentKeys()
        self._locked: _RecentKeys[float] = _RecentKeys()

    def wait(self, address: str) -> int:
        """Return the seconds that the address is still locked out, 0 if it is not."""
        until = self._locked.find(address)
        left = until - self._clock() if until is not None else 0.0
        if until is not None and left <= 0:
            self._locked.drop(address)
        return max(0, ceil(left))

    def record_failure(self, address: str) -> bool:
        """Count one wrong token; return whether the address is now locked out."""
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
        """Return how many addresses with wrong tokens are remembered."""
        return len(self._failed) + len(self._locked)
