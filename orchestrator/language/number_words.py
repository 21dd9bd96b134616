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
    """From 1 to 999, of folded words; None if they spell no number."""
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
    """What the next word must be below: 100 after hundreds, 10 after tens, else 0."""
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
    """«двадцать пятого декабря» → «25 декабря», in folded text."""
    values = {word: number for number, word in _ORDINALS.items()}
    return _ORDINAL.sub(lambda match: str(VALUES.get(match[1] or "", 0) + values[match[2]]), text)
