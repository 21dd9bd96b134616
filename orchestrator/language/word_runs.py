"""Whether a text repeats another one, known only by hashes of its runs of words."""

import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Final

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.word_spelling import split_words

RUN: Final = 3
"""Words in a row that two texts do not share by chance."""
SHORTEST: Final = 8
"""Shorter values are names, everyday words and numbers of records."""
_SHORTEST_RUN: Final = 13
_SHORTEST_WITH_DIGITS: Final = 6
MOST_RUNS: Final = 20_000
_DENYING: Final = frozenset(split_words(" ".join(load_lexicon("orders").read_words("denying"))))
_DENIED_AFTER: Final = 2
"""How far before a word another may deny it: «не всё оплатил»."""
_DIGIT: Final = re.compile(r"[0-9]")


def hash_runs(texts: Iterable[str]) -> frozenset[int]:
    """Of very long texts only the beginning."""
    hashes: set[int] = set()
    for text in texts:
        for run in _list_runs(split_words(text)):
            hashes.add(_hash(run))
            if len(hashes) >= MOST_RUNS:
                return frozenset(hashes)
    return frozenset(hashes)


def repeats(value: str, own_text: str, runs: frozenset[int]) -> bool:
    """As a whole, by three words in a row, or by a word with digits; not in words of `own_text`."""
    words, own = split_words(value), f" {' '.join(split_words(own_text))} "
    whole = " ".join(words)
    if len(whole) < SHORTEST or f" {whole} " in own:
        return False
    sought = [*([whole] if len(words) <= RUN else []), *_list_runs(words, whole=False)]
    return any(_hash(run) in runs for run in sought if f" {run} " not in own)


def says(text: str, value: str) -> bool:
    """In a row and not denied; also if `value` has no words."""
    words, own = split_words(value), split_words(text)
    if not words:
        return not value.strip()
    places = (place for place, word in enumerate(own) if word == words[0] and own[place : place + len(words)] == words)
    return any(_DENYING.isdisjoint(own[max(place - _DENIED_AFTER, 0) : place]) for place in places)


def _list_runs(words: list[str], *, whole: bool = True) -> Iterator[str]:
    """With `whole` also one or two long words."""
    for place, word in enumerate(words):
        if len(word) >= _SHORTEST_WITH_DIGITS and _DIGIT.search(word):
            yield word
        if whole:
            yield from (run for count in (1, 2) if len(run := " ".join(words[place : place + count])) >= SHORTEST)
        if place + RUN <= len(words) and len(run := " ".join(words[place : place + RUN])) >= (SHORTEST if whole else _SHORTEST_RUN):
            yield run


def _hash(run: str) -> int:
    return zlib.crc32(run.encode())
