"""Working days, and the moments that daily help is due at in a person's zone. Ring 2, pure; asks no clock."""

import re
from calendar import isleap
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import yaml

from orchestrator.domain.errors import SettingsError

LATEST: Final = timedelta(hours=3)
"""What is later than this is skipped: nobody plans the morning after lunch."""
MORNING: Final = time(9)
EVENING: Final = time(18)
_QUIET_FROM, _QUIET_TO = time(21), time(8)
_FRIDAY: Final = 4
_FURTHEST: Final = 60
"""No calendar has so many days off in a row; one that has them all is a mistake."""
_DECREED_BY: Final = 11
"""From this month on the next year's list is missed: the government's decree is of the autumn."""
_LEAP_DAY: Final = (2, 29)
_YEARLY = re.compile(r"[0-9]{2}-[0-9]{2}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Workdays:
    """Monday to Friday without holidays and the days off that these bring along, and the weekends that are worked."""

    yearly: frozenset[tuple[int, int]] = frozenset()
    moving: frozenset[tuple[int, int]] = frozenset()
    off: frozenset[date] = frozenset()
    on: frozenset[date] = frozenset()

    def find_unlisted_year(self, day: date) -> int:
        """The year whose moved days off nobody has listed although `day` is near it; 0 for none, and for a list without any year."""
        listed = {known.year for known in self.off | self.on}
        near = {day.year, day.year + (day.month >= _DECREED_BY)}
        return min(near - listed, default=0) if listed else 0

    def __contains__(self, day: date) -> bool:
        """Whether people work on `day`."""
        if day in self.on:
            return True
        if self.is_free(day) or day in self.off:
            return False
        return all(day not in _list_moved_days_off(self, year) for year in (day.year - 1, day.year))

    def is_free(self, day: date) -> bool:
        """Whether every year's rules alone make `day` a weekend or a holiday."""
        return day.weekday() > _FRIDAY or (day.month, day.day) in self.yearly | self.moving


@dataclass(frozen=True, kw_only=True)
class Slot:
    """The day in the person's zone, and the moment in UTC."""

    day: date
    at: datetime


def load_workdays(path: Path) -> Workdays:
    """Read data/holidays.yaml; raises SettingsError that names what is wrong."""
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
def _parse_yaml(text: str) -> Any:
    """The same text is parsed once a process."""
    return yaml.safe_load(text) or {}


@lru_cache(maxsize=16)
def _list_moved_days_off(calendar: Workdays, year: int) -> frozenset[date]:
    """The days off that the moving holidays of `year` bring along: the first day after each that is no weekend and no holiday."""
    found: set[date] = set()
    for month, number in sorted(calendar.moving):
        if (month, number) == _LEAP_DAY and not isleap(year):
            continue
        holiday = date(year, month, number)
        if holiday.weekday() > _FRIDAY:
            after = (holiday + timedelta(days=ahead) for ahead in range(1, _FURTHEST))
            found.update(islice((day for day in after if not calendar.is_free(day) and day not in found), 1))
    return frozenset(found)


def to_utc(day: date, at: time, zone: str) -> datetime:
    """`at` on the wall clock of `day` as UTC; an hour that summer time skips counts from the hour before."""
    return datetime.combine(day, at, tzinfo=ZoneInfo(zone)).astimezone(UTC)


def find_next_slot(now: datetime, at: time, zone: str, *, workdays: Workdays, last: int) -> Slot | None:
    """The first working day after day `last` whose hour is not over for more than LATEST; None where no day is worked."""
    first = now.astimezone(ZoneInfo(zone)).date()
    for ahead in range(_FURTHEST):
        day = first + timedelta(days=ahead)
        if day.toordinal() > last and day in workdays and (due := to_utc(day, at, zone)) + LATEST > now:
            return Slot(day=day, at=due)
    return None


def is_quiet(now: datetime, zone: str) -> bool:
    """Whether what nobody asked for should arrive without a sound: at night and on weekends in the person's zone."""
    here = now.astimezone(ZoneInfo(zone))
    return here.weekday() > _FRIDAY or here.time() >= _QUIET_FROM or here.time() < _QUIET_TO


def _parse_month_day(text: Any) -> tuple[int, int]:
    if not isinstance(text, str) or not _YEARLY.fullmatch(text):
        raise ValueError(f'{text!r} is not written as "MM-DD"')
    day = date.fromisoformat(f"2024-{text}")  # a leap year: the 29th of February may be a holiday
    return day.month, day.day


def _parse_dates(given: Iterable[Any] | None) -> frozenset[date]:
    return frozenset(item if isinstance(item, date) else date.fromisoformat(str(item)) for item in given or ())
