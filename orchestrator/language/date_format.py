"""Days and moments for Bitrix24, for people and for the prompt, Russian and English. Ring 2, pure; shifts no bare date.

What a person's «when» can turn out to be. Ring 2, types only.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Final, Literal
from zoneinfo import ZoneInfo

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import Locale

# What the caller will write: a moment (a deadline, 18:00 if no hour was said; a reminder, 09:00) or a bare day (CLOSEDATE).
WhenPurpose = Literal["deadline", "reminder", "day"]
WhenReason = Literal["no_date", "which_day", "which_hour", "impossible", "several", "mismatch", "repeats", "too_far"]


@dataclass(frozen=True, slots=True)
class When:
    """One moment in the person's zone; `has_time` is False if the hour is ours and not the person's."""

    day: date
    at: datetime
    has_time: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """Two to six readings, the likeliest first: the person presses one."""

    options: tuple[When, ...]


@dataclass(frozen=True, slots=True)
class Past:
    """Exactly one reading, but it is over: the person is asked whether that is meant."""

    value: When


@dataclass(frozen=True, slots=True)
class Unclear:
    """No reading that we may use; `questions.ask_when` words the question."""

    reason: WhenReason


_WORDS: Final = load_lexicon("dates")
_LOCALES: Final[tuple[Locale, ...]] = ("ru", "en")
_WEEKDAYS: Final = {locale: _WORDS.read_words("shown", locale, "weekdays") for locale in _LOCALES}
_MONTHS: Final = {locale: _WORDS.read_words("shown", locale, "months") for locale in _LOCALES}
_NEAR: Final = {locale: _WORDS.read_words("shown", locale, "near") for locale in _LOCALES}
_ISO_DAY: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ].*)?")


def to_bitrix_date(day: date) -> str:
    """A bare date as Bitrix24 takes it, for CLOSEDATE and BEGINDATE."""
    return date(day.year, day.month, day.day).isoformat()


def to_bitrix_datetime(at: datetime) -> str:
    """A moment with its offset, never without; ValueError for a naive one, which the portal would read in its own zone."""
    if at.tzinfo is None:
        raise ValueError("a moment for the portal must carry its offset")
    return at.isoformat(timespec="seconds")


def parse_portal_date(value: str) -> date:
    """The date part of what the portal returns for a bare date, whatever hour and offset follow; ValueError if there is none."""
    found = _ISO_DAY.fullmatch(value.strip())
    if found is None:
        raise ValueError("the value does not begin with a date")
    return date.fromisoformat(found[1])


def format_day(day: date, *, today: date, locale: Locale = "ru") -> str:
    """«пт, 25 декабря», with the year if it is not this year's."""
    year = "" if day.year == today.year else f" {day.year}"
    return f"{_WEEKDAYS[locale][day.weekday()]}, {day.day} {_MONTHS[locale][day.month - 1]}{year}"


def format_when(when: When, *, now: datetime, locale: Locale = "ru") -> str:
    """«пт, 25 декабря, 18:00» in the zone of the moment, with the year if it is not this year there."""
    today = now.astimezone(when.at.tzinfo).date()
    return f"{format_day(when.at.date(), today=today, locale=locale)}, {when.at:%H:%M}"


def format_calendar(now: datetime, zone: str, *, days: int = 14, locale: Locale = "ru") -> list[str]:
    """The coming days for the prompt, one a line: «пн 23.11 (2026-11-23) — сегодня»."""
    today = now.astimezone(ZoneInfo(zone)).date()
    return list(_format_lines(today, days, locale))


@lru_cache(maxsize=64)
def _format_lines(today: date, days: int, locale: Locale) -> tuple[str, ...]:
    return tuple(_format_line(today + timedelta(days=ahead), ahead, locale) for ahead in range(days))


def _format_line(day: date, ahead: int, locale: Locale) -> str:
    near = _NEAR[locale]
    return f"{_WEEKDAYS[locale][day.weekday()]} {day:%d.%m} ({day.isoformat()})" + (f" — {near[ahead]}" if ahead < len(near) else "")
