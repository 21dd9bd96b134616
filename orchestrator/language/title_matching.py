"""Measures whether a person's words name a record's title, in any Russian grammatical case; `ranking` then chooses the record.

Rules, all on words in lower case, with ё as е, without quotes and stress marks:
- Two words are the same word if they are equal, or if both have at least three letters and can be case forms of one word
  (`paradigms`). Words with a digit in them must be equal.
- Legal forms (ООО, АО, Ltd …), nouns such as «сделка» and function words (с, для, of …) count only if there are no other
  words. Two different legal forms mean two different companies.
- `measure_match` returns 1 if the query is the whole title as written; 0.9 if it is the whole title in another grammatical
  case; 0.85 if the title could be a case form of the query; 0.7 to 0.8 if the query is consecutive words of the title;
  0.5 to 0.6 if it is words of the title in order, with gaps; 0.3 to 0.4 if they are in another order; 0 otherwise. The
  greater the part of the title that the query covers, the higher the number in its range.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.paradigms import find_readings, find_shared_start
from orchestrator.language.text import PLAIN_YE, YO, normalize_text

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
    """Return the beginning that all case forms of a word share, for searches by «title contains …»."""
    return find_shared_start(normalize_text(word))


def extract_words(text: str) -> tuple[str, ...]:
    """Return the significant words of a text, in lower case, with ё as е, without quotes and stress marks.

    Legal forms (ООО), nouns such as «сделка» and function words are left out, unless the text has no other words.
    """
    words = _split_words(text)
    return tuple(word for word in words if not _is_noise(word)) or words


@lru_cache(maxsize=65536)
def is_same_word(left: str, right: str) -> bool:
    """Return whether two words (from `extract_words`) are case forms of one word. Short words and words with digits must be equal."""
    if left == right:
        return True
    if min(len(left), len(right)) < _SHORTEST:
        return False
    ours = {(reading.stem, reading.row) for reading in find_readings(left)}
    return any((reading.stem, reading.row) in ours for reading in find_readings(right))


def measure_match(query: str, title: str) -> float:
    """Return how well the query names the title, from 0 (not at all) to 1 (word for word), by the rules in the module docstring."""
    asked, have = extract_words(query), extract_words(title)
    if not asked or not have or _is_other_company(query, title):
        return 0.0
    if asked == have:
        return EXACT
    if len(asked) == len(have) and _is_all_same(asked, have):
        return WHOLE if all(map(_may_be_form_of, asked, have)) else WHOLE_BACKWARDS
    return _measure_partial(asked, have)


def is_match(query: str, title: str) -> bool:
    """Return whether every significant word of the query is a word of the title."""
    return measure_match(query, title) > 0


def measure_misspelling(query: str, title: str) -> int | None:
    """Return how many letters of the query are wrong, if it is a misspelt name of the title; None if it is not.

    A word of four or five letters may have one wrong letter, a longer word two; shorter words and words with a digit none. Each of these
    counts as one wrong letter: a letter too many, a missing, another or two swapped letters, and a missing space. More than two in all are
    not accepted.
    """
    asked, have = extract_words(query), _split_words(title)  # «компния» is no noun that can be left out, so it may name one of the title
    if not asked or len(have) > _MOST_WORDS or all(map(_is_noise, asked)) or _is_other_company(query, title):
        return None
    whole = _measure_word("".join(asked), "".join(have)) if len(asked) != len(have) else None
    found = [wrong for wrong in (whole, _measure_words(asked, have)) if wrong is not None and wrong <= _MOST_WRONG]
    return min(found, default=None)


def list_search_starts(word: str) -> tuple[str, ...]:
    """Return beginnings that all case forms of a word share, for searches by «title contains …»; the most likely one first.

    The word must be in lower case, with ё as е. An «е» in the word may be «ё» in the title. So the first result ends before an «е» (unless
    that leaves too few letters); if there is an «е» among the first letters, further results have «ё» in its place.
    """
    start = find_shared_start(word)
    place = start.find(PLAIN_YE, _SHORTEST)
    start = start[:place] if place >= 0 else start
    places = (at for at, letter in enumerate(start[:_SHORTEST]) if letter == PLAIN_YE)
    return (start, *(start[:at] + YO + start[at + 1 :] for at in places))


def list_search_pieces(query: str) -> tuple[str, ...]:
    """Return parts of the longest words of `query`, for searches by «title contains …».

    Even if a word has one or two wrong letters, at least one of its parts is spelt correctly and finds the title.
    """
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


def _measure_words(asked: Sequence[str], have: Sequence[str]) -> int | None:
    """Return the smallest number of wrong letters if each word of `asked` is compared with a different word of `have`.

    None if some word has no similar one.
    """
    if not asked:
        return 0
    found: list[int] = []
    for place, word in enumerate(have):
        wrong = _measure_word(asked[0], word)
        rest = _measure_words(asked[1:], [*have[:place], *have[place + 1 :]]) if wrong is not None and wrong <= _MOST_WRONG else None
        if wrong is not None and rest is not None:
            found.append(wrong + rest)
    return min(found, default=None)


@lru_cache(maxsize=65536)
def _measure_word(word: str, other: str) -> int | None:
    """Return the number of wrong letters in `word` compared with `other`, case endings ignored; None if there are too many."""
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
    """Return the edit distance of two words; a swap of two neighbouring letters counts as one.

    A result greater than `_MOST_WRONG` may be less than the true distance.
    """
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
    """Return whether a text names a record: whether the words of one part of its title stand side by side in the text.

    Punctuation, quotes or « - » separate the parts of a title («Ромашка — поставка мебели» has two). The words may be in any grammatical
    case and order (Анна Ковалёва, Ковалёвой Анне). A part made only of everyday words never names the record. A part of fewer than three
    letters must stand in the text exactly as in the title. In case of doubt the result is False, and the caller asks the person.
    """
    words = extract_words(text)
    parts = [part for part in _PART.split(title) if part.strip()]
    return any(_is_named(part, words, text) for part in parts) and not _is_other_company(text, title)


def _is_named(part: str, said: Sequence[str], text: str) -> bool:
    words = extract_words(part)
    if not words or all(map(_is_everyday, words)):
        return False
    if sum(map(len, words)) < _SHORTEST:
        return re.search(rf"(?<!\w){re.escape(part.strip())}(?!\w)", text) is not None
    return any(_has_same_words(words, said[start : start + len(words)]) for start in range(len(said) - len(words) + 1))


def _has_same_words(words: Sequence[str], window: Sequence[str]) -> bool:
    left = list(window)
    for word in words:
        found = next((other for other in left if is_same_word(word, other)), None)
        if found is None:
            return False
        left.remove(found)
    return True


def _measure_partial(asked: Sequence[str], have: Sequence[str]) -> float:
    places = [[i for i, word in enumerate(have) if is_same_word(one, word)] for one in asked]
    if not all(places) or all(map(_is_noise, asked)):
        return 0.0
    if sum(map(len, asked)) < _SHORTEST and not set(asked) <= set(have):
        return 0.0
    covered = _SPAN * len(asked) / len(have)
    if any(_is_all_same(asked, have[i : i + len(asked)]) for i in range(len(have) - len(asked) + 1)):
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


def _is_all_same(asked: Sequence[str], have: Sequence[str]) -> bool:
    return len(asked) == len(have) and all(map(is_same_word, asked, have))


def _may_be_form_of(word: str, title_word: str) -> bool:
    """Return whether `word`, from the query, may be a case form of `title_word`, which must be in the dictionary form.

    Александра may be a form of Александр, but Александр is no form of Александра.
    """
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
