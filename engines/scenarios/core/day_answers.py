"""Reads an answer that is a day or a moment, as people of the product name them. Pure.

Inside of a scenario it is 2026-12-31, or 2026-12-31T15:00:00+03:00 in the zone of the person.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final, Literal, get_args
from zoneinfo import ZoneInfo

from orchestrator.language.date_format import Choice, Past, Unclear, When, format_day, format_when, to_bitrix_date, to_bitrix_datetime
from orchestrator.language.date_parser import parse_when
from orchestrator.language.text import Locale

DayType = Literal["date", "datetime"]
DAYS: Final[tuple[DayType, ...]] = get_args(DayType)
_PROBLEMS: Final = frozenset({"several", "impossible", "mismatch", "too_far", "which_day", "which_hour", "which_week"})


@dataclass(frozen=True, slots=True)
class Mistake:
    code: str
    args: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """As `parse_bound` reads them; None for any."""

    earliest: date | None = None
    latest: date | None = None


def parse_bound(text: str) -> date | None:
    """A day, or a moment (which is a `datetime`); None for "". Raises ValueError for other texts, and a moment without an offset."""
    if not text.strip():
        return None
    bound: date
    try:
        bound = date.fromisoformat(text.strip())
    except ValueError:
        bound = datetime.fromisoformat(text.strip())
        if bound.tzinfo is None:
            raise ValueError("a moment needs its offset") from None
    return bound


def read_day(text: str, kind: DayType, *, said_at: datetime, zone: str, locale: Locale, bounds: Bounds) -> str | Mistake:
    reading = parse_when(text, now=said_at, zone=zone, purpose="day" if kind == "date" else "deadline", past="named")
    match reading:
        case When():
            when = reading
        case Past():
            return Mistake(
                "scenario-answer-day", {"type": kind, "problem": "past", "days": _show(reading.value, kind, said_at, zone, locale)}
            )
        case Choice():
            shown = "; ".join(dict.fromkeys(_show(one, kind, said_at, zone, locale) for one in reading.options))
            return Mistake("scenario-answer-day", {"type": kind, "problem": "which", "days": shown})
        case Unclear():
            problem: str = reading.reason if reading.reason in _PROBLEMS else "other"
            return Mistake("scenario-answer-day", {"type": kind, "problem": problem, "days": ""})
    if kind == "datetime" and not when.has_time:
        return Mistake("scenario-answer-day", {"type": kind, "problem": "no_hour", "days": _show(when, "date", said_at, zone, locale)})
    beyond = _find_beyond(when, bounds, zone)
    if beyond is not None:
        side, bound = beyond
        return Mistake(f"scenario-answer-{side}", {"day": _show_bound(bound, said_at, zone, locale)})
    return to_bitrix_date(when.day) if kind == "date" else to_bitrix_datetime(when.at)


def _find_beyond(when: When, bounds: Bounds, zone: str) -> tuple[Literal["early", "late"], date] | None:
    if bounds.earliest is not None and _compare(when, bounds.earliest, zone) < 0:
        return "early", bounds.earliest
    if bounds.latest is not None and _compare(when, bounds.latest, zone) > 0:
        return "late", bounds.latest
    return None


def _compare(when: When, bound: date, zone: str) -> int:
    """A day without an hour is compared with the day of a moment."""
    if isinstance(bound, datetime) and when.has_time:
        return (when.at > bound) - (when.at < bound)
    day = bound.astimezone(ZoneInfo(zone)).date() if isinstance(bound, datetime) else bound
    return (when.day > day) - (when.day < day)


def _show(when: When, kind: DayType, said_at: datetime, zone: str, locale: Locale) -> str:
    if kind == "datetime":
        return format_when(when, now=said_at, locale=locale)
    return format_day(when.day, today=said_at.astimezone(ZoneInfo(zone)).date(), locale=locale)


def _show_bound(bound: date, said_at: datetime, zone: str, locale: Locale) -> str:
    here = ZoneInfo(zone)
    if isinstance(bound, datetime):
        at = bound.astimezone(here)
        return format_when(When(at.date(), at, has_time=True), now=said_at, locale=locale)
    return format_day(bound, today=said_at.astimezone(here).date(), locale=locale)
