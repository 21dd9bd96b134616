"""Stretches of time: the one of a question, the one it is compared with, and the units by which records are grouped."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Final, Literal
from zoneinfo import ZoneInfo

from orchestrator.analytics.vocabulary import TimeUnit
from orchestrator.language.calendar_units import Unit, add_units, find_start, find_unit
from orchestrator.language.date_format import Choice, Unclear
from orchestrator.language.day_phrase import Look
from orchestrator.language.periods import Period, parse_period

DAY: Final = timedelta(days=1)
_REFERENCE: Final = re.compile(r"@(?:date|range|period):\s*(\S.*)", re.DOTALL)
_ISO: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_UNITS: Final[tuple[Unit, ...]] = ("years", "halves", "quarters", "months", "weeks", "days")
_GROUPED_AS: Final[Mapping[str, Unit]] = {"day": "days", "week": "weeks", "month": "months", "quarter": "quarters", "year": "years"}
_A_WEEK: Final = 7


class UnclearStretch(Exception):
    """The message says, in English, what is possible."""


@dataclass(frozen=True, slots=True)
class Clock:
    now: datetime
    """By the clock of the portal; aware."""
    zone: str

    @property
    def here(self) -> datetime:
        return self.now.astimezone(ZoneInfo(self.zone))

    @property
    def today(self) -> date:
        return self.here.date()

    @property
    def second(self) -> int:
        return int(self.now.timestamp())

    def find_midnight(self, day: date) -> datetime:
        return datetime.combine(day, time(), ZoneInfo(self.zone))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Half-open, `end` as it was asked for, also where it lies ahead; None: no bound."""

    start: datetime | None
    end: datetime | None
    has_time: bool = False
    is_choice: bool = False
    """The words may mean another day, too."""
    is_aligned: bool = False
    """Its beginning was moved to that of a unit: «за 12 недель» by weeks are eleven whole ones and this one."""

    @property
    def first_day(self) -> str:
        return self.start.date().isoformat() if self.start else ""

    @property
    def stop_day(self) -> str:
        """The first day after it."""
        if self.end is None:
            return ""
        return (self.end.date() if self.end.time() == time() else self.end.date() + DAY).isoformat()

    def is_unfinished(self, clock: Clock) -> bool:
        return self.end is not None and self.end > clock.now and (self.start is None or self.start <= clock.now)

    def find_bounds(self, clock: Clock, *, is_cut: bool) -> tuple[int | None, int | None]:
        """Seconds; what is counted up to now ends with the present second."""
        first = int(self.start.timestamp()) if self.start else None
        stop = int(self.end.timestamp()) if self.end else None
        if is_cut:
            stop = clock.second + 1 if stop is None else min(stop, clock.second + 1)
        return first, stop


def read_stretch(words: object, clock: Clock, look: Look) -> Stretch:
    """Raises UnclearStretch. Of several days the usual one is taken."""
    if isinstance(words, Mapping):
        return _read_days(words, clock)
    if not isinstance(words, str) or not words.strip():
        raise UnclearStretch(
            'write "@date:" and words such as this quarter, last month, last 90 days, or {"from":"2026-10-01","to":"2026-12-31"}'
        )
    matched = _REFERENCE.fullmatch(words.strip())
    text = matched[1] if matched else words
    period = parse_period(text, now=clock.now, zone=clock.zone, look=look)
    match period:
        case Unclear():
            raise UnclearStretch(
                f'"{_shorten(text)}" is no clear period ({period.reason.replace("_", " ")}); '
                "write words such as this quarter, last month, last 90 days, October 2026, or from 1 October to 15 October"
            )
        case Choice():
            days = [option.day for option in period.options]
            past = [day for day in days if day <= clock.today]
            day = max(past) if look == "back" and past else min(days)
            return replace(_build_days(day, day + DAY, clock), is_choice=True)
        case Period():
            return Stretch(start=period.start, end=period.end, has_time=period.has_time)


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:59] + "…"  # noqa: PLR2004 - enough to recognize it by


def _read_days(days: Mapping[object, object], clock: Clock) -> Stretch:
    first, last = days.get("from"), days.get("to")
    if set(days) - {"from", "to"} or not (first or last):
        raise UnclearStretch('a period of days is {"from":"2026-10-01","to":"2026-12-31"}, both included')
    try:
        start = clock.find_midnight(_parse_day(first)) if first else None
        end = clock.find_midnight(_parse_day(last) + DAY) if last else None
    except (ValueError, OverflowError):
        raise UnclearStretch('the days of a period are written as 2026-10-01: {"from":"2026-10-01","to":"2026-12-31"}') from None
    if start and end and start >= end:
        raise UnclearStretch("the period ends before it begins")
    return Stretch(start=start, end=end)


def _parse_day(text: object) -> date:
    if not isinstance(text, str) or not _ISO.fullmatch(text[:10]):
        raise ValueError("no ISO day")
    return date.fromisoformat(text[:10])


def _build_days(first: date, stop: date, clock: Clock) -> Stretch:
    return Stretch(start=clock.find_midnight(first), end=clock.find_midnight(stop))


def align_stretch(stretch: Stretch, words: object, unit: TimeUnit, clock: Clock) -> Stretch:
    """«За 12 недель» by weeks: whole weeks, the last of them this one. Only for words that count back from today in this unit."""
    if unit not in _GROUPED_AS or stretch.start is None or stretch.has_time or not isinstance(words, str):
        return stretch
    if stretch.end != clock.find_midnight(clock.today + DAY):
        return stretch
    name = _GROUPED_AS[unit]
    start = stretch.start.date()
    count = next((n for n in range(1, 400) if add_units(name, clock.today, -n) <= start), 0)
    if not count or add_units(name, clock.today, -count) != start or not _moves_with_today(stretch, words, clock):
        return stretch
    first = add_units(name, find_start(name, clock.today), 1 - count)
    return replace(stretch, start=clock.find_midnight(first), is_aligned=first != start)


def _moves_with_today(stretch: Stretch, words: str, clock: Clock) -> bool:
    """«С 28 мая» means the same day tomorrow, «за полгода» doesn't."""
    later = Clock(clock.now + DAY, clock.zone)
    try:
        return read_stretch(words, later, "back").start != stretch.start
    except UnclearStretch:
        return False


def find_unit_of(stretch: Stretch) -> tuple[Unit, int] | None:
    """("months", 3) if it is that many whole units, weeks from Monday to Sunday; None without bounds."""
    if stretch.start is None or stretch.end is None:
        return None
    first, stop = stretch.start.date(), stretch.end.date()
    for unit in _UNITS[:-1]:
        if find_unit(unit, first) == (first, stop):
            return unit, 1
    days = (stop - first).days
    if first.day == 1 and stop.day == 1 and days:
        return "months", (stop.year - first.year) * 12 + stop.month - first.month
    return ("weeks", days // _A_WEEK) if days % _A_WEEK == 0 and days and first.weekday() == 0 else ("days", days)


def keeps_weekdays(stretch: Stretch) -> bool:
    """Whether it is compared with the same days of the week a year ago, 364 days before, and not with the same dates."""
    units = find_unit_of(stretch)
    return stretch.has_time or (units is not None and units[0] == "weeks")


def find_compared(stretch: Stretch, how: Literal["previous", "year_ago"], clock: Clock, *, is_cut: bool = True) -> Stretch:
    """The one before, or a year before; of an unfinished one that is cut at the present, only as much as has passed of it.

    Raises UnclearStretch without bounds.
    """
    units = find_unit_of(stretch)
    if units is None or stretch.start is None or stretch.end is None:
        raise UnclearStretch('"compare" needs a period with a beginning and an end')
    first, stop = stretch.start, stretch.end
    unit, count = units
    try:
        if stretch.has_time:
            shift = timedelta(days=364) if how == "year_ago" else stop - first
            earlier = replace(stretch, start=first - shift, end=stop - shift)
        elif how == "previous":
            start = add_units(unit, first.date(), -count)
            earlier = _build_days(start, first.date(), clock)
        elif unit == "weeks":
            earlier = _build_days(first.date() - timedelta(days=364), stop.date() - timedelta(days=364), clock)
        else:
            earlier = _build_days(add_units("years", first.date(), -1), _find_stop_a_year_ago(stop.date()), clock)
    except (ValueError, OverflowError):
        raise UnclearStretch("there is no such earlier period") from None
    if earlier.start is None or earlier.end is None or not (is_cut and first <= clock.now < stop):
        return earlier
    passed = clock.second + 1 - int(first.timestamp())
    cut = datetime.fromtimestamp(int(earlier.start.timestamp()) + passed, ZoneInfo(clock.zone))
    return replace(earlier, end=min(cut, earlier.end), has_time=True)


def _find_stop_a_year_ago(stop: date) -> date:
    """What ends with 28 February, before a 29th, ended with it a year ago, too."""
    is_leap_day = (stop.month, stop.day) == (2, 29)
    return add_units("years", stop + DAY if is_leap_day else stop, -1)


def list_keys(unit: TimeUnit, first: date, last: date) -> tuple[str, ...]:
    """The keys of all groups that touch the days, as the SQL of the compiler writes them."""
    name = _GROUPED_AS[unit]
    keys = []
    day = find_start(name, first)
    while day <= last:
        keys.append(write_key(unit, day))
        day = add_units(name, day, 1)
    return tuple(keys)


def write_key(unit: TimeUnit, day: date) -> str:
    match unit:
        case "month":
            return f"{day:%Y-%m}"
        case "quarter":
            return f"{day.year:04d}-Q{(day.month + 2) // 3}"
        case "year":
            return f"{day.year:04d}"
        case _:
            return day.isoformat()


def find_days(unit: TimeUnit, key: str) -> tuple[date, date]:
    """The first day of a group, and the first after it. Raises ValueError for a key that is none."""
    match unit:
        case "month":
            first = date.fromisoformat(f"{key}-01")
        case "quarter":
            first = date(int(key[:4]), int(key[-1]) * 3 - 2, 1)
        case "year":
            first = date(int(key), 1, 1)
        case _:
            first = date.fromisoformat(key)
    return first, add_units(_GROUPED_AS[unit], first, 1)


def list_offsets(zone: str, first_year: int, last_year: int) -> tuple[tuple[int, int], ...]:
    """(second from which it holds, offset to UTC in seconds); the first holds before, too."""
    there = ZoneInfo(zone)
    day = int(datetime(first_year, 1, 1, tzinfo=ZoneInfo("UTC")).timestamp())
    stop = int(datetime(last_year + 1, 1, 1, tzinfo=ZoneInfo("UTC")).timestamp())
    offsets = [(day, _find_offset(day, there))]
    while day < stop:
        later = day + 7 * 86_400
        if _find_offset(later, there) != offsets[-1][1]:
            low, high = day, later
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if _find_offset(middle, there) != offsets[-1][1] else (middle, high)
            offsets.append((high, _find_offset(high, there)))
        day = later
    return tuple(offsets)


def _find_offset(second: int, there: ZoneInfo) -> int:
    offset = datetime.fromtimestamp(second, there).utcoffset()
    return int(offset.total_seconds()) if offset else 0
