"""Working days, and when daily messages are due in a person's time zone."""

import re
from calendar import isleap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import yaml

from orchestrator.domain.errors import SettingsError

LATEST: Final = timedelta(hours=3)
"""A daily message so late is skipped: a morning plan is of no use after lunch."""
MORNING: Final = time(9)
EVENING: Final = time(18)
HOLIDAYS: Final = Path(__file__).resolve().parents[2] / "data" / "holidays.yaml"
_QUIET_FROM, _QUIET_TO = time(21), time(8)
_FRIDAY: Final = 4
_FURTHEST: Final = 60
_DECREED_BY: Final = 11
"""The decree on next year's days off is published in autumn."""
_LEAP_DAY: Final = (2, 29)
_YEARLY = re.compile(r"[0-9]{2}-[0-9]{2}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Workdays:
    """Monday to Friday but for holidays.

    `yearly` and `moving` hold (month, day); a holiday in `moving` on a weekend frees the next working day.
    """

    yearly: frozenset[tuple[int, int]] = frozenset()
    moving: frozenset[tuple[int, int]] = frozenset()
    off: frozenset[date] = frozenset()
    on: frozenset[date] = frozenset()

    def find_unlisted_year(self, day: date) -> int:
        """Checks the year of `day` and, from November on, the next; 0 if none is missing or none is listed at all."""
        listed_years = {known.year for known in self.off | self.on}
        near = {day.year, day.year + (day.month >= _DECREED_BY)}
        return min(near - listed_years, default=0) if listed_years else 0

    def __contains__(self, day: date) -> bool:
        if day in self.on:
            return True
        if self.is_free(day) or day in self.off:
            return False
        return all(day not in _list_moved_days_off(self, year) for year in (day.year - 1, day.year))

    def is_free(self, day: date) -> bool:
        """Days listed for single years are ignored."""
        return day.weekday() > _FRIDAY or (day.month, day.day) in self.yearly | self.moving


@dataclass(frozen=True, kw_only=True)
class Slot:
    day: date
    at: datetime


def load_workdays(path: Path) -> Workdays:
    """data/holidays.yaml. Raises SettingsError that names the mistake."""
    try:
        content = _parse_yaml(path.read_text(encoding="utf-8"))
        unknown = set(content) - {"yearly", "yearly_moving", "days_off", "working_days"}
        if unknown:
            raise SettingsError(f"{path.name}: no such key: {', '.join(sorted(map(str, unknown)))}")
        yearly, moving = (frozenset(_parse_month_day(text) for text in content.get(key) or ()) for key in ("yearly", "yearly_moving"))
        return Workdays(
            yearly=yearly, moving=moving, off=_parse_dates(content.get("days_off")), on=_parse_dates(content.get("working_days"))
        )
    except (OSError, UnicodeError, ValueError, TypeError, yaml.YAMLError) as error:
        raise SettingsError(f"{path.name}: {error}") from None


@cache
def read_workdays() -> Workdays:
    """Of the country for which data/holidays.yaml is made. Raises SettingsError."""
    return load_workdays(HOLIDAYS)


@cache
def _parse_yaml(text: str) -> Mapping[str, Iterable[object] | None]:
    content: Mapping[str, Iterable[object] | None] = yaml.safe_load(text) or {}
    return content


@lru_cache(maxsize=16)
def _list_moved_days_off(calendar: Workdays, year: int) -> frozenset[date]:
    """For each such holiday, the next day that is not off already."""
    days_off: set[date] = set()
    for month, number in sorted(calendar.moving):
        if (month, number) == _LEAP_DAY and not isleap(year):
            continue
        holiday = date(year, month, number)
        if holiday.weekday() > _FRIDAY:
            after = (holiday + timedelta(days=ahead) for ahead in range(1, _FURTHEST))
            days_off.update(islice((day for day in after if not calendar.is_free(day) and day not in days_off), 1))
    return frozenset(days_off)


def to_utc(day: date, at: time, zone: str) -> datetime:
    """A time that the clocks skip takes the offset before the change."""
    return datetime.combine(day, at, tzinfo=ZoneInfo(zone)).astimezone(UTC)


def find_next_slot(now: datetime, at: time, zone: str, *, workdays: Workdays, last: int) -> Slot | None:
    """On the first working day after the ordinal `last`; None if there is none within 60 days."""
    first = now.astimezone(ZoneInfo(zone)).date()
    for ahead in range(_FURTHEST):
        day = first + timedelta(days=ahead)
        if day.toordinal() > last and day in workdays and (due := to_utc(day, at, zone)) + LATEST > now:
            return Slot(day=day, at=due)
    return None


def is_quiet(now: datetime, zone: str) -> bool:
    """Night or weekend for the person."""
    here = now.astimezone(ZoneInfo(zone))
    return here.weekday() > _FRIDAY or here.time() >= _QUIET_FROM or here.time() < _QUIET_TO


def _parse_month_day(text: object) -> tuple[int, int]:
    if not isinstance(text, str) or not _YEARLY.fullmatch(text):
        raise ValueError(f'{text!r} is not written as "MM-DD"')
    day = date.fromisoformat(f"2024-{text}")  # 2024 is a leap year, so that 29 February can be a holiday
    return day.month, day.day


def _parse_dates(days: Iterable[object] | None) -> frozenset[date]:
    return frozenset(item if isinstance(item, date) else date.fromisoformat(str(item)) for item in days or ())
