"""The figures of the console's charts, read once a minute for all who look."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.budget import Budget, build_person_key, find_month_start, to_month
from orchestrator.features.budgets.model_budget import PAGE, TYPES, UsageTotals, add_tokens
from orchestrator.reports.activity import Activity, count_activity
from state.clock import Clock, build_lower_id, read_boottime
from state.journal.async_store import AsyncStore
from state.journal.store import Store

FRESH: Final = 60.0
"""Seconds for which figures are shown again without reading."""
DAYS: Final = 14
_MOST_PAGES: Final = 50


@dataclass(frozen=True, kw_only=True)
class DayCalls:
    """Calls that change something."""

    day: date
    succeeded: int
    refused: int
    unknown: int


@dataclass(frozen=True, kw_only=True)
class PersonUsage:
    """This month; `money` is None without prices."""

    name: str
    tokens: int
    money: Decimal | None


@dataclass(frozen=True, kw_only=True)
class Figures:
    at: datetime
    days: tuple[DayCalls, ...]
    waits: tuple[int, ...]
    median_wait: float | None
    usage: tuple[PersonUsage, ...]
    currency: str
    is_cut: bool


class FigureReader:
    def __init__(self, store: AsyncStore, clock: Clock, *, budget: Callable[[], Budget], list_people: Callable[[], list[Actor]]) -> None:
        self._store, self._clock, self._budget, self._list_people = store, clock, budget, list_people
        self._known: dict[str, tuple[float, Figures]] = {}
        self._reading = asyncio.Lock()

    async def read(self, zone: str) -> Figures:
        """Days are those of the time zone. Raises StoreError."""
        async with self._reading:
            at, known = self._known.get(zone, (float("-inf"), None))
            if known is None or read_boottime() - at >= FRESH:
                known = await self._read(zone)
                self._known[zone] = read_boottime(), known
            return known

    async def _read(self, zone: str) -> Figures:
        now = self._clock.now()
        activity = await count_activity(self._store, days=DAYS, now=now, zone=zone)
        totals, is_cut = await self._sum_usage(now)
        budget = self._budget()
        return Figures(
            at=now,
            days=tuple(_build_day(day, activity) for day in sorted(activity.calls)),
            waits=tuple(activity.waits),
            median_wait=activity.median_wait,
            usage=self._list_usage(totals, budget, now),
            currency=budget.currency,
            is_cut=activity.is_cut or is_cut,
        )

    async def _sum_usage(self, now: datetime) -> tuple[UsageTotals, bool]:
        totals, after = UsageTotals(), build_lower_id(find_month_start(now))
        for _ in range(_MOST_PAGES):
            count, after = await self._store.read(_add_page, totals, after)
            if count < PAGE:
                return totals, False
        return totals, True

    def _list_usage(self, totals: UsageTotals, budget: Budget, now: datetime) -> tuple[PersonUsage, ...]:
        people = {build_person_key(actor.key, actor.bitrix_user_id): actor for actor in self._list_people()}
        months = {to_month(now, actor.time_zone) for actor in people.values()} | {to_month(now, "UTC")}
        usage = []
        for person in sorted({one for month in months for one in totals.list_people(month)}):
            actor = people.get(person)
            month = to_month(now, actor.time_zone if actor is not None else "UTC")
            used = add_tokens(totals.sum_by_model(person, month), totals.sum_estimates(person, month))
            money = round(budget.calculate_cost(used), 2) if budget.prices else None
            name = actor.name if actor is not None else person
            usage.append(PersonUsage(name=name, tokens=sum(map(sum, used.values())), money=money))
        return tuple(sorted(usage, key=lambda row: (-(row.money or 0), -row.tokens, row.name)))


def _add_page(store: Store, totals: UsageTotals, after: str) -> tuple[int, str]:
    """Return how many events there were, and the id of the last."""
    events = store.scan_clear(TYPES, after, PAGE)
    for event in events:
        totals.add_event(event)
    return len(events), events[-1].id if events else after


def _build_day(day: date, activity: Activity) -> DayCalls:
    ends = activity.calls[day]
    return DayCalls(day=day, succeeded=ends["succeeded"], refused=ends["refused"], unknown=ends["unknown"])
