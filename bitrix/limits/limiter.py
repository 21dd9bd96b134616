"""Decides when a request may be sent, so that the portal's request limit is not exceeded. It holds the clock that measures waits.

It sends nothing itself and knows nothing of HTTP.
"""

import asyncio
import contextlib
import enum
import heapq
import itertools
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Self

from bitrix.limits.plan import Plan
from bitrix.limits.shared_level import SharedLevel, Traffic

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]
QUANTUM = 5
"""At most this many interactive sends of a process are not in the shared counter yet, so it may be too low by this much per process."""
REPORT_EVERY = 0.5


class Priority(enum.IntEnum):
    """Says which of several waiting requests is sent first. Requests of equal priority are sent in order of arrival."""

    INTERACTIVE = 0
    BULK = 1


class SendResult(enum.Enum):
    """Tells how the portal's request counter treated one request: it passed, it was refused, or there was no answer (UNHEARD)."""

    PASSED = enum.auto()
    REFUSED = enum.auto()
    UNHEARD = enum.auto()


_Ticket = tuple[Priority, int]


@dataclass(frozen=True, slots=True)
class LimiterState:
    """What a limiter knows at one moment: the plan, the portal's counter as far as it is known, and the requests of this process."""

    rate: float
    burst: float
    """The threshold of the counter; infinite for a plan without one."""
    level: float
    waiting: int
    in_flight: int


class Limiter:
    """Lets requests through one by one, so that the portal's request counter stays below its threshold.

    One limiter serves all clients of a portal in a process. `shared` is a copy of the counter that all processes share. While the counter
    is far below the threshold, an interactive request goes at once and is added to `shared` within half a second. Any other request is
    added to `shared` first. After each `acquire` the caller must call `settle` once.
    """

    def __init__(
        self,
        rate: float = 2.0,
        burst: float = 50,
        *,
        shared: SharedLevel | None = None,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        waited: Callable[[float], None] = lambda _: None,
    ) -> None:
        """Set up the limits of the portal's plan: `rate` is the requests per second, `burst` the threshold of the counter.

        `waited` is called with the seconds that each request had to wait. Raises ValueError if the limits allow no requests.
        """
        self.clock = clock
        self.sleep = sleep
        self._waited = waited
        self._plan = Plan(rate, burst)
        self._shared = shared if self._plan.is_limited else None
        self._level = 0.0
        self._seen_at = clock()
        self._heard_at = -math.inf
        self._in_flight = 0
        self._untold = Traffic()
        self._telling: asyncio.Task[None] | None = None
        self._numbers = itertools.count()
        self._queue: list[_Ticket] = []
        self._called: dict[_Ticket, asyncio.Event] = {}

    @classmethod
    def create_unlimited(cls, *, clock: Clock = time.monotonic, sleep: Sleep = asyncio.sleep) -> Self:
        """Return a limiter that lets every request through at once."""
        return cls(burst=math.inf, clock=clock, sleep=sleep)

    async def acquire(self, priority: Priority = Priority.INTERACTIVE) -> None:
        """Wait until one request may be sent, and add it to the counter.

        If the wait is cancelled, nothing is added, and the requests that wait behind this one go on.
        """
        ticket, asked_at = (priority, next(self._numbers)), self.clock()
        heapq.heappush(self._queue, ticket)
        self._called[ticket] = asyncio.Event()
        try:
            while (delay := await self._try(ticket)) != 0:
                await self._wait(ticket, delay)
            self._in_flight += 1
            self._waited(self.clock() - asked_at)
        finally:
            self._leave(ticket)

    def settle(self, fate: SendResult) -> None:
        """Record what became of one request (`fate`). If the portal refused it, the counter is assumed to be full."""
        self._in_flight -= 1
        if fate is not SendResult.UNHEARD:
            self._heard_at = self.clock()
        if fate is SendResult.REFUSED:
            self._drain()
            self._level = self._plan.apply_traffic(self._level, 0, 1)
            self._count_traffic(refused=1)
        self._call_next()

    def describe(self) -> LimiterState:
        """Return what is known now; changes nothing."""
        level = self._plan.drain(self._level, self.clock() - self._seen_at)
        return LimiterState(self._plan.rate, self._plan.burst, level, len(self._queue), self._in_flight)

    async def aclose(self) -> None:
        """Add the requests not yet reported to the shared counter, and end the background task."""
        if self._telling is not None:
            self._telling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._telling
        if self._shared is not None and self._untold != Traffic():
            await self._shared.add(self._plan, self._take_unreported())

    async def _try(self, ticket: _Ticket) -> float | None:
        """Return 0 if the request of this ticket may be sent now, or the seconds until it should try again.

        None means that it must wait until `_call_next` wakes it. `ticket` is its place in the queue: (priority, number).
        """
        if self._queue[0] != ticket or self._must_probe(ticket[0]):
            return None
        self._drain()
        delay = self._plan.wait(self._level)
        if delay == 0 and self._shared is not None and self._is_near(ticket[0]):
            return await self._take(self._shared)
        if delay == 0:
            self._level += 1
            self._count_traffic(sent=1)
        return delay

    def _must_probe(self, priority: Priority) -> bool:
        """Return whether a request with this priority must wait for the answer to the request that is being sent; only bulk requests must.

        After a long time without answers the counter's state is not known, so bulk work sends a single request first.
        """
        silent = self.clock() - self._heard_at >= self._plan.seconds_to_drain
        return priority is Priority.BULK and self._plan.is_limited and silent and self._in_flight > 0

    def _is_near(self, priority: Priority) -> bool:
        return priority is Priority.BULK or self._untold.sent >= QUANTUM or self._level + 1 > self._plan.ceiling / 2

    async def _take(self, shared: SharedLevel) -> float:
        place = await shared.take(self._plan, self._take_unreported())
        self._drain()
        if place is None:
            self._level += 1
            return 0.0
        self._adopt_level(place.level)
        return place.wait

    def _count_traffic(self, *, sent: int = 0, refused: int = 0) -> None:
        if self._shared is None:
            return
        self._untold = Traffic(self._untold.sent + sent, self._untold.refused + refused)
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell(self._shared))

    async def _tell(self, shared: SharedLevel) -> None:
        while self._untold != Traffic():
            level = await shared.add(self._plan, self._take_unreported())
            if level is not None:
                self._drain()
                self._adopt_level(level)
            await self.sleep(REPORT_EVERY)

    def _take_unreported(self) -> Traffic:
        untold, self._untold = self._untold, Traffic()
        return untold

    def _adopt_level(self, level: float) -> None:
        self._level = max(self._level, level + self._untold.sent)

    async def _wait(self, ticket: _Ticket, delay: float | None) -> None:
        if delay is not None:
            await self.sleep(delay)
            return
        event = self._called[ticket]
        event.clear()
        await event.wait()

    def _leave(self, ticket: _Ticket) -> None:
        del self._called[ticket]
        self._queue.remove(ticket)
        heapq.heapify(self._queue)
        self._call_next()

    def _call_next(self) -> None:
        if self._queue:
            self._called[self._queue[0]].set()

    def _drain(self) -> None:
        now = self.clock()
        self._level = self._plan.drain(self._level, now - self._seen_at)
        self._seen_at = now
