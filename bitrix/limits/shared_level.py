"""A copy of the portal's request counter that all processes share. If the store fails, calls go on."""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

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
