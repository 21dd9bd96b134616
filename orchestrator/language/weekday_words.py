"""Recognises weekdays: «в среду», «в первый понедельник декабря», «по понедельникам»."""

from datetime import date, timedelta
from typing import Final

from orchestrator.language.calendar_units import (
    MONTH,
    SHIFTS,
    WHICH,
    find_index,
    find_last_day,
    find_meaning,
    find_month,
    find_which,
    shift_month,
    to_monday,
)
from orchestrator.language.day_phrase import Anchor, DayPhrase, Groups, UnclearPhrase
from orchestrator.language.lexicon import load_lexicon

_WEEK: Final = 7
_LAST: Final = 5
_WORDS: Final = load_lexicon("dates")
_WEEKDAYS: Final = _WORDS.read_words("weekdays")
_NTHS: Final = _WORDS.read_lists("nths")
_WEEKDAY: Final = "|".join(_WEEKDAYS)
EVERY_WEEKDAY: Final = (
    rf"(?<!\w)(?:{_WORDS.read_text('by')} (?:{_WORDS.join_patterns('repeated_weekdays')})\w*(?:{_WORDS.join_patterns('repeated_endings')})"
    rf"|{_WORDS.join_patterns('repeatedly')})(?!\w)"
)
_NTH: Final = rf"(?P<number>{'|'.join(start for starts in _NTHS.values() for start in starts)})(?:{_WORDS.join_patterns('nth_endings')})?"
NTH_WEEKDAY: Final = (
    rf"(?<!\w){_NTH} (?P<weekday>{_WEEKDAY})(?![\w-])"
    rf"(?: (?:{_WORDS.join_patterns('of')})?(?:(?P<month_name>{MONTH})|(?:{WHICH} )?(?P<unit>{_WORDS.join_patterns('month')}))(?!\w))?"
)
WEEKDAY: Final = rf"(?<![\w-])(?:{WHICH} )?(?P<weekday>{_WEEKDAY})(?![\w-])\.?"


def read_nth_weekday(groups: Groups, anchor: Anchor) -> DayPhrase:
    nth, weekday = int(find_meaning(groups.number, _NTHS)), find_index(_WEEKDAYS, groups.weekday)
    if groups.month_name:
        month = find_month(groups.month_name)
        days = [_find_nth(nth, weekday, year, month) for year in range(anchor.today.year - 1, anchor.today.year + 2)]
        start = anchor.after or anchor.today
        is_back = anchor.after is None and anchor.look == "back"
        return DayPhrase((max(day for day in days if day <= start) if is_back else min(day for day in days if day >= start),))
    if groups.unit:
        return DayPhrase((_find_nth(nth, weekday, *shift_month(groups, anchor)),))
    which = groups.number if find_which(groups.number) else ""  # "last friday" means another day than «последняя пятница»
    if which or (nth == _LAST and anchor.look == "back" and anchor.after is None):
        return read_weekday(Groups(text=groups.text, weekday=groups.weekday, which=which), anchor)
    raise UnclearPhrase("which_day")


def _find_nth(nth: int, weekday: int, year: int, month: int) -> date:
    last = find_last_day(year, month)
    if nth == _LAST:
        return last - timedelta(days=(last.weekday() - weekday) % _WEEK)
    first = date(year, month, 1)
    return first + timedelta(days=(weekday - first.weekday()) % _WEEK, weeks=nth - 1)


def read_weekday(groups: Groups, anchor: Anchor) -> DayPhrase:
    """On that very day both are given: today, and a week later."""
    weekday, today = find_index(_WEEKDAYS, groups.weekday), anchor.today
    of_this_week = to_monday(today) + timedelta(days=weekday)
    which = find_which(groups.which)
    if which == "every":
        raise UnclearPhrase("repeats")
    if which in SHIFTS:
        return DayPhrase((of_this_week + timedelta(weeks=SHIFTS[which]),))
    if anchor.after is not None:
        return DayPhrase((anchor.after + timedelta(days=(weekday - anchor.after.weekday()) % _WEEK),), weekday=weekday)
    coming = today + timedelta(days=(weekday - today.weekday()) % _WEEK)
    last = coming - timedelta(weeks=1)
    if anchor.look == "back":
        return DayPhrase((coming, last) if coming == today else (last,), weekday=weekday)
    return DayPhrase((coming, coming + timedelta(weeks=1)) if coming == today else (coming,), weekday=weekday)
