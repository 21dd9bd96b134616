"""Ring 1. The portal's leaky bucket, kept on our side, and the only clock of the client. Knows nothing of HTTP."""

import asyncio
import enum
import heapq
import itertools
import math
import time
from collections.abc import Awaitable, Callable
from typing import Self

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]
_EPSILON = 1e-9


class Priority(enum.IntEnum):
    """Who goes first when sends must wait; equals go in the order they came."""

    INTERACTIVE = 0
    BULK = 1


_Ticket = tuple[Priority, int]


class Limiter:
    """Lets sends through so that the portal's counter stays below its threshold.

    The counter rises by one with each send, refused ones too, and drains at `rate` a second; above `burst` the portal
    refuses. One limiter serves every client of a portal and source address within a process. Source: bitrix24 limits.
    """

    def __init__(self, rate: float = 2.0, burst: float = 50, *, clock: Clock = time.monotonic, sleep: Sleep = asyncio.sleep) -> None:
        if rate <= 0 or burst < 1:
            msg = "a limiter needs a rate above 0 and a burst of at least 1"
            raise ValueError(msg)
        self.clock = clock
        self.sleep = sleep
        self._rate = rate
        self._burst = burst
        self._level = 0.0
        self._seen_at = clock()
        self._numbers = itertools.count()
        self._queue: list[_Ticket] = []
        self._called: dict[_Ticket, asyncio.Event] = {}

    @classmethod
    def off(cls, *, clock: Clock = time.monotonic, sleep: Sleep = asyncio.sleep) -> Self:
        """A limiter that never makes anyone wait."""
        return cls(burst=math.inf, clock=clock, sleep=sleep)

    async def acquire(self, priority: Priority = Priority.INTERACTIVE) -> None:
        """Return when one request may be sent and count it; a cancelled wait counts nothing and holds nobody up."""
        ticket = (priority, next(self._numbers))
        heapq.heappush(self._queue, ticket)
        self._called[ticket] = asyncio.Event()
        try:
            while (delay := self._delay(ticket)) != 0:
                await self._wait(ticket, delay)
            self._level += 1
        finally:
            self._leave(ticket)

    def penalize(self) -> None:
        """Note that the portal refused: others fill the same bucket, so assume it is full."""
        if math.isfinite(self._burst):
            self._drain()
            self._level = max(self._level, self._burst)

    def _delay(self, ticket: _Ticket) -> float | None:
        """Seconds until the head of the queue may go; None for everybody behind it."""
        if self._queue[0] != ticket:
            return None
        self._drain()
        over = self._level + 1 - self._burst
        return over / self._rate if over > _EPSILON else 0.0

    async def _wait(self, ticket: _Ticket, delay: float | None) -> None:
        if delay is not None:
            await self.sleep(delay)
            return
        called = self._called[ticket]
        called.clear()
        await called.wait()

    def _leave(self, ticket: _Ticket) -> None:
        del self._called[ticket]
        self._queue.remove(ticket)
        heapq.heapify(self._queue)
        if self._queue:
            self._called[self._queue[0]].set()

    def _drain(self) -> None:
        now = self.clock()
        self._level = max(0.0, self._level - (now - self._seen_at) * self._rate)
        self._seen_at = now
