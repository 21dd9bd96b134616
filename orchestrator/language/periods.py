"""Parses words for a period. A text of which a part is not understood is refused as a whole.

Periods are half-open, from midnight to midnight of the person's zone. «За 7 дней» begins seven days before today and ends with today. «До
1 октября» is unclear unless one bound is wanted. A week ends on Sunday.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import Final, Literal
from zoneinfo import ZoneInfo

from orchestrator.domain.errors import SettingsError
from orchestrator.language.calendar_units import MONTH, add_units, find_unit, list_period_forms
from orchestrator.language.date_format import Choice, Unclear
from orchestrator.language.date_parser import add_span, build_when, intersect_days, read_iso_moment
from orchestrator.language.day_phrase import Anchor, Look, UnclearPhrase
from orchestrator.language.day_words import find_days
from orchestrator.language.hour_words import find_hour, find_named_zone
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.named_periods import IN, NAMED_PERIODS, SHIFTING, UNITS
from orchestrator.language.number_words import convert_ordinals
from orchestrator.language.period_scope import DAY, Forms, Parts, Period, Reader, Scope, SeveralDays, Side
from orchestrator.language.text import normalize_text

__all__ = ["Period", "Side", "build_forms", "parse_period"]

_FAR_AHEAD: Final = timedelta(days=31)
"""A range that looks back and would begin to end later is that of a year before."""
_WORDS: Final = load_lexicon("periods")
_DATE_WORDS: Final = load_lexicon("dates")
_MORNINGS: Final = frozenset(_WORDS.read_words("mornings"))
_DAY_WORD: Final = re.compile(_WORDS.join_patterns("days"))
_DAY_OF_MONTH: Final = _WORDS.read_text("day_of_month")
_OF_MONTH: Final = re.compile(rf"(?:{_WORDS.join_patterns('number_of_month')})$")
_ENDING: Final = rf"(?:{_DATE_WORDS.join_patterns('day_endings')})?"
_MONTH_WORD: Final = re.compile(rf"(?<![\w])(?:{MONTH})(?!\w)")
_NUMBER_ONLY: Final = re.compile(rf"([0-9]{{1,2}}){_ENDING}")
_NUMBER_YEAR: Final = re.compile(rf"[0-9]{{1,2}}{_ENDING},? [0-9]{{4}}")
_NUMBER_MONTH: Final = re.compile(rf"[0-9]{{1,2}}{_ENDING} (?:{MONTH})")
_SHORT_DAY: Final = re.compile(r"[0-9]{1,2}\.[0-9]{2}")
_YEAR: Final = re.compile(
    rf"(?<![\w-])(?:19|20)[0-9]{{2}}(?![\w.])|(?:{SHIFTING}) (?:{_WORDS.join_patterns('of_year')})(?!\w)|\.(?:19|20)[0-9]{{2}}"
)
_CLOCK: Final = "[0-9]{1,2}(?::[0-9]{2})?"
_DATE_PART: Final = rf"[0-9]{{1,2}}(?:\.[0-9]{{2}}(?:\.[0-9]{{4}})?)?|(?:[0-9]{{1,2}} )?(?:{MONTH})(?: [0-9]{{1,2}})?"
_FROM: Final = _WORDS.join_patterns("range_from")
_TO: Final = rf"(?:(?P<which>{_WORDS.join_patterns('range_with')})|{_WORDS.join_patterns('range_to')})"


def _read_start(parts: Parts, scope: Scope) -> Period:
    start = _read_inner(parts.a, scope).start
    if start is None:
        raise UnclearPhrase("which_day")
    return _mark_edge(start.date(), "start", scope)


def _read_first_day(parts: Parts, scope: Scope) -> Period:
    start = _read_inner(parts.a, replace(scope, side="whole")).start
    if start is None:
        raise UnclearPhrase("which_day")
    return scope.build_days(start.date(), start.date() + DAY)


def _read_last_day(parts: Parts, scope: Scope) -> Period:
    end = _read_inner(parts.a, replace(scope, side="whole")).end
    if end is None:
        raise UnclearPhrase("which_day")
    return scope.build_days(end.date() - DAY, end.date())


def _read_end(parts: Parts, scope: Scope) -> Period:
    end = _read_inner(parts.a, scope).end
    if end is None:
        raise UnclearPhrase("which_day")
    return _mark_edge(end.date() - DAY, "end", scope)


def _mark_edge(day: date, edge: Literal["start", "end"], scope: Scope) -> Period:
    """«в начале месяца» as a period of its own is too vague."""
    if scope.side == "whole":
        raise UnclearPhrase("which_day")
    return replace(scope.build_days(day, day + DAY), edge=edge)


def _read_inner(text: str, scope: Scope) -> Period:
    if _DAY_WORD.fullmatch(text):
        return scope.build_days(scope.today, scope.today + DAY)
    unit = next((unit for unit, pattern in UNITS.items() if re.fullmatch(pattern, text)), None)
    return scope.build_days(*find_unit(unit, scope.today)) if unit is not None else _read_part(text, scope)


def _read_part(text: str, scope: Scope) -> Period:
    """A weekday that may be today is unclear: an answer to a question would stand for the whole text."""
    try:
        return scope.read(text, scope)
    except SeveralDays:
        raise UnclearPhrase("which_week") from None


def _read_since(parts: Parts, scope: Scope) -> Period:
    if scope.side == "end":
        raise UnclearPhrase("which_bound")
    read = scope.read if scope.side == "start" else _read_part
    inner = _read_morning(parts.a, scope) or read(parts.a, replace(scope, side="start"))
    begun = inner.start is not None and inner.start <= scope.here
    if begun and (scope.anchor.look == "back" or inner.edge):
        return replace(scope.build_until_now(inner.start), has_time=inner.has_time)
    return Period(start=inner.start, end=None, has_time=inner.has_time, reaches_now=True)


def _read_morning(text: str, scope: Scope) -> Period | None:
    return scope.build_days(scope.today, scope.today + DAY) if text in _MORNINGS else None


def _read_after(parts: Parts, scope: Scope) -> Period:
    if scope.side == "end":
        raise UnclearPhrase("which_bound")
    inner = _read_part(parts.a, replace(scope, side="start"))
    if scope.anchor.look == "back" and inner.end is not None and inner.end <= scope.here:
        return replace(scope.build_until_now(inner.end), has_time=inner.has_time)
    return Period(start=inner.end, end=None, has_time=inner.has_time, reaches_now=True)


def _read_until_with(parts: Parts, scope: Scope) -> Period:
    inner = _read_last(parts.a, scope)
    return Period(start=None, end=inner.end, has_time=inner.has_time)


def _read_until_before(parts: Parts, scope: Scope) -> Period:
    inner = _read_last(parts.a, scope)
    return Period(start=None, end=inner.start, has_time=inner.has_time)


def _read_until(parts: Parts, scope: Scope) -> Period:
    """Clear for an edge, a time, and where the caller knows whether the day belongs to it."""
    if scope.side == "end":
        return scope.read(parts.a, scope)
    inner = _read_last(parts.a, scope)
    if inner.edge or inner.is_moment:
        return Period(start=None, end=inner.start if inner.edge == "start" else inner.end, has_time=inner.has_time)
    raise UnclearPhrase("which_bound")


def _read_last(text: str, scope: Scope) -> Period:
    if scope.side == "start":
        raise UnclearPhrase("which_bound")
    return _read_part(text, replace(scope, side="end"))


def _read_hours(parts: Parts, scope: Scope) -> Period:
    day = _read_part(parts.a, replace(scope, side="whole"))
    if day.start is None or day.end is None or day.has_time or day.end.date() - day.start.date() != DAY:
        raise UnclearPhrase("which_day")
    first, last = (build_when(day.start.date(), _parse_clock(text), scope.here, has_time=True).at for text in (parts.number, parts.b))
    return Period(start=first, end=last, has_time=True)


def _parse_clock(text: str) -> time:
    hour, _, minute = text.partition(":")
    return time(int(hour), int(minute or 0))


def _read_range(parts: Parts, scope: Scope) -> Period:
    """«с A по B», of which each may lack the month or year that only the other has."""
    a, b = _add_month(parts.a, parts.b, is_inclusive=bool(parts.which))
    begin, end = replace(scope, side="start"), replace(scope, side="end")
    first, last = _read_ends(a, b, begin, end) if _YEAR.search(a) or not _YEAR.search(b) else _read_ends_of_year(a, b, begin, end)
    if first.start is None or last.end is None or first.start >= last.end or (last.start and last.start < first.start):
        raise UnclearPhrase("order")
    return Period(start=first.start, end=last.end, has_time=first.has_time or last.has_time)


def _read_ends(a: str, b: str, begin: Scope, end: Scope) -> tuple[Period, Period]:
    """The end is sought from the beginning on; far ahead of a question that looks back, the range is that of the year before."""
    first = _read_part(a, begin)
    last = _read_last_from(b, first, end)
    is_ahead = last.start is not None and last.start - begin.here > _FAR_AHEAD
    if not is_ahead or begin.anchor.look == "ahead" or _YEAR.search(a) or not _is_of_month(a) or first.start is None:
        return first, last
    earlier = add_units("years", begin.anchor.today, -1)
    first = _read_part(a, replace(begin, anchor=replace(begin.anchor, today=earlier)))
    return first, _read_last_from(b, first, end)


def _read_last_from(text: str, first: Period, scope: Scope) -> Period:
    if first.start is None:
        raise UnclearPhrase("order")
    last = _read_part(text, replace(scope, anchor=replace(scope.anchor, after=first.start.date())))
    is_turned = last.start is not None and last.start.month == first.start.month and last.start.year > first.start.year
    if is_turned and not _YEAR.search(text):  # «с 15 по 1 октября»
        raise UnclearPhrase("order")
    return last


def _read_ends_of_year(a: str, b: str, begin: Scope, end: Scope) -> tuple[Period, Period]:
    """«с 20 декабря по 10 января 2025» begins in 2024."""
    last = _read_part(b, end)
    if last.start is None or not _is_of_month(a):
        return _read_part(a, begin), last
    first = _read_part(_add_year(a, last.start.year), begin)
    if first.start is not None and first.start > last.start and first.start.month != last.start.month:
        first = _read_part(_add_year(a, last.start.year - 1), begin)
    return first, last


def _is_of_month(text: str) -> bool:
    return _MONTH_WORD.search(text) is not None or _SHORT_DAY.fullmatch(text) is not None


def _add_year(text: str, year: int) -> str:
    return f"{text}.{year}" if _SHORT_DAY.fullmatch(text) else f"{text} {year}"


def _add_month(a: str, b: str, *, is_inclusive: bool) -> tuple[str, str]:
    """(«1», «15 октября») → («1 октября», «15 октября»). «с 10 до 12» may be hours, unless a word says otherwise."""
    month = _MONTH_WORD.search(b)
    if month is not None and _NUMBER_MONTH.fullmatch(numbered := convert_ordinals(f"{a} {month[0]}")):
        return numbered, b
    month = _MONTH_WORD.search(a)
    if month is not None and (_NUMBER_ONLY.fullmatch(b) or _NUMBER_YEAR.fullmatch(b)):
        return a, f"{month[0]} {b}"
    number, begin = _NUMBER_ONLY.fullmatch(_OF_MONTH.sub("", b)), _NUMBER_ONLY.fullmatch(_OF_MONTH.sub("", a))
    if number is not None and begin is not None and (is_inclusive or _OF_MONTH.search(a + b)):
        return f"{begin[1]} {_DAY_OF_MONTH}", f"{number[1]} {_DAY_OF_MONTH}"
    if number is not None and begin is not None:
        raise UnclearPhrase("which_day")
    return a, b


BOUNDED_PERIODS: Final[Forms] = {
    "hours": (rf"(?P<a>.+?) (?:{_FROM}) (?P<number>{_CLOCK}) (?:{_WORDS.join_patterns('range_to')}) (?P<b>{_CLOCK})", _read_hours),
    "from_to": (rf"(?:{_FROM}) (?P<a>.+?) {_TO} (?P<b>.+)", _read_range),
    "between": (rf"(?:{_WORDS.join_patterns('between')}) (?P<a>.+?) (?:{_WORDS.join_patterns('between_and')}) (?P<b>.+)", _read_range),
    "bare_to": (
        rf"{IN}(?P<a>(?:(?:{MONTH}) )?[0-9]{{1,2}}{_ENDING}) (?:{_WORDS.join_patterns('bare_to')}) (?P<b>.+)",
        _read_range,
    ),
    "iso_range": (r"(?P<a>[0-9]{4}-[0-9]{2}-[0-9]{2}\S*?)/(?P<b>[0-9]{4}-[0-9]{2}-[0-9]{2}\S*)", _read_range),
    "dots": (r"(?P<a>.+?) ?\.{2,3} ?(?P<b>.+)", _read_range),
    "spaced_dash": (rf"{IN}(?P<a>.+?) - (?P<b>.+)", _read_range),
    "dash": (rf"{IN}(?P<a>{_DATE_PART})-(?P<b>(?:[0-9]|(?:{MONTH})).*)", _read_range),
    "since": (rf"(?:{_WORDS.join_patterns('since')}) (?P<a>.+)", _read_since),
    "after": (rf"(?:{_WORDS.join_patterns('after')}) (?P<a>.+)", _read_after),
    "until_with": (rf"(?:{_WORDS.join_patterns('until_with')}) (?P<a>.+)", _read_until_with),
    "until_before": (rf"(?:{_WORDS.join_patterns('until_before')}) (?P<a>.+)", _read_until_before),
    "until": (rf"(?:{_WORDS.join_patterns('until')}) (?P<a>.+)", _read_until),
    "first_day": (rf"{IN}(?:{_WORDS.join_patterns('first_day')}) (?P<a>.+)", _read_first_day),
    "last_day": (rf"{IN}(?:{_WORDS.join_patterns('last_day')}) (?P<a>.+)", _read_last_day),
    "start_of": (rf"{IN}(?:{_WORDS.join_patterns('start_of')}) (?P<a>.+)", _read_start),
    "end_of": (rf"{IN}(?:{_WORDS.join_patterns('end_of')}) (?P<a>.+)", _read_end),
}


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
