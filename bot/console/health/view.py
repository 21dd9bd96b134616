"""The health of the process. An open page does not wait for long checks."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from bot.console.visit import Visit
from bot.console.words import find_run_title
from bot.monitoring.health_checks import HealthChecks, PartyHealth
from bot.monitoring.monitor import Monitor
from bot.monitoring.queue_view import QueueRow, list_queue
from state.clock import parse_iso
from state.journal.run_index import PREFIX as RUN
from state.journal.store import StoreError

_PATIENCE: Final = 0.05
"""Seconds; slower results show at the next reading."""


class HealthGlance:
    """The results of the checks as one open page knows them."""

    def __init__(self, checks: HealthChecks) -> None:
        self._checks = checks
        self._found: tuple[PartyHealth, ...] = ()
        self._task: asyncio.Task[list[PartyHealth]] | None = None

    async def look(self) -> tuple[PartyHealth, ...]:
        """None before the first checks have ended."""
        if self._task is None:
            self._task = asyncio.create_task(self._checks.check_all())
        done, _ = await asyncio.wait([self._task], timeout=_PATIENCE)
        if done:
            self._found, self._task = tuple(self._task.result()), None
        return self._found

    async def follow(self, refresh: Callable[[], Awaitable[None]]) -> None:
        """When the checks under way have ended."""
        if self._task is not None:
            await asyncio.wait([self._task])
            await refresh()


MOST_LEASES: Final = 50
_MOST_METHODS: Final = 8


@dataclass(frozen=True, kw_only=True)
class MethodTime:
    """Seconds; None if the portal refuses it for now."""

    method: str
    seconds: int | None


@dataclass(frozen=True, kw_only=True)
class LimitView:
    """`burst` and `level` are None for a plan without a threshold."""

    rate: float
    burst: int | None
    level: int | None
    waiting: int
    in_flight: int
    budget: int
    methods: tuple[MethodTime, ...]


@dataclass(frozen=True, kw_only=True)
class LeaseRow:
    """Until when a process may work on a session."""

    session: str
    name: str
    run_title: str
    """What the session's run executes, "" for any other."""
    owner: str
    until: datetime


@dataclass(frozen=True, kw_only=True)
class HealthView:
    parties: tuple[PartyHealth, ...]
    limits: LimitView | None
    queue: tuple[QueueRow, ...] | None
    """None if the database does not tell."""
    is_frozen: bool
    megabytes: int
    leases: tuple[LeaseRow, ...]
    lease_count: int
    providers: tuple[tuple[str, str], ...]
    """With the state of its breaker."""


async def load_health(visit: Visit, glance: HealthGlance | None, runs: dict[str, str]) -> HealthView:
    """A few seconds old at most; `runs` keeps titles between readings."""
    monitor = visit.services.monitor
    parties = await glance.look() if glance is not None else ()
    if monitor is None:
        return HealthView(parties=parties, limits=None, queue=None, is_frozen=False, megabytes=0, leases=(), lease_count=0, providers=())
    backlog = await monitor.read_backlog()
    leases, count = await _load_leases(visit, monitor, runs)
    return HealthView(
        parties=parties,
        limits=build_limits(monitor),
        queue=tuple(list_queue(backlog)) if backlog is not None else None,
        is_frozen=backlog is not None and backlog.frozen,
        megabytes=0 if backlog is None else backlog.database_bytes // 1_000_000,
        leases=leases,
        lease_count=count,
        providers=tuple(sorted((name, breaker.state) for name, breaker in monitor.reachability.breakers.items())),
    )


async def _load_leases(visit: Visit, monitor: Monitor, runs: dict[str, str]) -> tuple[tuple[LeaseRow, ...], int]:
    try:
        leases = await monitor.read_leases(MOST_LEASES)
    except (StoreError, OSError):
        return (), 0
    for run_id in {session.removeprefix(RUN) for session, _, _ in leases.held if session.startswith(RUN)} - runs.keys():
        runs[run_id] = await find_run_title(visit, run_id)
    access = visit.services.access
    rows = (
        LeaseRow(
            session=session,
            name=access.find_name(session),
            run_title=runs.get(session.removeprefix(RUN), ""),
            owner=owner,
            until=parse_iso(until),
        )
        for session, owner, until in leases.held
    )
    return tuple(rows), leases.count


def build_limits(monitor: Monitor) -> LimitView | None:
    """None if it asks no portal."""
    if monitor.reachability.limits is None:
        return None
    known = monitor.reachability.limits()
    state = known.requests
    used = sorted(((name, spent) for name, spent in known.methods.items() if spent >= 1), key=lambda item: -item[1])[:_MOST_METHODS]
    is_limited = math.isfinite(state.burst)
    return LimitView(
        rate=state.rate,
        burst=int(state.burst) if is_limited else None,
        level=round(state.level) if is_limited else None,
        waiting=state.waiting,
        in_flight=state.in_flight,
        budget=int(known.seconds),
        methods=tuple(MethodTime(method=name, seconds=int(spent) if math.isfinite(spent) else None) for name, spent in used),
    )
