"""The stems and endings of Russian words in their cases.

Measured: of 117 pairs of different names pymorphy3 takes 31 for one (Иван и Иванов), this table 13; it would add 26 MB of memory.
"""

from functools import lru_cache
from typing import Final, NamedTuple

from orchestrator.language.lexicon import load_lexicon

_WORDS: Final = load_lexicon("declension")
_LETTERS: Final = _WORDS.read_table("letters")
_PLURALS: Final = _WORDS.read_table("plurals")
_VOWELS: Final = _WORDS.read_text("letters", "vowels")


class Paradigm(NamedTuple):
    finals: tuple[str, ...]
    endings: tuple[str, ...]


class Reading(NamedTuple):
    """`row` is in `PARADIGMS`; `nominative`: the word is the dictionary form."""

    stem: str
    row: int
    nominative: bool


def _build_paradigm(endings: str, letters: str = "", syllables: str = "") -> Paradigm:
    """ "-" is an empty ending. The stem must end in one of `syllables` or, without these, of `letters`."""
    finals = syllables.split() or letters.format_map(_LETTERS)
    return Paradigm(tuple(finals), tuple("" if ending == "-" else ending for ending in endings.format_map(_PLURALS).split()))


PARADIGMS: Final = tuple(_build_paradigm(**row) for row in _WORDS.read_rows("paradigms"))
_SHORTEST_STEM: Final = 2
_FLEETING: Final = _WORDS.read_words("fleeting", "syllables")
_BEFORE_LAST: Final = _WORDS.read_text("fleeting", "last_letters")
_SOFT_SIGN: Final = _WORDS.read_text("fleeting", "soft_sign")
_AFTER_VOWEL: Final = _WORDS.read_text("fleeting", "after_vowel")
_IRREGULAR: Final = _WORDS.read_table("fleeting", "irregular")
_FLED_ROWS: Final = tuple(
    number
    for number, paradigm in enumerate(PARADIGMS)
    if paradigm.endings[0] in {"", *_WORDS.read_words("fleeting", "dictionary_endings")} and set(paradigm.finals) & set(_BEFORE_LAST)
)


@lru_cache(maxsize=8192)
def find_readings(word: str) -> frozenset[Reading]:
    """`word` is folded; none for short words and words with digits."""
    if not word.isalpha():
        return frozenset()
    readings = {
        Reading(word[: len(word) - len(ending)], number, index == 0)
        for number, paradigm in enumerate(PARADIGMS)
        for index, ending in enumerate(paradigm.endings)
        if word.endswith(ending) and _is_fitting(word[: len(word) - len(ending)], paradigm.finals)
    }
    return frozenset(readings | _find_fleeting_readings(word))


def _is_fitting(stem: str, finals: tuple[str, ...]) -> bool:
    return len(stem) >= _SHORTEST_STEM and stem.endswith(finals)


def _find_fleeting_readings(word: str) -> set[Reading]:
    """Ветер has the stem «ветр-» (Ветра), Ромашек «ромашк-» (Ромашка)."""
    body = word.removesuffix(_SOFT_SIGN)
    if body in _IRREGULAR:
        stems = [_IRREGULAR[body]]
    elif body.endswith(_FLEETING) and len(body) > _SHORTEST_STEM:
        before, last = body[:-2], body[-1]
        stems = [before + joint + last for joint in ((_AFTER_VOWEL,) if before[-1] in _VOWELS else ("", _SOFT_SIGN))]
    else:
        return set()
    return {
        Reading(stem, number, PARADIGMS[number].endings[0] == word[len(body) :])
        for stem in stems
        for number in _FLED_ROWS
        if _is_fitting(stem, PARADIGMS[number].finals)
    }


def find_shared_start(word: str) -> str:
    length = len(word)
    for reading in find_readings(word):
        if word.startswith(reading.stem):
            length = min(length, len(reading.stem) - _count_moving_letters(word, reading))
        else:
            length = min(length, _count_common(word, reading.stem))
    return word[:length]


def _count_common(word: str, stem: str) -> int:
    pairs = enumerate(zip(word, stem, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(word), len(stem)))


def _count_moving_letters(word: str, reading: Reading) -> int:
    """Letters of the stem that a fleeting vowel may change: 1 of «ветра» (ветер), 2 of «огонька» (огонек)."""
    stem = reading.stem
    if len(word) == len(stem) or reading.row not in _FLED_ROWS:
        return 0
    if stem in _IRREGULAR.values():
        return 2
    if stem[-1] not in _BEFORE_LAST or stem[-2] in _VOWELS or stem[-2] == stem[-1]:
        return 0
    return 2 if stem[-2] in {_SOFT_SIGN, _AFTER_VOWEL} else 1
