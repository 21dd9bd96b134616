"""Parses the words for a day or a time in the person's zone; unclear words lead to a question, not to a guess.

A day without an hour means 18:00, for a reminder 09:00. «Следующий» is the next calendar week. An hour from 1 to 7 is offered twice, the
afternoon first. Of two different days or hours none is taken.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import product
from string import ascii_lowercase
from typing import Final
from zoneinfo import ZoneInfo

from orchestrator.language.date_format import (
    Choice,
    Past,
    PastRule,
    Unclear,
    When,
    WhenPurpose,
    format_calendar,
    format_day,
    format_when,
    parse_portal_date,
    to_bitrix_date,
    to_bitrix_datetime,
)
from orchestrator.language.day_phrase import Anchor, DayPhrase, UnclearPhrase
from orchestrator.language.day_words import find_days
from orchestrator.language.hour_words import Hour, find_hour, find_named_zone
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.number_words import convert_ordinals
from orchestrator.language.text import normalize_text

_WORDS: Final = load_lexicon("dates")
_UNITS: Final = rf"(?:{_WORDS.join_patterns('span_units')})"
_WEEKDAYS: Final = "|".join(_WORDS.read_words("weekdays"))
_DAYS: Final = rf"(?:(?:{_WORDS.join_patterns('which')}) )?(?:{_WEEKDAYS}|{_WORDS.join_patterns('near_day_patterns')})(?!\w)"
_DATE: Final = rf"[0-9]{{1,2}}(?:[.]| (?:{'|'.join(_WORDS.read_words('months'))})(?!\w))"
_UNCOUNTED: Final = rf"(?! (?:{_WORDS.join_patterns('not_counted')}))"
_BEFORE_DAY: Final = rf"(?:(?:{_WORDS.join_patterns('before_day')}) )?"
_CHANGED: Final = tuple(
    re.compile(rf"(?<!\w){pattern}")
    for pattern in (
        rf"(?:{_WORDS.join_patterns('ahead_of')}) (?:\w+ )?{_UNITS} (?:{_WORDS.join_patterns('up_to')})(?!\w)",
        rf"(?:{_WORDS.join_patterns('in_time')}) (?:\w+ )?{_UNITS} (?:{_WORDS.join_patterns('counted_from')})(?!\w){_UNCOUNTED}",
        rf"(?:\w+ ){_UNITS} (?:{_WORDS.join_patterns('english_from')}) (?!{_WORDS.read_text('present')})",
        rf"(?:{_WORDS.join_patterns('later_than')}) (?:{_DAYS}|{_DATE}|next)",
        rf"(?:{_WORDS.join_patterns('except')}) {_BEFORE_DAY}(?:{_DAYS}|[0-9])",
        rf"(?:{_WORDS.join_patterns('not')}) {_BEFORE_DAY}(?:{_DAYS}|[0-9])",
        rf"(?:{_WORDS.join_patterns('in_time')}) (?:\w+ )?{_DAYS}",
        rf"{_DAYS},? (?:{_WORDS.join_patterns('in_time')}) (?:{_WORDS.join_patterns('some')})(?= *(?:$|[,;!?.]))",
        rf"{_DAYS} after next",
    )
)
_JOINED: Final = rf"(?:{_WORDS.join_patterns('joined')})"
_OF_TIME: Final = _WORDS.join_patterns("of_time")
_ENDS: Final = r"(?= *(?:$|[,;!?|]|\.(?:\s|$)))"
_LEFT_NUMBER: Final = re.compile(rf"(?:^|\||(?<!\w)(?:{_OF_TIME})) *[0-9]{{1,4}}(?:[.,:-][0-9]+)?{_ENDS}")
_LEFT_WORD: Final = re.compile(rf"(?<!\w)(?:{_WORDS.join_patterns('time_words')})(?!\w)")
_FILLING: Final = re.compile(_OF_TIME)
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_DAY_NAME: Final = re.compile(
    rf"{'|'.join(_WORDS.read_words('weekdays'))}|{'|'.join(_WORDS.read_words('months'))}|{_WORDS.join_patterns('near_day_patterns')}"
)
_SHORTEST_MISSPELT: Final = 5
_LONGEST_MISSPELT: Final = 15
_RUSSIAN: Final = "".join(map(chr, range(0x430, 0x450)))
"""The small letters but for «ё», which is folded."""
_EARLIEST: Final = re.compile(rf"(?<!\w)(?:{_WORDS.join_patterns('earliest')})(?!\w)")
_LATEST: Final = re.compile(rf"(?<!\w)(?:{_WORDS.join_patterns('latest')})(?!\w)")
_SAME_TIME: Final = re.compile(rf"(?<!\w)(?:{_WORDS.join_patterns('same_time')})(?!\w)")
_END_OF_DAY: Final = re.compile(
    rf"(?<!\w)(?:(?:{_WORDS.join_patterns('by_end')}) )?"
    rf"(?:(?:{_WORDS.join_patterns('end_of')}) (?:{_WORDS.join_patterns('day_in_end')})|eod)(?!\w)"
)
_ROUGHLY: Final = re.compile(rf"(?<!\w)(?:{_WORDS.join_patterns('roughly')})")
_SECOND: Final = re.compile(
    rf"(?<![\w.,])[0-9]{{1,2}} ?{_JOINED} ?(?:\||[0-9]{{1,2}}(?![\w.,]))|\| ?{_JOINED} ?[0-9]{{1,2}}(?::[0-9]{{2}})?(?=[.!?]?$)"
    rf"|(?<!\w)(?:{_WORDS.join_patterns('between')}) [0-9]"
)


def refuse_changed_day(text: str) -> None:
    """Raises UnclearPhrase. `text` is normalized, without the phrases that were read as a whole."""
    if any(pattern.search(text) for pattern in _CHANGED):
        raise UnclearPhrase("which_day")


def refuse_left_over(rest: str, *, is_day_named: bool) -> None:
    """Raises UnclearPhrase for a word of time, a number behind a preposition, or a misspelt day that was not read.

    If no day is named, every other word may be its name: «tmrw at 5».
    """
    if _LEFT_NUMBER.search(rest):
        raise UnclearPhrase("which_hour")
    words = _LETTERS.findall(rest)
    if _LEFT_WORD.search(rest) or any(map(is_nearly_day, words)) or not (is_day_named or all(map(_FILLING.fullmatch, words))):
        raise UnclearPhrase("which_day")


def is_nearly_day(word: str) -> bool:
    """One letter away from the name of a day or a month: «завтро», «понидельник»."""
    return _SHORTEST_MISSPELT <= len(word) <= _LONGEST_MISSPELT and any(map(_DAY_NAME.fullmatch, _list_respelt(word)))


def _list_respelt(word: str) -> Iterator[str]:
    letters = ascii_lowercase if word.isascii() else _RUSSIAN
    for place in range(len(word) + 1):
        head, tail = word[:place], word[place:]
        yield head + tail[1:]
        yield head + tail[1:2] + tail[:1] + tail[2:]
        for letter in letters:
            yield head + letter + tail
            yield head + letter + tail[1:]


def refuse_second_number(rest: str) -> None:
    """Raises UnclearPhrase for a number left over: «5 и 7 декабря». `rest` has "|" for what was read."""
    if _SECOND.search(rest):
        raise UnclearPhrase("several")


__all__ = [
    "Choice",
    "Past",
    "PastRule",
    "Unclear",
    "When",
    "WhenPurpose",
    "format_calendar",
    "format_day",
    "format_when",
    "parse_portal_date",
    "parse_when",
    "to_bitrix_date",
    "to_bitrix_datetime",
]

DEADLINE: Final = time(18)
MORNING: Final = time(9)
_LATE: Final = time(23, 59)
_YEARS_AHEAD: Final = 10
_FIRST_YEAR: Final = 1970
_MOST_OPTIONS: Final = 6
_ISO_MOMENT: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[tT ]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?) ?([zZ]|[+-][0-9]{2}:?[0-9]{2})?", re.ASCII
)
_LONGEST: Final = 1000
"""Nobody names a day in more characters, and to search them would take long."""


def parse_when(
    text: str, *, now: datetime, zone: str, purpose: WhenPurpose = "deadline", past: PastRule = "refused"
) -> When | Choice | Past | Unclear:
    """`purpose`: "deadline", "reminder", or "day" (a field without a time, for which today is never past).

    `past`: "refused" gives `Past`, "named" only for an hour of today («в 11»), "meant" looks back. No text raises an error; a `now`
    without a zone does.
    """
    if now.tzinfo is None:
        raise ValueError("now must be aware")
    here = now.astimezone(ZoneInfo(zone))
    try:
        return _decide(normalize_text(text), _Place(here, purpose, past)) if len(text) <= _LONGEST else Unclear("no_date")
    except UnclearPhrase as refused:
        return refused.unclear


@dataclass(frozen=True, slots=True)
class _Place:
    here: datetime
    wanted: WhenPurpose
    past: PastRule

    @property
    def today(self) -> date:
        return self.here.date()


def _decide(text: str, place: _Place) -> When | Choice | Past | Unclear:
    moment = read_iso_moment(text, place.here)
    if moment is not None:
        return _choose_reading([When(moment.date(), moment, has_time=True)], place)
    zone, day_phrases, hour = _read_parts(text, place)
    span = next((day_phrase.span for day_phrase in day_phrases if day_phrase.span is not None), None)
    if span is not None:
        return _add_span(span, place) if len(day_phrases) == 1 and hour is None else Unclear("several")
    if not day_phrases and hour is None:
        return Unclear("no_date")
    days = intersect_days(day_phrases) if day_phrases else (place.today,)
    if max(days) > place.today + timedelta(days=366 * _YEARS_AHEAD):
        return Unclear("too_far")
    if min(days).year < _FIRST_YEAR:
        return Unclear("impossible")
    if hour is not None and place.wanted == "day":
        hour = Hour(hour.options[:1])
    if hour is None or zone is None:
        return _choose_reading(_build_moments(days, hour, place), place)
    return _choose_reading([_build_far_moment(day, at, zone, place) for day, at in product(days, hour.options)], place)


def _read_parts(text: str, place: _Place) -> tuple[tzinfo | None, list[DayPhrase], Hour | None]:
    """The zone, the days and the hour that are named. Raises UnclearPhrase, also for what was left over."""
    anchor = Anchor(place.today, "back" if place.past == "meant" else "ahead")
    text = _ROUGHLY.sub("", text)
    refuse_changed_day(text)
    zone, text = find_named_zone(text)
    text = convert_ordinals(text)
    if (without_end := _END_OF_DAY.sub(" ", text)) != text and find_days(without_end, anchor)[0]:
        text = without_end  # «до конца дня пятницы»: the day is the one that is named
    day_phrases, rest = find_days(text, anchor)
    hour, rest = find_hour(rest)
    if _SAME_TIME.search(rest):
        if hour is not None:
            raise UnclearPhrase("several")
        hour, rest = Hour((place.here.time().replace(second=0, microsecond=0),)), _SAME_TIME.sub("|", rest)
    refuse_second_number(rest)
    refuse_left_over(_LATEST.sub(" ", rest), is_day_named=bool(day_phrases) or hour is None)
    if hour is None and _EARLIEST.search(rest):
        raise UnclearPhrase("which_day")
    return zone, day_phrases, hour


def read_iso_moment(text: str, here: datetime) -> datetime | None:
    """None for any other text than 2026-10-15T15:00+03:00. Without an offset in the person's zone. Raises UnclearPhrase."""
    match = _ISO_MOMENT.fullmatch(text.strip())
    if match is None:
        return None
    try:
        moment = datetime.fromisoformat(match[1] + "T" + match[2] + (match[3] or "").upper())
        if moment.tzinfo is None:
            moment = build_when(moment.date(), moment.time(), here, has_time=True).at
        return moment.astimezone(here.tzinfo).replace(microsecond=0)
    except (ValueError, OverflowError):
        raise UnclearPhrase("impossible") from None


def _add_span(span: timedelta, place: _Place) -> When | Past:
    """Added in UTC, so that «через 2 часа» is two real hours even when the clocks change."""
    at = add_span(span, place.here)
    when = When(at.date(), at, has_time=True)
    return Past(when) if span < timedelta() and place.past == "refused" else when


def add_span(span: timedelta, here: datetime) -> datetime:
    return (here.astimezone(UTC) + span).astimezone(here.tzinfo).replace(second=0, microsecond=0)


def intersect_days(day_phrases: list[DayPhrase]) -> tuple[date, ...]:
    """The days on which all phrases agree: «в пятницу 25 декабря». Raises UnclearPhrase."""
    weekdays = {day_phrase.weekday for day_phrase in day_phrases if day_phrase.weekday is not None}
    dated = {day_phrase.days: day_phrase for day_phrase in day_phrases if day_phrase.weekday is None}
    if len(weekdays) > 1 or len(dated) > 1:
        raise UnclearPhrase("several")
    if not dated:
        return day_phrases[0].days
    (other,) = dated.values()
    if not weekdays:
        return other.days
    (weekday,) = weekdays
    if other.week is not None:
        return (other.week + timedelta(days=weekday),)
    if any(day.weekday() != weekday for day in other.days):
        raise UnclearPhrase("mismatch")
    return other.days


def _build_far_moment(day: date, at: time, zone: tzinfo, place: _Place) -> When:
    moment = build_when(day, at, place.here.astimezone(zone), has_time=True).at.astimezone(place.here.tzinfo)
    return When(day if place.wanted == "day" else moment.date(), moment, has_time=True)


def _build_moments(days: tuple[date, ...], hour: Hour | None, place: _Place) -> list[When]:
    here = place.here
    if hour is not None:
        return [build_when(day, at, here, has_time=True) for day, at in product(days, hour.options)]
    if place.past == "meant" and place.wanted != "day":  # what happened today did not happen in the evening to come
        return [
            build_when(
                day, min(DEADLINE, here.time().replace(second=0, microsecond=0)) if day == here.date() else DEADLINE, here, has_time=False
            )
            for day in days
        ]
    # After 18:00 today is still offered among several days; its button says 23:59.
    late = len(days) > 1 and here.time() >= DEADLINE
    if place.wanted == "reminder":
        early = here.time() < MORNING
        return [build_when(day, DEADLINE if day == here.date() and not early else MORNING, here, has_time=False) for day in days]
    return [build_when(day, _LATE if late and day == here.date() else DEADLINE, here, has_time=False) for day in days]


def build_when(day: date, at: time, here: datetime, *, has_time: bool) -> When:
    """An hour that the clocks skip on that day is moved forward."""
    wall = datetime.combine(day, at.replace(microsecond=0), tzinfo=here.tzinfo)
    return When(day, wall.astimezone(UTC).astimezone(here.tzinfo), has_time=has_time)


def _choose_reading(readings: list[When], place: _Place) -> When | Choice | Past:
    over = [reading for reading in readings if _is_over(reading, place)]
    if place.past == "meant":
        fitting = over or readings
    else:
        fitting = [reading for reading in readings if reading not in over or (place.past == "named" and reading.day < place.today)]
    match fitting:
        case []:
            return Past(readings[0])
        case [only]:
            return only
        case _:
            return Choice(tuple(fitting[:_MOST_OPTIONS]))


def _is_over(reading: When, place: _Place) -> bool:
    if place.wanted == "day":
        return reading.day < place.today
    return reading.at.astimezone(UTC) < place.here.astimezone(UTC)
