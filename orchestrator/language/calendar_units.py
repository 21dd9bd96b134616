"""Stretches of days: weeks, which begin on Monday, months, quarters, half-years and years, and their words."""

import re
from calendar import monthrange
from collections.abc import Mapping
from datetime import date, timedelta
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Literal

from orchestrator.language.day_phrase import Anchor, Groups, UnclearPhrase
from orchestrator.language.lexicon import load_lexicon

PLACE: Final = "{date_forms}"
_TABLE: Final = load_lexicon("date_forms")
_TITLES: Final = {"days": "a day or moment", "periods": "a period (in filters)"}


def list_day_forms() -> Mapping[str, str]:
    """Form → examples for the prompt, in the order in which forms are tried."""
    return _TABLE.read_table("days")


def list_period_forms() -> Mapping[str, str]:
    return _TABLE.read_table("periods")


def fill_date_forms(text: str, days: Mapping[str, str] | None = None, periods: Mapping[str, str] | None = None) -> str:
    tables = {"days": list_day_forms() if days is None else days, "periods": list_period_forms() if periods is None else periods}
    lines = (f"{_TITLES[name]}: {'; '.join(filter(None, forms.values()))}" for name, forms in tables.items())
    return text.replace(PLACE, "\n".join(lines))


_WORDS: Final = load_lexicon("dates")
_MONTH_NAMES: Final = _WORDS.read_words("months")
_BEGINNINGS: Final = _WORDS.read_lists("beginnings")
MONTH: Final = "|".join(_MONTH_NAMES)
WHICH: Final = rf"(?P<which>{_WORDS.join_patterns('which')})"
SHIFTS: Final = {"before_last": -2, "last": -1, "this": 0, "next": 1}


def build_day(year: int, month: int, day: int) -> date:
    """Raises `UnclearPhrase` if there is no such day."""
    try:
        return date(year, month, day)
    except ValueError:
        raise UnclearPhrase("impossible") from None


def find_index(patterns: tuple[str, ...], word: str) -> int:
    return next(i for i, pattern in enumerate(patterns) if re.fullmatch(pattern, word))


def find_meaning(word: str, beginnings: Mapping[str, tuple[str, ...]]) -> str:
    """By the beginnings of words; "" if none fits."""
    return next((name for name, starts in beginnings.items() if word.startswith(starts)), "")


def find_month(name: str) -> int:
    return find_index(_MONTH_NAMES, name) + 1


def find_which(word: str) -> str:
    """ "last", "next" …; "" for no such word."""
    return find_meaning(word, _BEGINNINGS)


def shift_month(groups: Groups, anchor: Anchor) -> tuple[int, int]:
    which = find_which(groups.which) if groups.which else "this"
    if which not in SHIFTS:
        raise UnclearPhrase("which_day")
    return add_to_month(anchor.today.year, anchor.today.month, SHIFTS[which])


Unit = Literal["days", "weeks", "months", "quarters", "halves", "years"]
_MONTHS: Final[dict[Unit, int]] = {"months": 1, "quarters": 3, "halves": 6, "years": 12}
_STATED: Final[tuple[Unit, ...]] = ("weeks", "months", "quarters", "years")
_WEEK: Final = 7


def to_monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def find_start(unit: Unit, day: date) -> date:
    if unit in _MONTHS:
        count = _MONTHS[unit]
        return date(day.year, (day.month - 1) // count * count + 1, 1)
    return to_monday(day) if unit == "weeks" else day


def add_units(unit: Unit, day: date, count: int) -> date:
    """The same day of the month, or the last of a shorter one. Raises ValueError or OverflowError beyond the calendar."""
    if unit in _MONTHS:
        year, month = add_to_month(day.year, day.month, count * _MONTHS[unit])
        return date(year, month, min(day.day, monthrange(year, month)[1]))
    return day + timedelta(days=count * (_WEEK if unit == "weeks" else 1))


def find_unit(unit: Unit, day: date, shift: int = 0) -> tuple[date, date]:
    """The first day, and the first day after the unit."""
    start = add_units(unit, find_start(unit, day), shift)
    return start, add_units(unit, start, 1)


def add_to_month(year: int, month: int, count: int) -> tuple[int, int]:
    year, month = divmod(year * 12 + month - 1 + count, 12)
    return year, month + 1


def find_last_day(year: int, month: int) -> date:
    return date(year, month, monthrange(year, month)[1])


@lru_cache(maxsize=8)  # the same for every turn of a day
def format_bounds(today: date) -> Mapping[str, str]:
    """For the prompt: "last week" -> "2026-11-23..2026-11-29"."""
    bounds_by_name = {}
    for name, shift in (("this", 0), ("last", -1)):
        for unit in _STATED:
            first, stop = find_unit(unit, today, shift)
            bounds_by_name[f"{name} {unit.removesuffix('s')}"] = f"{first}..{stop - timedelta(days=1)}"
    return MappingProxyType(bounds_by_name)
