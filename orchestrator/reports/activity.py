"""Counts calls and waiting times from the clear parts of events."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from statistics import median
from typing import Final, Literal
from zoneinfo import ZoneInfo

from state.clock import build_lower_id, parse_iso
from state.journal.async_store import AsyncStore
from state.journal.store import ClearEvent, Store

CallEnd = Literal["succeeded", "refused", "unknown"]
_ENDS: Final[dict[str, CallEnd]] = {"CallSucceeded": "succeeded", "CallRefused": "refused", "CallOutcomeUnknown": "unknown"}
_DECIDED: Final = ("ConfirmationApproved", "ConfirmationDenied")
_TYPES: Final = (*_ENDS, *_DECIDED, "ConfirmationRequested", "ConfirmationReopened")
_PAGE: Final = 2000
_MOST_PAGES: Final = 50
BOUNDS: Final = (60, 300, 900, 3600, 4 * 3600, 24 * 3600)
"""Upper bounds in seconds of the groups; the last group waited longer."""


@dataclass(kw_only=True)
class Activity:
    calls: dict[date, Counter[CallEnd]] = field(default_factory=dict)
    """Calls that change something; every day has an entry."""
    waits: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    median_wait: float | None = None
    """Seconds; None if no card was decided."""
    is_cut: bool = False


async def count_activity(store: AsyncStore, *, days: int, now: datetime, zone: str) -> Activity:
    """Of the last `days` days with the present one, in the zone. Raises StoreError."""
    here = ZoneInfo(zone)
    today = now.astimezone(here).date()
    first = today - timedelta(days=days - 1)
    activity = Activity(calls={first + timedelta(days=number): Counter() for number in range(days)})
    request_times: dict[str, str] = {}
    waited: list[float] = []
    after = build_lower_id(datetime(first.year, first.month, first.day, tzinfo=here))
    for _ in range(_MOST_PAGES):
        events = await store.read(_read_page, after)
        for event in events:
            _count(activity, event, request_times, waited, lambda ts: parse_iso(ts).astimezone(here).date())
        if len(events) < _PAGE:
            break
        after = events[-1].id
    else:
        activity.is_cut = True
    activity.median_wait = median(waited) if waited else None
    return activity


def _read_page(store: Store, after: str) -> list[ClearEvent]:
    return store.scan_clear(_TYPES, after, _PAGE)


def _count(
    activity: Activity, event: ClearEvent, request_times: dict[str, str], waited: list[float], find_day: Callable[[str], date]
) -> None:
    if event.type in _ENDS:
        day = find_day(event.ts)
        if event.data.get("call_class") != "R" and day in activity.calls:
            activity.calls[day][_ENDS[event.type]] += 1
        return
    card = str(event.data.get("confirmation_id", ""))
    if event.type not in _DECIDED:
        request_times[card] = event.ts
    elif card in request_times:
        seconds = (parse_iso(event.ts) - parse_iso(request_times.pop(card))).total_seconds()
        waited.append(seconds)
        activity.waits[sum(seconds >= bound for bound in BOUNDS)] += 1
