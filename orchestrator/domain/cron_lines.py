"""Cron lines of five fields (0 and 7 are Sunday; names such as MON are accepted)."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from typing import Final, Literal
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

Field = Literal["minute", "hour", "day", "month", "weekday"]
Fault = Literal["length", "fields", "field", "never", "often"]
FIELDS: Final[tuple[Field, ...]] = ("minute", "hour", "day", "month", "weekday")
LONGEST: Final = 100
MOST_A_DAY: Final = 288
"""Moments of one line on one day: every five minutes."""


class CronError(ValueError):
    def __init__(self, fault: Fault, *, field: Field | None = None, text: str = "", count: int = 0) -> None:
        super().__init__(f"cron line: {fault} {field or ''} {text}".strip())
        self.fault = fault
        self.field = field
        self.written = text
        self.count = count


@dataclass(frozen=True, slots=True)
class CronLine:
    text: str


def parse_cron(text: str) -> CronLine:
    """Raises CronError."""
    if len(text) > LONGEST:
        raise CronError("length", count=len(text))
    parts = text.upper().split()
    if len(parts) != len(FIELDS):
        raise CronError("fields", count=len(parts))
    for place, part in enumerate(parts):
        if not _is_field(place, part):
            raise CronError("field", field=FIELDS[place], text=part)
    line = " ".join(parts)
    try:
        cron_sim = CronSim(line, _SOME_MOMENT)
        first = next(cron_sim, None)
    except CronSimError:
        first = None
    if first is None:
        raise CronError("never")
    often = len(cron_sim.minutes) * len(cron_sim.hours)
    if often > MOST_A_DAY:
        raise CronError("often", count=often)
    return CronLine(line)


def _is_field(place: int, text: str) -> bool:
    """The other fields are left open, so that only this one can be at fault."""
    alone = ["*"] * len(FIELDS)
    alone[place] = text
    try:
        CronSim(" ".join(alone), _SOME_MOMENT)
    except CronSimError:
        return False
    return True


MOST_COUNTED: Final = 1000


@dataclass(frozen=True, slots=True)
class Firing:
    """One run for `due`; the `missed` moments after it get none. `following` is always after now."""

    due: datetime
    missed: int
    following: datetime | None


def list_moments(line: CronLine, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """In UTC, rising. The library may answer with a moment that is over; it is passed over."""
    latest = after.astimezone(UTC)
    for local in CronSim(line.text, latest.astimezone(zone)):
        moment = local.astimezone(UTC)
        if moment > latest:
            latest = moment
            yield moment


def find_next(line: CronLine, zone: ZoneInfo, after: datetime) -> datetime | None:
    """In UTC; None if there is none within fifty years.

    A fixed time in a missing hour is due at the first minute after it, in a doubled hour once. A line whose minute or hour begins with a
    star follows real time.
    """
    return next(list_moments(line, zone, after), None)


def plan_firing(line: CronLine, zone: ZoneInfo, due: datetime, now: datetime) -> Firing | None:
    """One run however many moments were missed, for the awaited one: a plan made again after a crash names the same run.

    None if it is not due.
    """
    awaited = due.astimezone(UTC)
    if now < awaited:
        return None
    missed = 0
    for moment in list_moments(line, zone, awaited):
        if moment > now:
            return Firing(due=awaited, missed=missed, following=moment)
        if missed == MOST_COUNTED:
            return Firing(due=awaited, missed=missed, following=find_next(line, zone, now))
        missed += 1
    return Firing(due=awaited, missed=missed, following=None)


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
