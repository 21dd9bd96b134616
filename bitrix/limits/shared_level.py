"""Ring 1. The portal's bucket as all processes see it: one stored value, moved by compare-and-set.

It is only pacing: where the store fails, calls go on and a log line says so. Refuses to know what the store is.
"""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from bitrix.limits.plan import Plan

log = logging.getLogger(__name__)
_TRIES = 100
"""Who is late finds that another has moved the value, and each of these has sent: it comes to an end when their places do."""
_REST = timedelta(seconds=30)
"""A store that failed may take seconds to fail again; meanwhile it is not asked."""
_SKEW = timedelta(seconds=5)
_OVER = 20.0
"""So far above its ceiling a stored counter is believed, for each refusal lifts it by one; more is no counter of ours."""


class LevelStore(Protocol):
    """What the store of all processes must offer; either method may raise anything."""

    async def get_value(self, key: str) -> str | None:
        """A small named value."""
        ...

    async def swap_value(self, key: str, expected: str | None, value: str) -> bool:
        """Set it if it is `expected` now (None: not set yet); False where somebody was quicker."""
        ...


@dataclass(frozen=True, slots=True)
class Traffic:
    """What one process sent since it last told the others."""

    sent: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """The counter now, and the seconds to wait before asking for a place again; 0 = it is taken."""

    level: float
    wait: float


def _utc_now() -> datetime:
    return datetime.now(UTC)


class SharedLevel:
    """The bucket of one portal, seen through the store; safe to use from many tasks and processes."""

    def __init__(self, store: LevelStore, portal: str, *, now: Callable[[], datetime] = _utc_now) -> None:
        """`now` is the wall clock, since processes share no other."""
        self._store = store
        self._key = f"bitrix.level.{portal}"
        self._now = now
        self._resting_until = datetime.min.replace(tzinfo=UTC)
        self._failing = False

    async def add(self, plan: Plan, traffic: Traffic) -> float | None:
        """Tell the others of `traffic` and return the counter of all; None where the store could not be asked."""
        place = await self._try_move(plan, traffic, places=0)
        return place.level if place else None

    async def take(self, plan: Plan, traffic: Traffic) -> Place | None:
        """Tell of `traffic`, then take one place if it fits; None where the store could not be asked."""
        return await self._try_move(plan, traffic, places=1)

    async def _try_move(self, plan: Plan, traffic: Traffic, *, places: int) -> Place | None:
        now = self._now()
        if now < self._resting_until <= now + _REST:  # later than that: the clock was set back
            return None
        try:
            place = await self._move(plan, traffic, places)
        except Exception:  # whatever the store says: pacing must not stop a call
            if not self._failing:
                log.exception("the shared bucket %s cannot be used, this process paces alone", self._key, extra={"action": "pace.alone"})
            self._failing = True
            self._resting_until = self._now() + _REST
            return None
        self._failing = False
        return place

    async def _move(self, plan: Plan, traffic: Traffic, places: int) -> Place | None:
        for _ in range(_TRIES):
            row = await self._store.get_value(self._key)
            level, seen_at, mended = self._drain(plan, row)
            level = plan.apply_traffic(level, traffic.sent, traffic.refused)
            wait = plan.wait(level) if places else 0.0
            if wait and traffic == Traffic() and not mended:
                return Place(level, wait)
            level += 0 if wait else places
            if await self._store.swap_value(self._key, row, f"{level!r} {seen_at.isoformat()}"):
                return Place(level, wait)
        return None

    def _drain(self, plan: Plan, row: str | None) -> tuple[float, datetime, bool]:
        """The counter now, its moment, and whether the row must be stored anew for it to drain at all."""
        now = self._now()
        if row is None:
            return 0.0, now, False
        stored = _parse_row(row)
        if stored is None:  # nobody knows: as full as we ever make it
            return plan.ceiling, now, True
        level, at = stored
        level = plan.drain(min(level, plan.ceiling + _OVER), (now - at).total_seconds())
        # Another machine's clock may run a little ahead: its moment is kept. Far ahead: a clock was set back, ours counts.
        return level, at if now < at <= now + _SKEW else now, at > now + _SKEW


def _parse_row(row: str) -> tuple[float, datetime] | None:
    """The stored counter and its moment; None for what is neither."""
    level, _, moment = row.partition(" ")
    try:
        stored = float(level), datetime.fromisoformat(moment)
    except ValueError:
        return None
    return stored if math.isfinite(stored[0]) and stored[1].tzinfo is not None else None
