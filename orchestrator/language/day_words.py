"""Recognises days in a text. The more specific forms come first, and what was read is blanked, so that no digit is read twice."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import MAXYEAR, MINYEAR, date, timedelta
from functools import cache
from typing import Final

from orchestrator.domain.errors import SettingsError
from orchestrator.language.calendar_units import (
    MONTH,
    SHIFTS,
    WHICH,
    Unit,
    add_to_month,
    add_units,
    build_day,
    find_last_day,
    find_meaning,
    find_month,
    find_start,
    find_which,
    list_day_forms,
    shift_month,
    to_monday,
)
from orchestrator.language.date_format import WhenReason
from orchestrator.language.day_phrase import Anchor, DayPhrase, Groups, UnclearPhrase
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.number_words import PATTERN, VALUES
from orchestrator.language.weekday_words import EVERY_WEEKDAY, NTH_WEEKDAY, WEEKDAY, read_nth_weekday, read_weekday
from orchestrator.language.work_calendar import read_workdays

_WEEK: Final = 7
_WORDS: Final = load_lexicon("dates")
_FRIDAY: Final = 4
_DECEMBER: Final = 12


_NEAR_DAYS: Final = _WORDS.read_table("near_days") | _WORDS.read_table("near_days_english")
_WHICH_YEARS: Final = _WORDS.read_table("which_year")
_UNITS: Final = {unit: starts for unit, starts in _WORDS.read_lists("units").items() if unit != "half"}
_CALENDAR_UNITS: Final[Mapping[str, Unit]] = {
    "days": "days",
    "weeks": "weeks",
    "months": "months",
    "quarters": "quarters",
    "years": "years",
}
_LEAP_CYCLE: Final = 9
_MONTHS_OF_31: Final = 3
_MOST_WORKDAYS: Final = 250
_HALF: Final = _WORDS.read_words("units", "half")
_MONEY: Final = rf"(?! ?(?:{_WORDS.join_patterns('money_follows')}))"
_YEAR: Final = (
    rf"(?: (?P<year>(?:19|20)[0-9]{{2}})(?![0-9]){_MONEY}(?: ?{_WORDS.read_text('year_mark')})?"
    rf"| (?P<which>{'|'.join(_WHICH_YEARS)}) {_WORDS.read_text('of_year')})?"
)
_PAIR: Final = _WORDS.read_words("pair")
_COUNT: Final = rf"[0-9]{{1,4}}|(?:{PATTERN})(?: (?:{PATTERN}))?"
NUMBER: Final = rf"(?P<number>{_COUNT}|{'|'.join(_PAIR)}|an?|half an?)"
# A decimal or a sum is no date: «1.12 млн».
_NO_SUM: Final = rf"(?!\w)(?!\.?[0-9]){_MONEY}"
_DAY_MONTH: Final = r"(?P<day>0?[1-9]|[12][0-9]|3[01])\.(?P<month>0[1-9]|1[0-2])"
_B: Final = r"(?<![\w.,:/-])"

Recogniser = Callable[[Groups, Anchor], DayPhrase]
Recognisers = tuple[tuple[re.Pattern[str], Recogniser], ...]


def find_days(text: str, anchor: Anchor, recognisers: Recognisers | None = None) -> tuple[list[DayPhrase], str]:
    """The meanings, and the folded text with "|" in place of the phrases. Raises `UnclearPhrase`."""
    day_phrases: list[DayPhrase] = []
    for pattern, read in _list_recognisers() if recognisers is None else recognisers:
        day_phrases += [read(Groups(text=match.group(), **match.groupdict("")), anchor) for match in pattern.finditer(text)]
        text = pattern.sub(lambda match: "|" * len(match.group()), text)
    return day_phrases, text


def build_recognisers(names: Iterable[str]) -> Recognisers:
    """Raises SettingsError for an unknown form."""
    form_names = tuple(names)
    unknown = [name for name in form_names if name not in _FORMS]
    if unknown:
        raise SettingsError(f"data/language/date_forms.yaml: no such form of a day: {', '.join(unknown)}")
    return tuple((re.compile(_FORMS[name][0]), _FORMS[name][1]) for name in form_names)


def _read_full_date(groups: Groups, anchor: Anchor) -> DayPhrase:
    century = anchor.today.year // 100 * 100 if len(groups.year) == 2 else 0  # noqa: PLR2004 — a year of two digits
    day, month = int(groups.day), int(groups.month)
    if "/" in groups.text and day != month and max(day, month) <= _DECEMBER:
        raise UnclearPhrase("which_day")
    if "/" in groups.text and month > _DECEMBER:
        day, month = month, day
    return DayPhrase((build_day(century + int(groups.year), month, day),))


def _read_month_date(groups: Groups, anchor: Anchor) -> DayPhrase:
    month, day = find_month(groups.month_name), int(groups.day)
    if groups.year or groups.which:
        year = int(groups.year) if groups.year else anchor.today.year + int(_WHICH_YEARS[groups.which])
        return DayPhrase((build_day(year, month, day),))
    return DayPhrase((_pick_year(month, day, anchor),))


def _read_short_date(groups: Groups, anchor: Anchor) -> DayPhrase:
    return DayPhrase((_pick_year(int(groups.month), int(groups.day), anchor),))


def _pick_year(month: int, day: int, anchor: Anchor) -> date:
    """Back: the last such day.

    Ahead: this year's, or next year's if that is nearer; a day just past stays past. In a range: from its beginning on.
    """
    options = list(_list_days(month, day, anchor.today.year))
    if not options:
        raise UnclearPhrase("impossible")
    if anchor.after is not None:
        return min(option for option in _list_days(month, day, anchor.after.year) if option >= anchor.after)
    if anchor.look == "back":
        return max(option for option in options if option <= anchor.today)
    options = [option for option in options if anchor.today.year <= option.year <= anchor.today.year + 1]
    if not options:
        raise UnclearPhrase("impossible")
    return options[0] if options[0] >= anchor.today else min(options, key=lambda option: abs(option - anchor.today))


def _list_days(month: int, day: int, year: int) -> Iterator[date]:
    for near in range(max(year - _LEAP_CYCLE, MINYEAR), min(year + _LEAP_CYCLE, MAXYEAR) + 1):
        try:
            yield date(near, month, day)
        except ValueError:
            continue


def _read_day_of_month(groups: Groups, anchor: Anchor) -> DayPhrase:
    number, today = int(groups.day), anchor.today
    if anchor.look == "back" or anchor.after is not None:
        return DayPhrase((_pick_month(number, anchor),))
    year, month = (today.year, today.month) if number >= today.day else add_to_month(today.year, today.month, 1)
    return DayPhrase((build_day(year, month, number),))


def _read_day_of_named_month(groups: Groups, anchor: Anchor) -> DayPhrase:
    if groups.month_name:
        return DayPhrase((_pick_year(find_month(groups.month_name), int(groups.day), anchor),))
    year, month = shift_month(groups, anchor)
    return DayPhrase((build_day(year, month, int(groups.day)),))


def _pick_month(number: int, anchor: Anchor) -> date:
    """The last such day up to today, or the first from the beginning of a range on."""
    start, step = (anchor.today, -1) if anchor.after is None else (anchor.after, 1)
    for count in range(_MONTHS_OF_31):
        year, month = add_to_month(start.year, start.month, count * step)
        if 1 <= number <= find_last_day(year, month).day and (date(year, month, number) - start).days * step >= 0:
            return date(year, month, number)
    raise UnclearPhrase("impossible")


def _read_near_day(groups: Groups, anchor: Anchor) -> DayPhrase:
    return DayPhrase((anchor.today + timedelta(days=int(_NEAR_DAYS[groups.word])),))


def _read_week(groups: Groups, anchor: Anchor) -> DayPhrase:
    monday = to_monday(anchor.today) + timedelta(weeks=SHIFTS.get(find_which(groups.which), 0))
    days = tuple(monday + timedelta(days=number) for number in range(_FRIDAY + 1))
    return DayPhrase(tuple(day for day in days if day >= anchor.today) or days[-1:], week=monday)


def _read_span(groups: Groups, anchor: Anchor) -> DayPhrase:
    return _compute_distant_day(groups, anchor.today, 1)


def _read_past_span(groups: Groups, anchor: Anchor) -> DayPhrase:
    return _compute_distant_day(groups, anchor.today, -1)


def _read_hours_and_minutes(groups: Groups, _anchor: Anchor) -> DayPhrase:
    return DayPhrase(span=timedelta(hours=parse_count(groups.number), minutes=parse_count(groups.more)))


def _compute_distant_day(groups: Groups, today: date, sign: int) -> DayPhrase:
    count, half = sign * parse_count(groups.number), groups.unit.startswith(_HALF) or groups.number.startswith("half")
    unit = find_unit_name(groups.unit)
    if unit == "minutes":
        return DayPhrase(span=timedelta(minutes=count))
    if unit == "hours":
        return DayPhrase(span=timedelta(minutes=30 * sign if half else 60 * count))
    if half and unit != "years":
        raise UnclearPhrase("which_day")
    try:
        day = add_units("months", today, 6 * sign) if half else add_units(_CALENDAR_UNITS[unit], today, count)
    except (ValueError, OverflowError):
        raise UnclearPhrase("impossible" if sign < 0 else "too_far") from None
    return DayPhrase((day,), week=to_monday(day) if unit == "weeks" else None)


def find_unit_name(word: str) -> str:
    return find_meaning(word, _UNITS)


def _build_span(span: timedelta) -> Recogniser:
    def read_span(_said: Groups, _anchor: Anchor) -> DayPhrase:
        return DayPhrase(span=span)

    return read_span


def parse_count(text: str) -> int:
    if text.isdigit():
        return int(text)
    if text in _PAIR:
        return 2
    return sum(VALUES.get(word, 0) for word in text.split()) or 1


def _read_end(groups: Groups, anchor: Anchor) -> DayPhrase:
    today, later = anchor.today, int(find_which(groups.which) == "next")
    unit = find_unit_name(groups.unit)
    if unit == "days":
        return DayPhrase((today,))
    if unit == "weeks":
        return _find_end_of_week(to_monday(today) + timedelta(weeks=1) if later else today)
    if unit in _CALENDAR_UNITS:
        known = _CALENDAR_UNITS[unit]
        return DayPhrase((add_units(known, find_start(known, today), later + 1) - timedelta(days=1),))
    month = find_month(groups.unit)
    return DayPhrase((find_last_day(today.year + (month < today.month), month),))


def _find_end_of_week(day: date) -> DayPhrase:
    monday = to_monday(day)
    friday, sunday = monday + timedelta(days=_FRIDAY), monday + timedelta(days=_WEEK - 1)
    return DayPhrase((friday if day <= friday else sunday,))


def _read_last_day(groups: Groups, anchor: Anchor) -> DayPhrase:
    """«в последний день месяца»: the end of a week is its Friday, its last day Sunday."""
    if find_unit_name(groups.unit) == "weeks":
        raise UnclearPhrase("which_day")
    return _read_end(groups, anchor)


def _read_last_workday(groups: Groups, anchor: Anchor) -> DayPhrase:
    (day,) = _read_end(groups, anchor).days
    while day not in read_workdays():
        day -= timedelta(days=1)
    return DayPhrase((day,))


def _read_workdays(groups: Groups, anchor: Anchor) -> DayPhrase:
    """«через 3 рабочих дня» is the third working day after today."""
    day, left = anchor.today, parse_count(groups.number)
    if left > _MOST_WORKDAYS:
        raise UnclearPhrase("too_far")
    while left:
        day += timedelta(days=1)
        left -= day in read_workdays()
    return DayPhrase((day,))


def _read_decimal_hours(groups: Groups, _anchor: Anchor) -> DayPhrase:
    """«через 1,5 часа»."""
    return DayPhrase(span=timedelta(minutes=round(float(groups.number.replace(",", ".")) * 60)))


def _build_refusal(reason: WhenReason) -> Recogniser:
    def refuse(_said: Groups, _anchor: Anchor) -> DayPhrase:
        raise UnclearPhrase(reason)

    return refuse


_AGO: Final = rf"(?:{_WORDS.join_patterns('ago')})"
_END_OF: Final = rf"(?:{_WORDS.join_patterns('end_of')})"
_OF_UNIT: Final = rf"(?:{WHICH} )?(?P<unit>{_WORDS.join_patterns('end_units')}|{MONTH})(?!\w)"
_END_UNIT: Final = rf"(?P<unit>{_WORDS.join_patterns('end_units')}|{MONTH})"
SPAN_UNIT: Final = rf"(?P<unit>{_WORDS.join_patterns('span_units')})"
_IN_TIME: Final = rf"(?:{_WORDS.join_patterns('in_time')})"
_UNIT_FIRST: Final = rf"(?P<unit>{_WORDS.join_patterns('units_before_number')})"
_DAY_OF_NAMED_MONTH: Final = (
    rf"{_B}(?P<day>[0-9]{{1,2}})(?:{_WORDS.read_text('of_month_ending')})?"
    rf"(?:(?: {_WORDS.read_text('of_month')})? {WHICH} (?:{_WORDS.join_patterns('month')})"
    rf"| {_WORDS.read_text('of_month')} (?P<month_name>{MONTH}))(?!\w)"
)
_BARE_DAY: Final = (
    rf"{_B}(?P<day>[0-9]{{1,2}}){_WORDS.read_text('of_month_ending')}"
    rf"(?= *(?:$|[,;!?|.]| (?:{_WORDS.join_patterns('after_bare_day')})(?!\w)))"
)
_HOURS_AND_MINUTES: Final = (
    rf"(?<!\w){_IN_TIME} (?:{NUMBER} )?(?:{_WORDS.join_patterns('hours')}) (?:(?:{_WORDS.join_patterns('and')}) )?"
    rf"(?P<more>{_COUNT}) (?:{_WORDS.join_patterns('minutes')})(?!\w)"
)
_TWO_SPANS: Final = (
    rf"(?<!\w){_IN_TIME} (?:{NUMBER} )?(?:{_WORDS.join_patterns('span_units')}) (?:(?:{_WORDS.join_patterns('and')}) )?"
    rf"(?:{_COUNT}) (?:{_WORDS.join_patterns('span_units')})(?!\w)"
)
_MONTH_FIRST: Final = (
    rf"(?<!\w)(?P<month_name>{MONTH})\.? (?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?(?![\w:]|[.,][0-9])"
    rf"(?:,? (?P<year>20[0-9]{{2}})(?!\w))?"
)
_NEAR_DAY: Final = rf"(?<!\w)(?P<word>{_WORDS.join_patterns('near_day_patterns')})(?!\w)"
_NO_DAY: Final = (
    rf"(?<!\w)(?:(?:{_WORDS.join_patterns('in_month')}) (?:{MONTH}|{WHICH} (?:{_WORDS.join_patterns('long_units')}))"
    rf"|(?:{_WORDS.join_patterns('parts_of_unit')})\w* (?:{_WORDS.join_patterns('units_with_parts')}|{MONTH})\w*"
    rf"|{_WORDS.join_patterns('days_off')})(?!\w)"
)
_RANGE: Final = rf"(?<!\w)(?:{_WORDS.join_patterns('from')}) [0-9]{{1,2}} (?:{_WORDS.join_patterns('until')}) [0-9]{{1,2}}(?= )"
_DAY_FIRST: Final = (
    rf"{_B}(?P<day>[0-9]{{1,2}})(?:{_WORDS.join_patterns('day_endings')})? (?:of )?(?P<month_name>{MONTH})(?!\w)\.?{_YEAR}(?!\w)"
)
_DAY_OF_MONTH: Final = rf"{_B}(?P<day>[0-9]{{1,2}})(?:{_WORDS.read_text('of_month_ending')})? {_WORDS.read_text('of_month')}(?!\w)"
_AT_DAY: Final = rf"(?<!\w)(?:{_WORDS.join_patterns('at_hour')}) (?P<day>2[4-9]|3[01])\.(?P<month>0[1-9]|1[0-2]){_NO_SUM}"
_FORMS: Final[Mapping[str, tuple[str, Recogniser]]] = {
    "day_range": (_RANGE, _build_refusal("several")),
    "every_weekday": (EVERY_WEEKDAY, _build_refusal("repeats")),
    "iso_day": (r"(?<![\w-])(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})(?![\w-])", _read_full_date),
    "dotted_day": (
        rf"{_B}(?P<day>[0-9]{{1,2}})\.(?P<month>[0-9]{{1,2}})\.(?P<year>[0-9]{{4}}|[0-9]{{2}})(?!\.?[\w])",
        _read_full_date,
    ),
    "slashed_day": (rf"{_B}(?P<day>[0-9]{{1,2}})/(?P<month>[0-9]{{1,2}})/(?P<year>[0-9]{{4}}|[0-9]{{2}})(?![\w/])", _read_full_date),
    "day_month": (_DAY_FIRST, _read_month_date),
    "month_day": (_MONTH_FIRST, _read_month_date),
    "nth_weekday": (NTH_WEEKDAY, read_nth_weekday),
    "last_day_of": (rf"(?<!\w)(?:{_WORDS.join_patterns('last_day')}) {_OF_UNIT}", _read_last_day),
    "last_workday_of": (rf"(?<!\w)(?:{_WORDS.join_patterns('last_workday')}) {_OF_UNIT}", _read_last_workday),
    "end_of": (rf"(?<!\w)(?:(?:{_WORDS.join_patterns('by_end')}) )?{_END_OF} (?:{WHICH} )?{_END_UNIT}(?!\w)", _read_end),
    "end_short": (r"(?<!\w)(?:by )?(?P<unit>eod|eow|eom)(?!\w)", _read_end),
    "hour_and_a_half": (rf"(?<!\w){_IN_TIME} (?:{_WORDS.join_patterns('hour_and_a_half')})(?!\w)", _build_span(timedelta(minutes=90))),
    "one_hour_and": (rf"(?<!\w){_IN_TIME} (?:{_WORDS.join_patterns('one_hour_and')}) {NUMBER}(?!\w)", _build_refusal("several")),
    "hours_and_minutes": (_HOURS_AND_MINUTES, _read_hours_and_minutes),
    "two_spans": (_TWO_SPANS, _build_refusal("several")),
    "in_unit_number": (rf"(?<!\w){_IN_TIME} {_UNIT_FIRST} {NUMBER}(?!\w)", _read_span),
    "unit_in_number": (rf"(?<!\w){_UNIT_FIRST} {_IN_TIME} {NUMBER}(?!\w)", _read_span),
    "in_workdays": (rf"(?<!\w){_IN_TIME} (?:{NUMBER} )?(?:{_WORDS.join_patterns('workdays')})(?![\w-])", _read_workdays),
    "in_decimal_hours": (
        rf"(?<!\w){_IN_TIME} (?P<number>[0-9]{{1,2}}[.,][0-9]{{1,2}}) (?:{_WORDS.join_patterns('decimal_hours')})(?!\w)",
        _read_decimal_hours,
    ),
    "in_span": (rf"(?<!\w){_IN_TIME} (?:{NUMBER} )?{SPAN_UNIT}(?![\w-])", _read_span),
    "span_ago": (rf"(?<!\w)(?:{NUMBER} )?{SPAN_UNIT} {_AGO}(?!\w)", _read_past_span),
    "unit_number_ago": (rf"(?<!\w){_UNIT_FIRST} {NUMBER} {_AGO}(?!\w)", _read_past_span),
    "now": (rf"(?<!\w)(?:{_WORDS.join_patterns('now')})(?!\w)", _build_span(timedelta())),
    "day_of_named_month": (_DAY_OF_NAMED_MONTH, _read_day_of_named_month),
    "day_of_month": (_DAY_OF_MONTH, _read_day_of_month),
    "the_day": (r"(?<!\w)(?:on|by|until) the (?P<day>[0-9]{1,2})(?:st|nd|rd|th)(?!\w)", _read_day_of_month),
    "bare_day": (_BARE_DAY, _read_day_of_month),
    "stretch": (rf"(?<!\w)(?:{_WORDS.join_patterns('stretch')}) {NUMBER} {SPAN_UNIT}(?!\w)", _build_refusal("which_day")),
    "near_day": (_NEAR_DAY, _read_near_day),
    "week": (rf"(?<!\w)(?:(?:{_WORDS.join_patterns('in_week')}) )?{WHICH} (?:{_WORDS.join_patterns('week')})(?!\w)", _read_week),
    "weekday": (WEEKDAY, read_weekday),
    "short_day": (rf"(?<!\w){_WORDS.read_text('not_after_at')}(?<![.,:/-]){_DAY_MONTH}{_NO_SUM}", _read_short_date),
    "at_day": (_AT_DAY, _read_short_date),
    "no_day": (_NO_DAY, _build_refusal("which_day")),
}


@cache
def _list_recognisers() -> Recognisers:
    """The patterns take 25 ms to compile, and few texts name a day."""
    return build_recognisers(list_day_forms())
