from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from typing import Final, Literal

from cronsim import CronSim

from orchestrator.domain.cron_lines import CronLine

ShapeKind = Literal["daily", "workdays", "weekly", "monthly", "month_end", "hours", "minutes"]
MOST_TIMES: Final = 4
WORKDAYS: Final = (1, 2, 3, 4, 5)
_SOME_MOMENT: Final = datetime(2000, 1, 1, tzinfo=UTC)
_HOURS: Final = 24
_MINUTES: Final = 60
_MONTHS: Final = frozenset(range(1, 13))
_DAYS: Final = frozenset(range(1, 32))
_WEEK: Final = frozenset(range(1, 8))


@dataclass(frozen=True, slots=True, kw_only=True)
class CronShape:
    kind: ShapeKind
    times: tuple[tuple[int, int], ...] = ()
    weekdays: tuple[int, ...] = ()
    """Monday is 1, Sunday 7."""
    days: tuple[int, ...] = ()
    every: int = 0
    minute: int = 0


def find_shape(line: CronLine) -> CronShape | None:
    """None for a line that no short sentence tells."""
    read = CronSim(line.text, _SOME_MOMENT)
    if set(read.months) != _MONTHS:
        return None
    weekdays = {7 if day == 0 else day for day in read.weekdays}
    is_any_day, is_any_weekday = set(read.days) == _DAYS, weekdays == _WEEK
    if not read.day_and and not (is_any_day and is_any_weekday):  # it is due on the days of both fields
        return None
    if is_any_day and is_any_weekday and (repetition := _find_repetition(sorted(read.hours), sorted(read.minutes))) is not None:
        return repetition
    times = tuple(product(sorted(read.hours), sorted(read.minutes)))
    if len(times) > MOST_TIMES or (not is_any_day and not is_any_weekday):
        return None
    if is_any_day:
        return _find_week_shape(weekdays, times)
    return _find_month_shape(set(read.days), times)


def _find_repetition(hours: list[int], minutes: list[int]) -> CronShape | None:
    step = _MINUTES // len(minutes)
    if len(hours) == _HOURS and len(minutes) > 1:
        return CronShape(kind="minutes", every=step) if minutes == list(range(0, _MINUTES, step)) else None
    apart = _HOURS // len(hours)
    if len(minutes) == 1 and len(hours) > MOST_TIMES and hours == list(range(0, _HOURS, apart)):
        return CronShape(kind="hours", every=apart, minute=minutes[0])
    return None


def _find_week_shape(weekdays: set[int | tuple[int, int]], times: tuple[tuple[int, int], ...]) -> CronShape | None:
    days = sorted(day for day in weekdays if isinstance(day, int))
    if len(days) != len(weekdays):  # such as the second Monday of a month
        return None
    if set(days) == _WEEK:
        return CronShape(kind="daily", times=times)
    return CronShape(kind="workdays" if tuple(days) == WORKDAYS else "weekly", times=times, weekdays=tuple(days))


def _find_month_shape(days: set[int], times: tuple[tuple[int, int], ...]) -> CronShape | None:
    if days == {CronSim.LAST}:
        return CronShape(kind="month_end", times=times)
    if len(days) > MOST_TIMES or min(days) < 1:
        return None
    return CronShape(kind="monthly", times=times, days=tuple(sorted(days)))
