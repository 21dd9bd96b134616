"""Sandbox portal, limits: the request limit, the time budget of each method, and the latency.

There is no clock here: every function gets the present time from its caller.
"""

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
    """The settings of the request limit: a counter may reach `size` requests and falls by `rate` per second."""

    rate: float = 2.0
    size: int = 50


@dataclass(frozen=True)
class Pace:
    """The latency added to each answer for measurements: seconds per request, per command in it, and per list that counts its total."""

    request: float = 0.0
    command: float = 0.0
    total: float = 0.0


def parse_bucket(text: str) -> Bucket | None:
    """Return the request limit that a text describes: `2/50` is a rate of 2 per second and a size of 50, `off` gives None.

    Raises ValueError for any other text.
    """
    if text == "off":
        return None
    rate, _, size = text.partition("/")
    return Bucket(float(rate), int(size))


class RequestLimit:
    """The request limit: one counter per client address (`source`). It refuses a request when the counter is full."""

    def __init__(self, bucket: Bucket | None, level: float = 0.0, now: datetime | None = None) -> None:
        """Start the counter of every source at `level` at the time `now`, so that a test can begin with a full counter."""
        self.bucket = bucket
        self._start = (level, now.timestamp()) if now else None
        self._levels: dict[str, tuple[float, float]] = {}

    def admit(self, source: str, now: datetime) -> None:
        """Count one request. Raises QUERY_LIMIT_EXCEEDED (503) if the counter of this source is full; a refused request is not counted."""
        if self.bucket is None:
            return
        level = self.level(source, now)
        admitted = level + 1 <= self.bucket.size
        self._levels[source] = (level + admitted, now.timestamp())
        if not admitted:
            raise PortalError(503, "QUERY_LIMIT_EXCEEDED", "Too many requests")

    def level(self, source: str, now: datetime) -> float:
        """Return the counter of one source at the time `now`: the requests counted, less `Bucket.rate` for each second that has passed."""
        at = now.timestamp()
        level, seen = self._levels.get(source) or self._start or (0.0, at)
        return max(0.0, level - max(0.0, at - seen) * self.bucket.rate) if self.bucket else 0.0


Owner = tuple[str, str]  # the owner of the budget (a webhook or the application) and the method


@dataclass
class OperatingLimit:
    """The time budget of methods: `seconds` of execution time within a window of `window` seconds. None means no limit.

    Each caller (a webhook or the application) has a budget per method. When it is exceeded, the next call is refused. `cost` maps a method
    to seconds that each of its executions counts in addition.
    """

    seconds: float | None
    window: float = _WINDOW
    cost: Mapping[str, float] = field(default_factory=dict)
    _spent: dict[Owner, deque[tuple[float, float]]] = field(default_factory=lambda: defaultdict(deque))

    def admit(self, owner: Owner, now: datetime) -> None:
        """Raise OPERATION_TIME_LIMIT (429) if the time budget of `owner` (a caller and a method) is used up."""
        if self.seconds is not None and self.spent(owner, now) > self.seconds:
            raise PortalError(429, "OPERATION_TIME_LIMIT", "Method is blocked due to operation time limit.")

    def add(self, owner: Owner, now: datetime, seconds: float) -> None:
        """Record that a call took `seconds` of the time budget of `owner` (a caller and a method).

        The `cost` of the method is added. Less than 0.1 s in total is ignored.
        """
        seconds += self.cost.get(owner[1], 0.0)
        if seconds >= _COUNTED_FROM:
            self._spent[owner].append((now.timestamp(), seconds))

    def spent(self, owner: Owner, now: datetime) -> float:
        """Return the seconds of execution that were recorded for `owner` (a caller and a method) within the window before `now`."""
        entries = self._spent.get(owner)
        if not entries:
            return 0.0
        while entries and entries[0][0] <= now.timestamp() - self.window:
            entries.popleft()
        return sum((seconds for _, seconds in entries), 0.0)

    def reset_at(self, owner: Owner, now: datetime) -> int:
        """Return the Unix time at which the oldest execution recorded for `owner` (a caller and a method) leaves the window.

        If none is recorded, return the end of a window that begins now.
        """
        entries = self._spent.get(owner)
        return int((entries[0][0] if entries else now.timestamp()) + self.window)
