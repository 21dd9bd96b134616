"""Words of months, and of which unit is meant («прошлый», "next")."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Final

from orchestrator.language.calendar_units import add_to_month
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
_MONTHS: Final = _WORDS.read_words("months")
_BEGINNINGS: Final = _WORDS.read_lists("beginnings")
MONTH: Final = "|".join(_MONTHS)
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
    return find_index(_MONTHS, name) + 1


def find_which(word: str) -> str:
    """ "last", "next" …; "" for no such word."""
    return find_meaning(word, _BEGINNINGS)


def shift_month(groups: Groups, anchor: Anchor) -> tuple[int, int]:
    which = find_which(groups.which) if groups.which else "this"
    if which not in SHIFTS:
        raise UnclearPhrase("which_day")
    return add_to_month(anchor.today.year, anchor.today.month, SHIFTS[which])
