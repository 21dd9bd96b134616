"""Days and times for Bitrix24, for people and for the prompt. A date without a time is never converted between time zones."""

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Final, Literal
from zoneinfo import ZoneInfo

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import Locale

# What the caller will store: a time (a deadline, 18:00 if no hour was said; a reminder, 09:00) or a day without a time (CLOSEDATE).
WhenPurpose = Literal["deadline", "reminder", "day"]
# What becomes of a past meaning: it is refused; it is taken if an earlier day was named; or the words are about the past.
PastRule = Literal["refused", "named", "meant"]
WhenReason = Literal[
    "no_date", "which_day", "which_hour", "which_week", "which_bound", "order", "impossible", "several", "mismatch", "repeats", "too_far"
]


@dataclass(frozen=True, slots=True)
class When:
    """A day and a time in the person's zone; without `has_time` a default hour stands in `at`."""

    day: date
    at: datetime
    has_time: bool


@dataclass(frozen=True, slots=True)
class Choice:
    options: tuple[When, ...]


@dataclass(frozen=True, slots=True)
class Past:
    value: When


@dataclass(frozen=True, slots=True)
class Unclear:
    reason: WhenReason


_WORDS: Final = load_lexicon("dates")
_LOCALES: Final[tuple[Locale, ...]] = ("ru", "en")
_WEEKDAYS: Final = {locale: _WORDS.read_words("shown", locale, "weekdays") for locale in _LOCALES}
_MONTHS: Final = {locale: _WORDS.read_words("shown", locale, "months") for locale in _LOCALES}
_NEAR: Final = {locale: _WORDS.read_words("shown", locale, "near") for locale in _LOCALES}
_ISO_DAY: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ].*)?")


def to_bitrix_date(day: date) -> str:
    return date(day.year, day.month, day.day).isoformat()


def to_bitrix_datetime(at: datetime) -> str:
    """ "2026-12-25T18:00:00+03:00". Raises ValueError without an offset, which the portal would read in its own zone."""
    if at.tzinfo is None:
        raise ValueError("a moment for the portal must carry its offset")
    return at.isoformat(timespec="seconds")


def parse_portal_date(value: str) -> date:
    """Raises ValueError if the value does not begin with a date."""
    match = _ISO_DAY.fullmatch(value.strip())
    if match is None:
        raise ValueError("the value does not begin with a date")
    return date.fromisoformat(match[1])


def format_day(day: date, *, today: date, locale: Locale = "ru") -> str:
    """«пт, 25 декабря», with the year if it is not that of `today`."""
    year = "" if day.year == today.year else f" {day.year}"
    return f"{_WEEKDAYS[locale][day.weekday()]}, {day.day} {_MONTHS[locale][day.month - 1]}{year}"


def format_short_day(day: date, locale: Locale, *, has_year: bool = False) -> str:
    """«22.11» or "22 Nov", to stand before an hour."""
    if locale == "en":
        return f"{day.day} {_MONTHS[locale][day.month - 1][:3]}" + (f" {day.year}" if has_year else "")
    return f"{day:%d.%m.%Y}" if has_year else f"{day:%d.%m}"


def format_day_of(moment: datetime, zone: str, *, now: datetime, locale: Locale = "ru") -> str:
    """«пт, 25 декабря»: the day of a moment in this zone."""
    here = ZoneInfo(zone)
    return format_day(moment.astimezone(here).date(), today=now.astimezone(here).date(), locale=locale)


def format_when(when: When, *, now: datetime, locale: Locale = "ru") -> str:
    """«пт, 25 декабря, 18:00» in the zone of the time."""
    today = now.astimezone(when.at.tzinfo).date()
    return f"{format_day(when.at.date(), today=today, locale=locale)}, {when.at:%H:%M}"


def format_calendar(now: datetime, zone: str, *, days: int = 14, locale: Locale = "ru") -> list[str]:
    """Lines for the prompt: «пн 23.11 (2026-11-23) — сегодня»."""
    today = now.astimezone(ZoneInfo(zone)).date()
    return list(_format_lines(today, days, locale))


@lru_cache(maxsize=64)
def _format_lines(today: date, days: int, locale: Locale) -> tuple[str, ...]:
    return tuple(_format_line(today + timedelta(days=ahead), ahead, locale) for ahead in range(days))


def _format_line(day: date, ahead: int, locale: Locale) -> str:
    near = _NEAR[locale]
    return f"{_WEEKDAYS[locale][day.weekday()]} {day:%d.%m} ({day.isoformat()})" + (f" — {near[ahead]}" if ahead < len(near) else "")
