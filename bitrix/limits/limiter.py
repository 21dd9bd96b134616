"""Paces requests below the portal's threshold by priority, with a counter that all processes share."""

import asyncio
import contextlib
import enum
import itertools
import logging
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol, Self

from bitrix.limits.plan import Plan

log = logging.getLogger(__name__)
_TRIES = 100
"""Each failed swap means that another process counted a send, and so many fill the counter."""
_REST = timedelta(seconds=30)
"""How long the store is not used after an error, because each use may take seconds to fail."""
_SKEW = timedelta(seconds=5)
_OVER = 20.0
"""How far above its ceiling a stored counter is believed; a higher one is invalid."""


class LevelStore(Protocol):
    """Its methods may raise any error."""

    async def get_value(self, key: str) -> str | None: ...

    async def swap_value(self, key: str, expected: str | None, value: str) -> bool:
        """False if the stored value is not `expected` (None: nothing is stored)."""


@dataclass(frozen=True, slots=True)
class Traffic:
    sent: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """`wait` in seconds; 0: the request was counted and may go."""

    level: float
    wait: float


def _utc_now() -> datetime:
    return datetime.now(UTC)


class SharedLevel:
    """A copy of the portal's request counter that all processes share. If the store fails, calls go on."""

    def __init__(self, store: LevelStore, portal: str, *, now: Callable[[], datetime] = _utc_now) -> None:
        self._store = store
        self._key = f"bitrix.level.{portal}"
        self._now = now
        self._resting_until = datetime.min.replace(tzinfo=UTC)
        self._failing = False

    async def add(self, plan: Plan, traffic: Traffic) -> float | None:
        place = await self._try_move(plan, traffic, places=0)
        return place.level if place else None

    async def take(self, plan: Plan, traffic: Traffic, *, beside_people: bool = False) -> Place | None:
        return await self._try_move(plan, traffic, places=1, beside_people=beside_people)

    async def _try_move(self, plan: Plan, traffic: Traffic, *, places: int, beside_people: bool = False) -> Place | None:
        now = self._now()
        if now < self._resting_until <= now + _REST:  # a later time means that the clock was set back
            return None
        try:
            place = await self._move(plan, traffic, places, beside_people=beside_people)
        except Exception:  # whatever the store raises: pacing must not stop a call
            if not self._failing:
                log.exception("the shared bucket %s cannot be used, this process paces alone", self._key, extra={"action": "pace.alone"})
            self._failing = True
            self._resting_until = self._now() + _REST
            return None
        self._failing = False
        return place

    async def _move(self, plan: Plan, traffic: Traffic, places: int, *, beside_people: bool) -> Place | None:
        for _ in range(_TRIES):
            row = await self._store.get_value(self._key)
            level, seen_at, mended = self._drain(plan, row)
            level = plan.apply_traffic(level, traffic.sent, traffic.refused)
            wait = plan.wait(level, beside_people=beside_people) if places else 0.0
            if wait and traffic == Traffic() and not mended:
                return Place(level, wait)
            level += 0 if wait else places
            if await self._store.swap_value(self._key, row, f"{level!r} {seen_at.isoformat()}"):
                return Place(level, wait)
        return None

    def _drain(self, plan: Plan, row: str | None) -> tuple[float, datetime, bool]:
        """(present counter, its time, whether the row must be rewritten): a row that is invalid or far in the future must."""
        now = self._now()
        if row is None:
            return 0.0, now, False
        stored = _parse_row(row)
        if stored is None:  # unreadable: taken as full
            return plan.ceiling, now, True
        level, at = stored
        level = plan.drain(min(level, plan.ceiling + _OVER), (now - at).total_seconds())
        # Another machine's clock may be slightly ahead: its time is kept. If it is far ahead, a clock was set back and the local time is
        # used.
        return level, at if now < at <= now + _SKEW else now, at > now + _SKEW


def _parse_row(row: str) -> tuple[float, datetime] | None:
    level, _, moment = row.partition(" ")
    try:
        stored = float(level), datetime.fromisoformat(moment)
    except ValueError:
        return None
    return stored if math.isfinite(stored[0]) and stored[1].tzinfo is not None else None


Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]
QUANTUM = 5
"""So many interactive sends of a process may not be in the shared counter yet."""
REPORT_EVERY = 0.5
_SHORTEST_SLEEP = 0.05
MOST_BESIDE_PEOPLE = 25
DUE_AFTER = 5.0
"""Seconds after which a lower priority is due although better ones wait: nothing stands still."""


class Priority(enum.IntEnum):
    """Which waiting request goes first. Sources of equal priority take turns."""

    INTERACTIVE = 0
    RUN = 1
    PROGRAM = 2
    BULK = 3


class SendResult(enum.Enum):
    PASSED = enum.auto()
    REFUSED = enum.auto()
    UNHEARD = enum.auto()


_Line = tuple[Priority, str]
_Ticket = tuple[_Line, int]


@dataclass(frozen=True, slots=True)
class LimiterState:
    rate: float
    burst: float
    """The threshold of the counter; infinite for a plan without one."""
    level: float
    waiting: int
    in_flight: int


class Limiter:
    """Lets requests through below the portal's threshold. After each `acquire` call `settle` once."""

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
        self._lines: dict[_Line, dict[int, asyncio.Event]] = {}
        self._served_at: dict[Priority, float] = {}

    @classmethod
    def create_unlimited(cls, *, clock: Clock = time.monotonic, sleep: Sleep = asyncio.sleep) -> Self:
        return cls(burst=math.inf, clock=clock, sleep=sleep)

    async def acquire(self, priority: Priority = Priority.INTERACTIVE, source: str = "") -> None:
        """Wait until one request may be sent, and count it. A cancelled wait counts nothing."""
        ticket, asked_at = ((priority, source), next(self._numbers)), self.clock()
        if not any(line[0] is priority for line in self._lines):
            self._served_at[priority] = asked_at
        self._lines.setdefault(ticket[0], {})[ticket[1]] = asyncio.Event()
        is_sent = False
        try:
            while (delay := await self._try(ticket)) != 0:
                if delay is None:
                    self._call_next()  # the one whose turn it is may have become due meanwhile, and not know it
                await self._wait(ticket, delay)
            self._in_flight += 1
            is_sent = True
            self._waited(self.clock() - asked_at)
        finally:
            self._leave(ticket, is_sent=is_sent)

    def settle(self, fate: SendResult) -> None:
        """If the portal refused the request, the counter is assumed to be full."""
        self._in_flight -= 1
        if fate is not SendResult.UNHEARD:
            self._heard_at = self.clock()
        if fate is SendResult.REFUSED:
            self._drain()
            self._level = self._plan.apply_traffic(self._level, 0, 1)
            self._count_traffic(refused=1)
        self._call_next()

    def describe(self) -> LimiterState:
        level = self._plan.drain(self._level, self.clock() - self._seen_at)
        return LimiterState(self._plan.rate, self._plan.burst, level, sum(map(len, self._lines.values())), self._in_flight)

    async def aclose(self) -> None:
        if self._telling is not None:
            self._telling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._telling
        if self._shared is not None and self._untold != Traffic():
            await self._shared.add(self._plan, self._take_unreported())

    async def _try(self, ticket: _Ticket) -> float | None:
        """0 if the request may be sent now, else the seconds until the next try; None: wait for `_call_next`."""
        priority = ticket[0][0]
        if self._find_next() != ticket:
            return None
        self._drain()
        is_due = self._is_due(priority)
        delay = self._plan.wait(self._level, beside_people=not is_due)
        if delay == 0 and self._shared is not None and self._is_near(priority):
            delay = await self._take(self._shared, beside_people=not is_due)
        elif delay == 0:
            self._level += 1
            self._count_traffic(sent=1)
        if delay == 0 or is_due:
            return delay
        return min(delay, max(_SHORTEST_SLEEP, self._served_at[priority] + DUE_AFTER - self.clock()))

    def _find_next(self) -> _Ticket | None:
        is_crowded = self._in_flight >= MOST_BESIDE_PEOPLE or self._must_probe()
        lines = [line for line in self._lines if line[0] is Priority.INTERACTIVE or not is_crowded]
        if not lines:
            return None
        due = [line for line in lines if line[0] is not Priority.INTERACTIVE and self._is_due(line[0])]
        line = min(due, key=lambda candidate: self._served_at[candidate[0]]) if due else min(lines, key=lambda candidate: candidate[0])
        return line, next(iter(self._lines[line]))

    def _is_due(self, priority: Priority) -> bool:
        return priority is Priority.INTERACTIVE or self.clock() - self._served_at[priority] >= DUE_AFTER

    def _must_probe(self) -> bool:
        """After a long silence the counter is not known, so work beside people sends a single request first."""
        silent = self.clock() - self._heard_at >= self._plan.seconds_to_drain
        return self._plan.is_limited and silent and self._in_flight > 0

    def _is_near(self, priority: Priority) -> bool:
        return priority is not Priority.INTERACTIVE or self._untold.sent >= QUANTUM or self._level + 1 > self._plan.ceiling / 2

    async def _take(self, shared: SharedLevel, *, beside_people: bool) -> float:
        place = await shared.take(self._plan, self._take_unreported(), beside_people=beside_people)
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
        event = self._lines[ticket[0]][ticket[1]]
        event.clear()
        await event.wait()

    def _leave(self, ticket: _Ticket, *, is_sent: bool) -> None:
        line, number = ticket
        waiting = self._lines[line]
        del waiting[number]
        if is_sent:
            self._served_at[line[0]] = self.clock()
            self._lines[line] = self._lines.pop(line)  # the other sources are next
        if not waiting:
            del self._lines[line]
        self._call_next()

    def _call_next(self) -> None:
        if (ticket := self._find_next()) is not None:
            self._lines[ticket[0]][ticket[1]].set()

    def _drain(self) -> None:
        now = self.clock()
        self._level = self._plan.drain(self._level, now - self._seen_at)
        self._seen_at = now
