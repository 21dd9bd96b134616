"""Stretches of days: weeks, which begin on Monday, months, quarters, half-years and years."""

from calendar import monthrange
from collections.abc import Mapping
from datetime import date, timedelta
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Literal

Unit = Literal["days", "weeks", "months", "quarters", "halves", "years"]
_MONTHS: Final[dict[Unit, int]] = {"months": 1, "quarters": 3, "halves": 6, "years": 12}
_STATED: Final[tuple[Unit, ...]] = ("weeks", "months", "quarters", "years")
_WEEK: Final = 7


def to_monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def find_start(unit: Unit, day: date) -> date:
    if unit in _MONTHS:
        count = _MONTHS[unit]
        return date(day.year, (day.month - 1) // count * count + 1, 1)
    return to_monday(day) if unit == "weeks" else day


def add_units(unit: Unit, day: date, count: int) -> date:
    """The same day of the month, or the last of a shorter one. Raises ValueError or OverflowError beyond the calendar."""
    if unit in _MONTHS:
        year, month = add_to_month(day.year, day.month, count * _MONTHS[unit])
        return date(year, month, min(day.day, monthrange(year, month)[1]))
    return day + timedelta(days=count * (_WEEK if unit == "weeks" else 1))


def find_unit(unit: Unit, day: date, shift: int = 0) -> tuple[date, date]:
    """The first day, and the first day after the unit."""
    start = add_units(unit, find_start(unit, day), shift)
    return start, add_units(unit, start, 1)


def add_to_month(year: int, month: int, count: int) -> tuple[int, int]:
    year, month = divmod(year * 12 + month - 1 + count, 12)
    return year, month + 1


def find_last_day(year: int, month: int) -> date:
    return date(year, month, monthrange(year, month)[1])


@lru_cache(maxsize=8)  # the same for every turn of a day
def format_bounds(today: date) -> Mapping[str, str]:
    """For the prompt: "last week" -> "2026-11-23..2026-11-29"."""
    bounds_by_name = {}
    for name, shift in (("this", 0), ("last", -1)):
        for unit in _STATED:
            first, stop = find_unit(unit, today, shift)
            bounds_by_name[f"{name} {unit.removesuffix('s')}"] = f"{first}..{stop - timedelta(days=1)}"
    return MappingProxyType(bounds_by_name)
