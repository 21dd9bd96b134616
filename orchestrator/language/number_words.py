"""Converts small numbers written in words to digits, in Russian and English: «сто двадцать пять» is 125."""

import re
from collections.abc import Sequence
from typing import Final

from orchestrator.language.lexicon import load_lexicon

_WORDS: Final = load_lexicon("numbers")
VALUES: Final = {
    word: int(value)
    for language in ("ru", "en")
    for value, words in _WORDS.read_table("cardinals", language).items()
    for word in words.split()
}
HUNDRED: Final = _WORDS.read_text("hundred")
# Longest first, so that a regular expression never matches only «пят» of «пятьсот».
PATTERN: Final = "|".join(sorted([*VALUES, HUNDRED], key=len, reverse=True))


def read_words(words: Sequence[str]) -> int | None:
    """Return the number from 1 to 999 that the words spell; None if they spell none.

    The words must be as `text.fold` (lower case, ё as е, plain spaces) spells them.
    """
    total, room = 0, 1000
    for word in words:
        if word == HUNDRED:
            if not 1 <= total < 10:  # noqa: PLR2004 — "two hundred", never "twenty hundred"
                return None
            total, room = total * 100, 100
            continue
        value = VALUES.get(word)
        if value is None or value >= room:
            return None
        total, room = total + value, _find_room_below(value)
    return total or None


def _find_room_below(value: int) -> int:
    """Return the limit below which the number of the next word must be, after a word for the number `value`.

    It is 100 after hundreds, 10 after tens («двадцать пять»), and 0 (no further word) after other numbers.
    """
    for step in (100, 10):
        if value >= step and value % step == 0:
            return step
    return 0


_TEEN: Final = _WORDS.read_text("teen")
_ORDINALS: Final = {
    **dict(enumerate(_WORDS.read_words("ordinals"), start=1)),
    **{number: word.removesuffix(_WORDS.read_text("dropped_ending")) for word, number in VALUES.items() if word.endswith(_TEEN)},
    **{int(number): word for number, word in _WORDS.read_table("tens").items()},
}
_ORDINAL: Final = re.compile(
    rf"(?<!\w)(?:({_WORDS.join_patterns('tens_before_ordinal')}) )?({'|'.join(sorted(_ORDINALS.values(), key=len, reverse=True))})"
    rf"(?:{_WORDS.join_patterns('ordinal_endings')})?(?!\w)(?= (?:{_WORDS.join_patterns('ordinal_before')}))"
)


def convert_ordinals(text: str) -> str:
    """Replace Russian ordinals before a month or «числа» by digits: «двадцать пятого декабря» → «25 декабря».

    The text must be as `text.fold` (lower case, ё as е, plain spaces) spells it.
    """
    values = {word: number for number, word in _ORDINALS.items()}
    return _ORDINAL.sub(lambda found: str(VALUES.get(found[1] or "", 0) + values[found[2]]), text)
