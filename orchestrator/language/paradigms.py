"""Finds the stems and endings that a Russian word may have in its grammatical cases, for `title_matching`: nouns, names, adjectives.

pymorphy3 was measured on 300 names in five cases each: it misses 10 of 1,500 forms, this table none; of 117 pairs of different names it
takes 31 for one (Иван and Иванов, Ян and Яна, Новый and Новая), this table 13, which are written as one (Смирнова). It would add 17 MB on
disk, 26 MB of memory and 85 ms of CPU to a start, and takes twice the time for a pair.

A paradigm is one row of a table of endings. Genders are separate rows, so Достоевский and Достоевская are two different words. The genitive
plural in -ов and -ев is listed only for words whose dictionary form is a plural, so Иван and Иванов are two different words.
"""

from functools import lru_cache
from typing import Final, NamedTuple

from orchestrator.language.lexicon import load_lexicon

_WORDS: Final = load_lexicon("declension")
_LETTERS: Final = _WORDS.read_table("letters")
_PLURALS: Final = _WORDS.read_table("plurals")
_VOWELS: Final = _WORDS.read_text("letters", "vowels")


class Paradigm(NamedTuple):
    """One pattern of declension: the endings of the case forms, the dictionary form first.

    `finals` are the texts with which a word's stem (the part before the ending) must end.
    """

    finals: tuple[str, ...]
    endings: tuple[str, ...]


class Reading(NamedTuple):
    """One possible analysis of a word: its stem, and the number of its paradigm (`row` in `PARADIGMS`).

    `nominative` is True if the word is the dictionary form.
    """

    stem: str
    row: int
    nominative: bool


def _build_paradigm(endings: str, letters: str = "", syllables: str = "") -> Paradigm:
    """Build a paradigm from a row of the word lists: the endings, separated by spaces ("-" is an empty one), and what stands before them.

    A word's stem (the part before the ending) must end in one of `syllables` or, without these, in one of `letters`.
    """
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
    """Return every way to split a word (in lower case, ё as е) into stem and ending; an empty set for short words and words with digits."""
    if not word.isalpha():
        return frozenset()
    found = {
        Reading(word[: len(word) - len(ending)], number, index == 0)
        for number, paradigm in enumerate(PARADIGMS)
        for index, ending in enumerate(paradigm.endings)
        if word.endswith(ending) and _is_fitting(word[: len(word) - len(ending)], paradigm.finals)
    }
    return frozenset(found | _find_fleeting_readings(word))


def _is_fitting(stem: str, finals: tuple[str, ...]) -> bool:
    return len(stem) >= _SHORTEST_STEM and stem.endswith(finals)


def _find_fleeting_readings(word: str) -> set[Reading]:
    """Return the analyses of a word with a vowel that its other case forms lack.

    The stem of Ветер is «ветр-» (Ветра), the stem of Ромашек is «ромашк-» (Ромашка).
    """
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
    """Return the beginning that all case forms of the word share; the whole word if it has only one form."""
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
    """Return how many of the stem's last letters may change in other case forms, because a vowel comes or goes between them.

    For example, 1 for the stem of «ветра» (ветер), and 2 for the stem of «огонька» (огонек).
    """
    stem = reading.stem
    if len(word) == len(stem) or reading.row not in _FLED_ROWS:
        return 0
    if stem in _IRREGULAR.values():
        return 2
    if stem[-1] not in _BEFORE_LAST or stem[-2] in _VOWELS or stem[-2] == stem[-1]:
        return 0
    return 2 if stem[-2] in {_SOFT_SIGN, _AFTER_VOWEL} else 1
