"""Formats days and times for Bitrix24, for people and for the prompt, in Russian and English; defines the results of parsing a date.

A date without a time is never converted between time zones.
"""

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
WhenReason = Literal["no_date", "which_day", "which_hour", "impossible", "several", "mismatch", "repeats", "too_far"]


@dataclass(frozen=True, slots=True)
class When:
    """A text with one reading: a time in the person's zone; `has_time` is False if the person named no hour, so that a default was used."""

    day: date
    at: datetime
    has_time: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """A text with two to six readings, the most likely first, which are shown as buttons."""

    options: tuple[When, ...]


@dataclass(frozen=True, slots=True)
class Past:
    """A text with exactly one reading, which is in the past: the person is asked whether it is meant."""

    value: When


@dataclass(frozen=True, slots=True)
class Unclear:
    """A text without a usable reading; `value_references.format_date_question` builds the question to the person."""

    reason: WhenReason


_WORDS: Final = load_lexicon("dates")
_LOCALES: Final[tuple[Locale, ...]] = ("ru", "en")
_WEEKDAYS: Final = {locale: _WORDS.read_words("shown", locale, "weekdays") for locale in _LOCALES}
_MONTHS: Final = {locale: _WORDS.read_words("shown", locale, "months") for locale in _LOCALES}
_NEAR: Final = {locale: _WORDS.read_words("shown", locale, "near") for locale in _LOCALES}
_ISO_DAY: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ].*)?")


def to_bitrix_date(day: date) -> str:
    """Format a day for the portal's date-only fields, such as CLOSEDATE and BEGINDATE."""
    return date(day.year, day.month, day.day).isoformat()


def to_bitrix_datetime(at: datetime) -> str:
    """Format a time with its offset for the portal. Raises ValueError if it has none: the portal would read it in its own zone."""
    if at.tzinfo is None:
        raise ValueError("a moment for the portal must carry its offset")
    return at.isoformat(timespec="seconds")


def parse_portal_date(value: str) -> date:
    """Parse the date in a value of the portal, ignoring hour and offset. Raises ValueError if there is none."""
    found = _ISO_DAY.fullmatch(value.strip())
    if found is None:
        raise ValueError("the value does not begin with a date")
    return date.fromisoformat(found[1])


def format_day(day: date, *, today: date, locale: Locale = "ru") -> str:
    """Format a day as «пт, 25 декабря», with the year if it is not the year of `today`."""
    year = "" if day.year == today.year else f" {day.year}"
    return f"{_WEEKDAYS[locale][day.weekday()]}, {day.day} {_MONTHS[locale][day.month - 1]}{year}"


def format_when(when: When, *, now: datetime, locale: Locale = "ru") -> str:
    """Format a time as «пт, 25 декабря, 18:00» in its own zone, with the year if it is not the current year there."""
    today = now.astimezone(when.at.tzinfo).date()
    return f"{format_day(when.at.date(), today=today, locale=locale)}, {when.at:%H:%M}"


def format_calendar(now: datetime, zone: str, *, days: int = 14, locale: Locale = "ru") -> list[str]:
    """Return the coming days for the prompt, one per line: «пн 23.11 (2026-11-23) — сегодня»."""
    today = now.astimezone(ZoneInfo(zone)).date()
    return list(_format_lines(today, days, locale))


@lru_cache(maxsize=64)
def _format_lines(today: date, days: int, locale: Locale) -> tuple[str, ...]:
    return tuple(_format_line(today + timedelta(days=ahead), ahead, locale) for ahead in range(days))


def _format_line(day: date, ahead: int, locale: Locale) -> str:
    near = _NEAR[locale]
    return f"{_WEEKDAYS[locale][day.weekday()]} {day:%d.%m} ({day.isoformat()})" + (f" — {near[ahead]}" if ahead < len(near) else "")
