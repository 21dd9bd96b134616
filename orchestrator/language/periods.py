"""Parses words for a period. A text of which a part is not understood is refused as a whole.

Periods are half-open, from midnight to midnight of the person's zone. «За 7 дней» begins seven days before today and ends with today. «До
1 октября» is unclear unless one bound is wanted. A week ends on Sunday.
"""

import re
from collections.abc import Iterable
from datetime import datetime, time
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

from orchestrator.domain.errors import SettingsError
from orchestrator.language.date_format import Choice, Unclear
from orchestrator.language.date_parser import add_span, build_when, intersect_days, read_iso_moment
from orchestrator.language.day_phrase import Anchor, Look, UnclearPhrase
from orchestrator.language.day_words import find_days
from orchestrator.language.hour_words import find_hour
from orchestrator.language.hour_zones import find_named_zone
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.month_words import list_period_forms
from orchestrator.language.named_periods import NAMED_PERIODS
from orchestrator.language.number_words import convert_ordinals
from orchestrator.language.period_bounds import BOUNDED_PERIODS
from orchestrator.language.period_scope import DAY, Parts, Period, Reader, Scope, SeveralDays, Side
from orchestrator.language.text import normalize_text

__all__ = ["Period", "Side", "build_forms", "parse_period"]

_LONGEST: Final = 200
_TWO_WEEKS: Final = 2
"""A weekday that is today may be that of two weeks."""
_DASHES: Final = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))
_FIRST_YEAR: Final = 1900
_YEARS_AHEAD: Final = 100
_BESIDE: Final = frozenset(load_lexicon("periods").read_words("beside"))
_WORD: Final = re.compile(r"[^\W_]+|_")
_FORMS: Final = NAMED_PERIODS | BOUNDED_PERIODS


def parse_period(text: str, *, now: datetime, zone: str, look: Look, side: Side = "whole") -> Period | Choice | Unclear:
    """`look` says where words without a year are sought, `side` which bound is wanted.

    No text raises an error; a `now` without a zone does.
    """
    if now.tzinfo is None:
        raise ValueError("now must be aware")
    here = now.astimezone(ZoneInfo(zone))
    scope = Scope(here=here, side=side, anchor=Anchor(here.date(), look), read=_read)
    if len(text) > _LONGEST:
        return Unclear("no_date")
    plain = normalize_text(text.replace("_", " ")).translate(_DASHES).strip(" .,;!?")
    try:
        period = _read(plain, scope)
        if period.start is not None and period.end is not None and period.end < period.start:
            return Unclear("order")
        if any(bound is not None and not _FIRST_YEAR <= bound.year <= here.year + _YEARS_AHEAD for bound in (period.start, period.end)):
            return Unclear("impossible")
    except UnclearPhrase as refused:
        return refused.unclear
    except SeveralDays as several:
        return Choice(tuple(build_when(day, time(), here, has_time=False) for day in several.days))
    except (ValueError, OverflowError):  # beyond the calendar
        return Unclear("impossible")
    return period


def build_forms(names: Iterable[str]) -> tuple[tuple[re.Pattern[str], Reader], ...]:
    """Raises SettingsError for an unknown form."""
    form_names = tuple(names)
    unknown = [name for name in form_names if name not in _FORMS]
    if unknown:
        raise SettingsError(f"data/language/date_forms.yaml: no such form of a period: {', '.join(unknown)}")
    return tuple((re.compile(_FORMS[name][0]), _FORMS[name][1]) for name in form_names)


def _read(text: str, scope: Scope) -> Period:
    for pattern, read in _list_readers():
        match = pattern.fullmatch(text)
        if match is not None:
            return read(Parts(**match.groupdict("")), scope)
    return _read_point(text, scope)


def _read_point(text: str, scope: Scope) -> Period:
    """Raises UnclearPhrase if any other word stands beside the day or hour."""
    moment = read_iso_moment(text, scope.here)
    if moment is not None:
        return Period(start=moment, end=moment, has_time=True)
    zone, text = find_named_zone(text)
    day_phrases, rest = find_days(convert_ordinals(text), scope.anchor)
    hour, rest = find_hour(rest)
    span = next((day_phrase.span for day_phrase in day_phrases if day_phrase.span is not None), None)
    days = intersect_days(day_phrases) if day_phrases else (scope.today,)
    if (not day_phrases and hour is None) or not set(_WORD.findall(rest)) <= _BESIDE:
        raise UnclearPhrase("no_date")
    if span is not None:
        if len(day_phrases) > 1 or hour is not None:
            raise UnclearPhrase("several")
        moment = add_span(span, scope.here)
        return Period(start=moment, end=moment, has_time=True)
    if len(days) > 1:
        raise SeveralDays(days) if hour is None and len(days) == _TWO_WEEKS else UnclearPhrase("which_week" if hour else "which_day")
    if hour is None:
        return scope.build_days(days[0], days[0] + DAY)
    if len(hour.options) > 1:
        raise UnclearPhrase("which_hour")
    there = scope.here.astimezone(zone) if zone is not None else scope.here
    moment = build_when(days[0], hour.options[0], there, has_time=True).at.astimezone(scope.here.tzinfo)
    return Period(start=moment, end=moment, has_time=True)


@cache
def _list_readers() -> tuple[tuple[re.Pattern[str], Reader], ...]:
    """The patterns take 25 ms to compile, and few texts name a period."""
    return build_forms(list_period_forms())
