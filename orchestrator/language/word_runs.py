"""Finds out whether a text repeats another one, without keeping that: by hashes of its long words and runs of words. Pure."""

import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Final

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.word_spelling import split_words

RUN: Final = 3
"""How many words in a row two texts do not share by chance."""
SHORTEST: Final = 8
"""The fewest letters of a value that says something; shorter ones are names, words of everyday and numbers of records."""
_SHORTEST_RUN: Final = 13
_SHORTEST_WITH_DIGITS: Final = 6
MOST_RUNS: Final = 20_000
_DENYING: Final = frozenset(split_words(" ".join(load_lexicon("orders").read_words("denying"))))
_DENIED_AFTER: Final = 2
"""How far before a word another one may deny it: «не всё оплатил»."""
_DIGIT: Final = re.compile(r"[0-9]")


def hash_runs(texts: Iterable[str]) -> frozenset[int]:
    """Return the hashes of what the texts say; of very long texts only the beginning is kept."""
    found: set[int] = set()
    for text in texts:
        for run in _list_runs(split_words(text)):
            found.add(_hash(run))
            if len(found) >= MOST_RUNS:
                return frozenset(found)
    return frozenset(found)


def repeats(value: str, said: str, runs: frozenset[int]) -> bool:
    """Return whether `value` repeats what `runs` were made from, in words that do not stand in `said`.

    It repeats it if it stands there as a whole, or if three words in a row of it do, or a word with digits such as an account.
    """
    words, own = split_words(value), f" {' '.join(split_words(said))} "
    whole = " ".join(words)
    if len(whole) < SHORTEST or f" {whole} " in own:
        return False
    wanted = [*([whole] if len(words) <= RUN else []), *_list_runs(words, whole=False)]
    return any(_hash(run) in runs for run in wanted if f" {run} " not in own)


def says(text: str, value: str) -> bool:
    """Return whether the words of `value` stand in a row in `text`, somewhere behind no word that denies them; also if it has none."""
    words, own = split_words(value), split_words(text)
    if not words:
        return not value.strip()
    places = (place for place, word in enumerate(own) if word == words[0] and own[place : place + len(words)] == words)
    return any(_DENYING.isdisjoint(own[max(place - _DENIED_AFTER, 0) : place]) for place in places)


def _list_runs(words: list[str], *, whole: bool = True) -> Iterator[str]:
    """Yield the runs of words that are looked for; with `whole`, also those that may be a value of their own: one or two long words."""
    for place, word in enumerate(words):
        if len(word) >= _SHORTEST_WITH_DIGITS and _DIGIT.search(word):
            yield word
        if whole:
            yield from (run for count in (1, 2) if len(run := " ".join(words[place : place + count])) >= SHORTEST)
        if place + RUN <= len(words) and len(run := " ".join(words[place : place + RUN])) >= (SHORTEST if whole else _SHORTEST_RUN):
            yield run


def _hash(run: str) -> int:
    return zlib.crc32(run.encode())
