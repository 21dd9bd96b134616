"""Whether a person's words name a record's title, in any Russian case, by stems and endings.

Two words are the same if they can be case forms of one (at least three letters, no digit). Legal forms, nouns such as «сделка» and
function words count only if nothing else is there; two different legal forms are two companies.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import PLAIN_YE, YO, normalize_text

_DECLENSION: Final = load_lexicon("declension")
_LETTERS: Final = _DECLENSION.read_table("letters")
_PLURALS: Final = _DECLENSION.read_table("plurals")
_VOWELS: Final = _DECLENSION.read_text("letters", "vowels")


class Paradigm(NamedTuple):
    """Of 117 pairs of different names pymorphy3 takes 31 for one (Иван и Иванов), these 13; it would add 26 MB of memory."""

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


PARADIGMS: Final = tuple(_build_paradigm(**row) for row in _DECLENSION.read_rows("paradigms"))
_SHORTEST_STEM: Final = 2
_FLEETING: Final = _DECLENSION.read_words("fleeting", "syllables")
_BEFORE_LAST: Final = _DECLENSION.read_text("fleeting", "last_letters")
_SOFT_SIGN: Final = _DECLENSION.read_text("fleeting", "soft_sign")
_AFTER_VOWEL: Final = _DECLENSION.read_text("fleeting", "after_vowel")
_IRREGULAR: Final = _DECLENSION.read_table("fleeting", "irregular")
_FLED_ROWS: Final = tuple(
    number
    for number, paradigm in enumerate(PARADIGMS)
    if paradigm.endings[0] in {"", *_DECLENSION.read_words("fleeting", "dictionary_endings")} and set(paradigm.finals) & set(_BEFORE_LAST)
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


EXACT: Final = 1.0
WHOLE: Final = 0.9
WHOLE_BACKWARDS: Final = 0.85
_RUN, _ORDERED, _LOOSE, _SPAN = 0.7, 0.5, 0.3, 0.1
_SHORTEST: Final = 3
_LONG: Final = 6
"""Letters from which a word may have two wrong ones."""
_MOST_WRONG: Final = 2
_MOST_WORDS: Final = 8
_MOST_SEARCHED: Final = 2
_HALVED: Final = 7

_WORDS: Final = load_lexicon("titles")
_LEGAL: Final = frozenset(_WORDS.read_words("legal_forms"))
_NOUNS: Final = frozenset(_WORDS.read_words("nouns"))
_LITTLE: Final = frozenset(_WORDS.read_words("little_words"))
_GENERIC: Final = frozenset(_WORDS.read_words("everyday_words"))

_TAIL: Final = re.compile(rf"(?<=[a-z])['’`-](?:{_WORDS.join_patterns('latin_name_endings')})(?![^\W_])")  # Acme'у, Google-ом, Acme's
_WORD: Final = re.compile(r"[^\W_]+")
_PART: Final = re.compile(r"[«»„“”\"(){}\[\]|·•;!?—–]+|[,.:/](?=\s|$)|\s-+\s")


def find_stem(word: str) -> str:
    """For searches by «title contains …»."""
    return find_shared_start(normalize_text(word))


def extract_words(text: str) -> tuple[str, ...]:
    """Normalized, without legal forms and function words, unless the text has no others."""
    words = _split_words(text)
    return tuple(word for word in words if not _is_noise(word)) or words


@lru_cache(maxsize=65536)
def is_same_word(left: str, right: str) -> bool:
    """Short words and words with digits must be equal."""
    if left == right:
        return True
    if min(len(left), len(right)) < _SHORTEST:
        return False
    ours = {(reading.stem, reading.row) for reading in find_readings(left)}
    return any((reading.stem, reading.row) in ours for reading in find_readings(right))


def measure_match(query: str, title: str) -> float:
    """From 0 to 1: word for word 1, in another case 0.85 or 0.9, consecutive words from 0.7, in order from 0.5, in any order from 0.3."""
    query_words, have = extract_words(query), extract_words(title)
    if not query_words or not have or _is_other_company(query, title):
        return 0.0
    if query_words == have:
        return EXACT
    if len(query_words) == len(have) and _is_all_same(query_words, have):
        return WHOLE if all(map(_may_be_form_of, query_words, have)) else WHOLE_BACKWARDS
    return _measure_partial(query_words, have)


def is_match(query: str, title: str) -> bool:
    return measure_match(query, title) > 0


def measure_misspelling(query: str, title: str) -> int | None:
    """None if the query is no misspelt name of the title.

    One wrong letter in words of four or five, two in longer ones, and at most two in all; a missing space counts as one.
    """
    query_words, have = (
        extract_words(query),
        _split_words(title),
    )  # «компния» is no noun that can be left out, so it may name one of the title
    if not query_words or len(have) > _MOST_WORDS or all(map(_is_noise, query_words)) or _is_other_company(query, title):
        return None
    whole = _measure_word("".join(query_words), "".join(have)) if len(query_words) != len(have) else None
    counts = [wrong for wrong in (whole, _measure_words(query_words, have)) if wrong is not None and wrong <= _MOST_WRONG]
    return min(counts, default=None)


def list_search_starts(word: str) -> tuple[str, ...]:
    """For searches, the most likely first. «Е» may be «ё» in the title, so the first ends before it."""
    start = find_shared_start(word)
    place = start.find(PLAIN_YE, _SHORTEST)
    start = start[:place] if place >= 0 else start
    places = (at for at, letter in enumerate(start[:_SHORTEST]) if letter == PLAIN_YE)
    return (start, *(start[:at] + YO + start[at + 1 :] for at in places))


def list_search_pieces(query: str) -> tuple[str, ...]:
    """For searches: even with two wrong letters one of these parts is spelt correctly."""
    pieces: list[str] = []
    words = [word for word in extract_words(query) if word.isalpha() and len(word) > _SHORTEST]
    for word in sorted(words, key=len, reverse=True)[:_MOST_SEARCHED]:
        stem = find_stem(word) if len(find_stem(word)) >= _SHORTEST else word
        half = (len(stem) + 1) // 2
        pieces += [stem[: half + 1], stem[half - 1 :], stem[:_SHORTEST], stem[-_SHORTEST:], word[-_SHORTEST:]]
        if len(word) <= _HALVED:  # a wrong letter in its middle leaves two good ones on either side
            pieces += [word[:2], word[-2:]]
        third = len(stem) // 3
        if third >= _SHORTEST:  # two wrong letters leave one of three parts
            pieces += [stem[third : 2 * third], stem[: third + 1], stem[2 * third :]]
    return tuple(dict.fromkeys(piece for piece in pieces if len(piece) > 1))


def _measure_words(query_words: Sequence[str], have: Sequence[str]) -> int | None:
    """The fewest wrong letters if each word has another partner; None if some word has none."""
    if not query_words:
        return 0
    counts: list[int] = []
    for place, word in enumerate(have):
        wrong = _measure_word(query_words[0], word)
        rest = _measure_words(query_words[1:], [*have[:place], *have[place + 1 :]]) if wrong is not None and wrong <= _MOST_WRONG else None
        if wrong is not None and rest is not None:
            counts.append(wrong + rest)
    return min(counts, default=None)


@lru_cache(maxsize=65536)
def _measure_word(word: str, other: str) -> int | None:
    if is_same_word(word, other):
        return 0
    if any(sign.isdigit() for sign in word + other):
        return None
    pairs = [(word, other)]
    if min(len(find_shared_start(word)), len(find_shared_start(other))) > _SHORTEST:
        pairs.append((find_shared_start(word), find_shared_start(other)))
    counted = [_count_wrong_letters(*pair) for pair in pairs]
    allowed = 0 if len(other) <= _SHORTEST else 1 if len(other) < _LONG else _MOST_WRONG
    return min(counted) if min(counted) <= allowed else None


def _count_wrong_letters(left: str, right: str) -> int:
    """The edit distance with swaps of neighbours as one; beyond `_MOST_WRONG` it may be too small."""
    if abs(len(left) - len(right)) > _MOST_WRONG:
        return _MOST_WRONG + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        above, row = row, [i]
        for j, b in enumerate(right, start=1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a != b))
            if i > 1 and j > 1 and (a, b) == (right[j - 2], left[i - 2]):
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before = above
    return row[-1]


def is_mentioned(title: str, text: str) -> bool:
    """The words of one part of the title stand side by side in the text, in any case and order.

    Everyday words alone never name it. In doubt False: the caller asks.
    """
    words = extract_words(text)
    parts = [part for part in _PART.split(title) if part.strip()]
    return any(_is_named(part, words, text) for part in parts) and not _is_other_company(text, title)


def _is_named(part: str, text_words: Sequence[str], text: str) -> bool:
    words = extract_words(part)
    if not words or all(map(_is_everyday, words)):
        return False
    if sum(map(len, words)) < _SHORTEST:
        return re.search(rf"(?<!\w){re.escape(part.strip())}(?!\w)", text) is not None
    return any(_has_same_words(words, text_words[start : start + len(words)]) for start in range(len(text_words) - len(words) + 1))


def _has_same_words(words: Sequence[str], window: Sequence[str]) -> bool:
    left = list(window)
    for word in words:
        match = next((other for other in left if is_same_word(word, other)), None)
        if match is None:
            return False
        left.remove(match)
    return True


def _measure_partial(query_words: Sequence[str], have: Sequence[str]) -> float:
    places = [[i for i, word in enumerate(have) if is_same_word(one, word)] for one in query_words]
    if not all(places) or all(map(_is_noise, query_words)):
        return 0.0
    if sum(map(len, query_words)) < _SHORTEST and not set(query_words) <= set(have):
        return 0.0
    covered = _SPAN * len(query_words) / len(have)
    if any(_is_all_same(query_words, have[i : i + len(query_words)]) for i in range(len(have) - len(query_words) + 1)):
        return _RUN + covered
    if _is_in_order(places):
        return _ORDERED + covered
    return _LOOSE + covered if _has_distinct_places(places) else 0.0


def _is_in_order(places: Sequence[Sequence[int]]) -> bool:
    chosen: list[int] = []
    for options in places:
        later = [i for i in options if not chosen or i > chosen[-1]]
        if not later:
            return False
        chosen.append(later[0])
    return all(a < b for a, b in pairwise(chosen))


def _has_distinct_places(places: Sequence[Sequence[int]]) -> bool:
    used: set[int] = set()
    for options in sorted(places, key=len):
        free = [i for i in options if i not in used]
        if not free:
            return False
        used.add(free[0])
    return True


def _is_all_same(query_words: Sequence[str], have: Sequence[str]) -> bool:
    return len(query_words) == len(have) and all(map(is_same_word, query_words, have))


def _may_be_form_of(word: str, title_word: str) -> bool:
    """Александра may be a form of Александр, but not the other way round."""
    if word == title_word:
        return True
    ours = {(reading.stem, reading.row) for reading in find_readings(word)}
    oblique = {(r.stem, r.row) for r in find_readings(word) if r.nominative}
    return any(r.nominative and (r.stem, r.row) in ours - oblique for r in find_readings(title_word))


def _is_other_company(left: str, right: str) -> bool:
    ours, theirs = _LEGAL.intersection(_split_words(left)), _LEGAL.intersection(_split_words(right))
    return bool(ours) and bool(theirs) and not ours & theirs


@lru_cache(maxsize=8192)
def _split_words(text: str) -> tuple[str, ...]:
    return tuple(_find_words(normalize_text(text)))


def _find_words(text: str) -> Iterator[str]:
    return (found.group() for found in _WORD.finditer(_TAIL.sub(" ", text)))


@lru_cache(maxsize=8192)
def _is_noise(word: str) -> bool:
    return word in _LEGAL or word in _LITTLE or any(is_same_word(word, noun) for noun in _NOUNS)


@lru_cache(maxsize=8192)
def _is_everyday(word: str) -> bool:
    return word.isdigit() or _is_noise(word) or any(is_same_word(word, other) for other in _GENERIC)
