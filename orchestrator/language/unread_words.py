"""Words that make a day another one: «за день до пятницы», «кроме пятницы»."""

import re
from typing import Final

from orchestrator.language.day_phrase import UnclearPhrase
from orchestrator.language.lexicon import load_lexicon

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
_SECOND: Final = re.compile(
    rf"(?<![\w.,])[0-9]{{1,2}} ?{_JOINED} ?(?:\||[0-9]{{1,2}}(?![\w.,]))|\| ?{_JOINED} ?[0-9]{{1,2}}(?=[.!?]?$)"
    rf"|(?<!\w)(?:{_WORDS.join_patterns('between')}) [0-9]"
)


def refuse_changed_day(text: str) -> None:
    """Raises UnclearPhrase. `text` is normalized, without the phrases that were read as a whole."""
    if any(pattern.search(text) for pattern in _CHANGED):
        raise UnclearPhrase("which_day")


def refuse_second_number(rest: str) -> None:
    """Raises UnclearPhrase for a number left over: «5 и 7 декабря». `rest` has "|" for what was read."""
    if _SECOND.search(rest):
        raise UnclearPhrase("several")
