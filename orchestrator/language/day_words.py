"""Recognises the days that people name in a text, in Russian and English. Hours are recognised by the module `hour_words`.

Each recogniser is a pattern and a function for one kind of phrase. The phrase that it read is replaced by blanks, so that no digit is read
twice. Recognisers of more specific phrases come first.
"""

import re
from calendar import monthrange
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from orchestrator.language.date_format import Unclear, WhenReason
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.number_words import PATTERN, VALUES

_WEEK: Final = 7
_FRIDAY: Final = 4
_DECEMBER: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The parts of a phrase that the named groups of a pattern matched; "" for a group without a match."""

    text: str
    """The whole phrase."""
    year: str = ""
    month: str = ""
    """The month as a number."""
    month_name: str = ""
    day: str = ""
    word: str = ""
    weekday: str = ""
    which: str = ""
    number: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True)
class DayPhrase:
    """The meaning of one phrase: one or more possible days, and for some phrases a weekday, a week or a time span.

    `weekday` (0 is Monday) is set if only a weekday was named. `week` is the Monday of a named week. `span` is the time from now; it then
    stands in place of the days.
    """

    days: tuple[date, ...] = ()
    weekday: int | None = None
    week: date | None = None
    span: timedelta | None = None


class UnclearPhrase(Exception):
    """The error that a phrase names no clear day or hour.

    `date_parser.parse_when` catches this error and returns the error's field `unclear`, a result of the type `Unclear`.
    """

    def __init__(self, reason: WhenReason) -> None:
        super().__init__(reason)
        self.unclear = Unclear(reason)


_WORDS: Final = load_lexicon("dates")
_MONTHS: Final = _WORDS.read_words("months")
_WEEKDAYS: Final = _WORDS.read_words("weekdays")
_NEAR_DAYS: Final = _WORDS.read_table("near_days") | _WORDS.read_table("near_days_english")
_WHICH_YEARS: Final = _WORDS.read_table("which_year")
_BEGINNINGS: Final = _WORDS.read_lists("beginnings")
_UNITS: Final = {unit: starts for unit, starts in _WORDS.read_lists("units").items() if unit != "half"}
_HALF: Final = _WORDS.read_words("units", "half")
_MONTH: Final = "|".join(_MONTHS)
_WEEKDAY: Final = "|".join(_WEEKDAYS)
_MONEY: Final = rf"(?! ?(?:{_WORDS.join_patterns('money_follows')}))"
_YEAR: Final = (
    rf"(?: (?P<year>(?:19|20)[0-9]{{2}})(?![0-9]){_MONEY}(?: ?{_WORDS.read_text('year_mark')})?"
    rf"| (?P<which>{'|'.join(_WHICH_YEARS)}) {_WORDS.read_text('of_year')})?"
)
_PAIR: Final = _WORDS.read_words("pair")
_NUMBER: Final = rf"(?P<number>[0-9]{{1,3}}|(?:{PATTERN})(?: (?:{PATTERN}))?|{'|'.join(_PAIR)}|an?|half an?)"
# A decimal or a sum is no date: «1.12 млн».
_NO_SUM: Final = rf"(?!\w)(?!\.?[0-9]){_MONEY}"
_DAY_MONTH: Final = r"(?P<day>0?[1-9]|[12][0-9]|3[01])\.(?P<month>0[1-9]|1[0-2])"
_B: Final = r"(?<![\w.,:/-])"

Recogniser = Callable[[Groups, date], DayPhrase]


def find_days(text: str, today: date) -> tuple[list[DayPhrase], str]:
    """Find the day phrases of a text; return their meanings, and the text with "|" in place of these phrases. Raises `UnclearPhrase`.

    The text must be as `text.fold` (lower case, ё as е, plain spaces) spells it.
    """
    found: list[DayPhrase] = []
    for pattern, read in _RECOGNISERS:
        found += [read(Groups(text=match.group(), **match.groupdict("")), today) for match in pattern.finditer(text)]
        text = pattern.sub(lambda match: "|" * len(match.group()), text)
    return found, text


def to_monday(day: date) -> date:
    """Return the Monday of the day's calendar week."""
    return day - timedelta(days=day.weekday())


def build_day(year: int, month: int, day: int) -> date:
    """Return the day; raises `UnclearPhrase` if it does not exist."""
    try:
        return date(year, month, day)
    except ValueError:
        raise UnclearPhrase("impossible") from None


def _find_index(patterns: tuple[str, ...], word: str) -> int:
    return next(i for i, pattern in enumerate(patterns) if re.fullmatch(pattern, word))


def _find_meaning(word: str, beginnings: Mapping[str, tuple[str, ...]]) -> str:
    """Return the name that `beginnings` gives to `word`; "" if it gives none.

    `beginnings` maps names ("week") to beginnings of words; a name fits if the word starts with one of its beginnings.
    """
    return next((name for name, starts in beginnings.items() if word.startswith(starts)), "")


def _read_full_date(said: Groups, today: date) -> DayPhrase:
    century = today.year // 100 * 100 if len(said.year) == 2 else 0  # noqa: PLR2004 — a year of two digits
    day, month = int(said.day), int(said.month)
    if "/" in said.text and day != month and max(day, month) <= _DECEMBER:
        raise UnclearPhrase("which_day")
    if "/" in said.text and month > _DECEMBER:
        day, month = month, day
    return DayPhrase((build_day(century + int(said.year), month, day),))


def _read_month_date(said: Groups, today: date) -> DayPhrase:
    month, day = _find_index(_MONTHS, said.month_name) + 1, int(said.day)
    if said.year or said.which:
        year = int(said.year) if said.year else today.year + int(_WHICH_YEARS[said.which])
        return DayPhrase((build_day(year, month, day),))
    return DayPhrase((_pick_nearest_year(month, day, today),))


def _read_short_date(said: Groups, today: date) -> DayPhrase:
    return DayPhrase((_pick_nearest_year(int(said.month), int(said.day), today),))


def _pick_nearest_year(month: int, day: int, today: date) -> date:
    """Return the given day in this year or, if that date is past and next year's is nearer to today, in the next year.

    For a day that has just passed, the result is in the past; the person is then asked to name another.
    """
    options = []
    for year in (today.year, today.year + 1):
        try:
            options.append(date(year, month, day))
        except ValueError:
            continue
    if not options:
        raise UnclearPhrase("impossible")
    if options[0] >= today:
        return options[0]
    return min(options, key=lambda option: abs(option - today))


def _read_day_of_month(said: Groups, today: date) -> DayPhrase:
    number = int(said.day)
    year, month = (today.year, today.month) if number >= today.day else _add_to_month(today.year, today.month, 1)
    return DayPhrase((build_day(year, month, number),))


def _add_to_month(year: int, month: int, count: int) -> tuple[int, int]:
    year, month = divmod(year * 12 + month - 1 + count, 12)
    return year, month + 1


def add_months(day: date, count: int) -> date:
    """Return the date `count` months after `day`: the same day of the month, or the last day of a shorter month."""
    year, month = _add_to_month(day.year, day.month, count)
    return build_day(year, month, min(day.day, monthrange(year, month)[1]))


def _read_near_day(said: Groups, today: date) -> DayPhrase:
    return DayPhrase((today + timedelta(days=int(_NEAR_DAYS[said.word])),))


def _read_weekday(said: Groups, today: date) -> DayPhrase:
    weekday = _find_index(_WEEKDAYS, said.weekday)
    of_this_week = to_monday(today) + timedelta(days=weekday)
    match _find_meaning(said.which, _BEGINNINGS):
        case "every":
            raise UnclearPhrase("repeats")
        case "next":
            return DayPhrase((of_this_week + timedelta(weeks=1),))
        case "last":
            return DayPhrase((of_this_week - timedelta(weeks=1),))
        case "this":
            return DayPhrase((of_this_week,))
    coming = today + timedelta(days=(weekday - today.weekday()) % _WEEK)
    return DayPhrase((coming, coming + timedelta(weeks=1)) if coming == today else (coming,), weekday=weekday)


def _read_week(said: Groups, today: date) -> DayPhrase:
    shift = {"last": -1, "next": 1}.get(_find_meaning(said.which, _BEGINNINGS), 0)
    monday = to_monday(today) + timedelta(weeks=shift)
    days = tuple(monday + timedelta(days=number) for number in range(_FRIDAY + 1))
    return DayPhrase(tuple(day for day in days if day >= today) or days[-1:], week=monday)


def _read_span(said: Groups, today: date) -> DayPhrase:
    count, half = _parse_count(said.number or "1"), said.unit.startswith(_HALF) or said.number.startswith("half")
    match _find_meaning(said.unit, _UNITS):
        case "minutes":
            return DayPhrase(span=timedelta(minutes=count))
        case "hours":
            return DayPhrase(span=timedelta(minutes=30 if half else 60 * count))
        case "years":
            return DayPhrase((add_months(today, 6 if half else 12 * count),))
        case _ if half:
            raise UnclearPhrase("which_day")
        case "weeks":
            day = today + timedelta(weeks=count)
            return DayPhrase((day,), week=to_monday(day))
        case "months":
            return DayPhrase((add_months(today, count),))
        case _:
            return DayPhrase((today + timedelta(days=count),))


def _read_hour_and_a_half(_said: Groups, _today: date) -> DayPhrase:
    return DayPhrase(span=timedelta(minutes=90))


def _parse_count(written: str) -> int:
    if written.isdigit():
        return int(written)
    if written in _PAIR:
        return 2
    return sum(VALUES.get(word, 0) for word in written.split()) or 1


def _read_end(said: Groups, today: date) -> DayPhrase:
    later = int(_find_meaning(said.which, _BEGINNINGS) == "next")
    match _find_meaning(said.unit, _UNITS):
        case "days":
            return DayPhrase((today,))
        case "weeks":
            return _find_end_of_week(today + timedelta(weeks=later))
        case "months":
            return DayPhrase((_find_last_day(*_add_to_month(today.year, today.month, later)),))
        case "quarters":
            return DayPhrase((_find_last_day(*_add_to_month(today.year, (today.month + 2) // 3 * 3, later * 3)),))
        case "years":
            return DayPhrase((date(today.year + later, _DECEMBER, 31),))
        case _:
            month = _find_index(_MONTHS, said.unit) + 1
            return DayPhrase((_find_last_day(today.year + (month < today.month), month),))


def _find_end_of_week(day: date) -> DayPhrase:
    """Return the last working day (Friday) of the week in which `day` lies, or Sunday if `day` is on a weekend."""
    monday = to_monday(day)
    friday, sunday = monday + timedelta(days=_FRIDAY), monday + timedelta(days=_WEEK - 1)
    return DayPhrase((friday if day <= friday else sunday,))


def _find_last_day(year: int, month: int) -> date:
    return date(year, month, monthrange(year, month)[1])


def _build_refusal(reason: WhenReason) -> Recogniser:
    def refuse(_said: Groups, _today: date) -> DayPhrase:
        raise UnclearPhrase(reason)

    return refuse


_WHICH: Final = rf"(?P<which>{_WORDS.join_patterns('which')})"
_END_OF: Final = rf"(?:{_WORDS.join_patterns('end_of')})"
_END_UNIT: Final = rf"(?P<unit>{_WORDS.join_patterns('end_units')}|{_MONTH})"
_UNIT: Final = rf"(?P<unit>{_WORDS.join_patterns('span_units')})"
_IN_TIME: Final = rf"(?:{_WORDS.join_patterns('in_time')})"
_UNIT_FIRST: Final = rf"(?P<unit>{_WORDS.join_patterns('units_before_number')})"
_EVERY_WEEKDAY: Final = (
    rf"(?<!\w)(?:{_WORDS.read_text('by')} (?:{_WORDS.join_patterns('repeated_weekdays')})\w*(?:{_WORDS.join_patterns('repeated_endings')})"
    rf"|{_WORDS.join_patterns('repeatedly')})(?!\w)"
)
_MONTH_FIRST: Final = (
    rf"(?<!\w)(?P<month_name>{_MONTH})\.? (?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?(?![\w:]|[.,][0-9])"
    rf"(?:,? (?P<year>20[0-9]{{2}})(?!\w))?"
)
_NEAR_DAY: Final = rf"(?<!\w)(?P<word>{_WORDS.join_patterns('near_day_patterns')})(?!\w)"
_NO_DAY: Final = (
    rf"(?<!\w)(?:(?:{_WORDS.join_patterns('in_month')}) (?:{_MONTH}|{_WHICH} (?:{_WORDS.join_patterns('long_units')}))"
    rf"|(?:{_WORDS.join_patterns('parts_of_unit')})\w* (?:{_WORDS.join_patterns('units_with_parts')}|{_MONTH})\w*"
    rf"|{_WORDS.join_patterns('days_off')})(?!\w)"
)
_RANGE: Final = rf"(?<!\w)(?:{_WORDS.join_patterns('from')}) [0-9]{{1,2}} (?:{_WORDS.join_patterns('until')}) [0-9]{{1,2}}(?= )"
_DAY_FIRST: Final = (
    rf"{_B}(?P<day>[0-9]{{1,2}})(?:{_WORDS.join_patterns('day_endings')})? (?:of )?(?P<month_name>{_MONTH})(?!\w)\.?{_YEAR}(?!\w)"
)
_DAY_OF_MONTH: Final = rf"{_B}(?P<day>[0-9]{{1,2}})(?:{_WORDS.read_text('of_month_ending')})? {_WORDS.read_text('of_month')}(?!\w)"
_AT_DAY: Final = rf"(?<!\w)(?:{_WORDS.join_patterns('at_hour')}) (?P<day>2[4-9]|3[01])\.(?P<month>0[1-9]|1[0-2]){_NO_SUM}"
_RECOGNISERS: Final[tuple[tuple[re.Pattern[str], Recogniser], ...]] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        (_RANGE, _build_refusal("several")),
        (_EVERY_WEEKDAY, _build_refusal("repeats")),
        (r"(?<![\w-])(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})(?![\w-])", _read_full_date),
        (rf"{_B}(?P<day>[0-9]{{1,2}})\.(?P<month>[0-9]{{1,2}})\.(?P<year>[0-9]{{4}}|[0-9]{{2}})(?!\.?[\w])", _read_full_date),
        (rf"{_B}(?P<day>[0-9]{{1,2}})/(?P<month>[0-9]{{1,2}})/(?P<year>[0-9]{{4}}|[0-9]{{2}})(?![\w/])", _read_full_date),
        (_DAY_FIRST, _read_month_date),
        (_MONTH_FIRST, _read_month_date),
        (rf"(?<!\w)(?:(?:{_WORDS.join_patterns('by_end')}) )?{_END_OF} (?:{_WHICH} )?{_END_UNIT}(?!\w)", _read_end),
        (r"(?<!\w)(?:by )?(?P<unit>eod|eow|eom)(?!\w)", _read_end),
        (rf"(?<!\w){_IN_TIME} (?:{_WORDS.join_patterns('hour_and_a_half')})(?!\w)", _read_hour_and_a_half),
        (rf"(?<!\w){_IN_TIME} (?:{_WORDS.join_patterns('one_hour_and')}) {_NUMBER}(?!\w)", _build_refusal("several")),
        (rf"(?<!\w){_IN_TIME} {_UNIT_FIRST} {_NUMBER}(?!\w)", _read_span),
        (rf"(?<!\w){_UNIT_FIRST} {_IN_TIME} {_NUMBER}(?!\w)", _read_span),
        (rf"(?<!\w){_IN_TIME} (?:{_NUMBER} )?{_UNIT}(?!\w)", _read_span),
        (_DAY_OF_MONTH, _read_day_of_month),
        (r"(?<!\w)(?:on|by|until) the (?P<day>[0-9]{1,2})(?:st|nd|rd|th)(?!\w)", _read_day_of_month),
        (_NEAR_DAY, _read_near_day),
        (rf"(?<!\w)(?:(?:{_WORDS.join_patterns('in_week')}) )?{_WHICH} (?:{_WORDS.join_patterns('week')})(?!\w)", _read_week),
        (rf"(?<!\w)(?:{_WHICH} )?(?P<weekday>{_WEEKDAY})(?![\w-])\.?", _read_weekday),
        (rf"(?<!\w){_WORDS.read_text('not_after_at')}(?<![.,:/-]){_DAY_MONTH}{_NO_SUM}", _read_short_date),
        (_AT_DAY, _read_short_date),
        (_NO_DAY, _build_refusal("which_day")),
    )
)
