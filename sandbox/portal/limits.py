"""Sandbox portal, limits: the leaky bucket of requests, the time budget of each method, the latency; the caller passes the time."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sandbox.portal.errors import PortalError

_WINDOW = 600.0
_COUNTED_FROM = 0.1


@dataclass(frozen=True)
class Bucket:
    """How fast the request counter drains (per second) and how full it may get."""

    rate: float = 2.0
    size: int = 50


@dataclass(frozen=True)
class Pace:
    """The latency of an answer, for measurements: seconds per request and per command in it."""

    request: float = 0.0
    command: float = 0.0


def parse_bucket(text: str) -> Bucket | None:
    """Parse `2/50` or `off`. Raises ValueError for anything else."""
    if text == "off":
        return None
    rate, _, size = text.partition("/")
    return Bucket(float(rate), int(size))


class RequestLimit:
    """Counts requests per source; a full counter refuses a request without counting it."""

    def __init__(self, bucket: Bucket | None, level: float = 0.0, now: datetime | None = None) -> None:
        """`level` is the counter of every source at `now`: a bucket may start full."""
        self.bucket = bucket
        self._start = (level, now.timestamp()) if now else None
        self._levels: dict[str, tuple[float, float]] = {}

    def admit(self, source: str, now: datetime) -> None:
        """Count one request. Raises QUERY_LIMIT_EXCEEDED if the counter of this source is full."""
        if self.bucket is None:
            return
        level = self.level(source, now)
        admitted = level + 1 <= self.bucket.size
        self._levels[source] = (level + admitted, now.timestamp())
        if not admitted:
            raise PortalError(503, "QUERY_LIMIT_EXCEEDED", "Too many requests")

    def level(self, source: str, now: datetime) -> float:
        """Return the counter of one source."""
        at = now.timestamp()
        level, seen = self._levels.get(source) or self._start or (0.0, at)
        return max(0.0, level - max(0.0, at - seen) * self.bucket.rate) if self.bucket else 0.0


Owner = tuple[str, str]  # the owner of the budget (a webhook or the application) and the method


@dataclass
class OperatingLimit:
    """Sums the execution time of each method over ten minutes; the next call above the limit is refused.

    `cost` adds seconds to each execution of a method.
    """

    seconds: float | None
    window: float = _WINDOW
    cost: Mapping[str, float] = field(default_factory=dict)
    _spent: dict[Owner, deque[tuple[float, float]]] = field(default_factory=lambda: defaultdict(deque))

    def admit(self, owner: Owner, now: datetime) -> None:
        """Admit a method. Raises OPERATION_TIME_LIMIT if its budget is used up."""
        if self.seconds is not None and self.spent(owner, now) > self.seconds:
            raise PortalError(429, "OPERATION_TIME_LIMIT", "Method is blocked due to operation time limit.")

    def add(self, owner: Owner, now: datetime, seconds: float) -> None:
        """Record one execution; quick ones are not counted."""
        seconds += self.cost.get(owner[1], 0.0)
        if seconds >= _COUNTED_FROM:
            self._spent[owner].append((now.timestamp(), seconds))

    def spent(self, owner: Owner, now: datetime) -> float:
        """Return the seconds used in the window."""
        entries = self._spent.get(owner)
        if not entries:
            return 0.0
        while entries and entries[0][0] <= now.timestamp() - self.window:
            entries.popleft()
        return sum((seconds for _, seconds in entries), 0.0)

    def reset_at(self, owner: Owner, now: datetime) -> int:
        """Return when the oldest counted execution leaves the window."""
        entries = self._spent.get(owner)
        return int((entries[0][0] if entries else now.timestamp()) + self.window)
