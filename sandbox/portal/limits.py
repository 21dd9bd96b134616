"""Sandbox portal, limits: the leaky bucket of requests and the time budget of each method; time comes from the caller."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from datetime import datetime

from sandbox.portal.errors import PortalError

_WINDOW = 600.0
_COUNTED_FROM = 0.1


@dataclass(frozen=True)
class Bucket:
    """How fast the request counter drains (a second) and how full it may get."""

    rate: float = 2.0
    size: int = 50


def parse_bucket(text: str) -> Bucket | None:
    """Read `2/50` or `off`; raise ValueError on anything else."""
    if text == "off":
        return None
    rate, _, size = text.partition("/")
    return Bucket(float(rate), int(size))


class RequestLimit:
    """Counts requests of one source; a full counter refuses without counting the refused one."""

    def __init__(self, bucket: Bucket | None) -> None:
        self._bucket = bucket
        self._levels: dict[str, tuple[float, float]] = {}

    def admit(self, source: str, now: datetime) -> None:
        """Count one request; raise QUERY_LIMIT_EXCEEDED if the counter of this source is full."""
        if self._bucket is None:
            return
        at = now.timestamp()
        level, seen = self._levels.get(source, (0.0, at))
        level = max(0.0, level - max(0.0, at - seen) * self._bucket.rate)
        admitted = level + 1 <= self._bucket.size
        self._levels[source] = (level + admitted, at)
        if not admitted:
            raise PortalError(503, "QUERY_LIMIT_EXCEEDED", "Too many requests")


class OperatingLimit:
    """Sums the execution time of each method over ten minutes; the next call above the line is refused."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._spent: dict[str, deque[tuple[float, float]]] = defaultdict(deque)

    def admit(self, method: str, now: datetime) -> None:
        """Let a method run; raise OPERATION_TIME_LIMIT if its budget is spent."""
        if self.seconds is not None and self.spent(method, now) > self.seconds:
            raise PortalError(429, "OPERATION_TIME_LIMIT", "Method is blocked due to operation time limit.")

    def add(self, method: str, now: datetime, seconds: float) -> None:
        """Note one execution; quick ones are not counted."""
        if seconds >= _COUNTED_FROM:
            self._spent[method].append((now.timestamp(), seconds))

    def spent(self, method: str, now: datetime) -> float:
        """Seconds used in the window."""
        entries = self._spent[method]
        while entries and entries[0][0] <= now.timestamp() - _WINDOW:
            entries.popleft()
        return sum((seconds for _, seconds in entries), 0.0)

    def reset_at(self, method: str, now: datetime) -> int:
        """When the oldest counted execution leaves the window."""
        entries = self._spent[method]
        return int((entries[0][0] if entries else now.timestamp()) + _WINDOW)
