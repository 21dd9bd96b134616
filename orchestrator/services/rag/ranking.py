"""Orders the passages that a full-text index found: which of a question's words they have, and how telling each is.

An index finds candidates by all words of a question and by those related to them. It cannot weigh a related word less than the word
itself, nor know that two of them are the same word asked once; this does both, alike for every index.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from typing import Final

from orchestrator.language.lexicon import load_lexicon
from orchestrator.services.rag.index.port import Hit
from orchestrator.services.rag.stems import find_name_words, find_terms, stem_word

CANDIDATES: Final = 20
"""How many passages an index finds at least, of which the best are chosen here."""
MOST_TERMS: Final = 24
_MOST_SEARCHED: Final = 60
_COMMON: Final = 0.35
"""The share of passages above which a word says too little to be looked for, if the question has others."""
_COMMON_FROM: Final = 50
_LEAST_TOTAL: Final = 50
"""Words are weighed as in an index of at least so many passages: in one of a few, a word that stands nowhere outweighs all others."""
MOST_PREFIXES: Final = 6
"""How many words of a question may stand for others that begin alike: each costs an index as much as many words."""
_RARE: Final = 10
"""Of a word that stands in more passages than these, the documents' own form is known: others that begin alike are not looked for."""
_FORM: Final = 0.5
"""What another form of a word counts of the word itself."""
_OFFICE_WORD: Final = 0.4
"""What an office word counts of the word asked for."""
_SATURATION: Final = 1.2
_LENGTH_SHARE: Final = 0.5
"""With the one above: the constants k and b of BM25."""
_TITLE: Final = 2.5
"""How often a word of the title counts."""
_COVERING: Final = 0.5
"""How much more a passage with all words of the question counts than one with hardly any."""


@dataclass(frozen=True, slots=True)
class AskedTerm:
    """A term of a question: how telling it is, the stems that may stand for it, and how stems begin that may, "" if none do."""

    term: str
    weight: float
    office_words: tuple[str, ...]
    prefix: str

    def find_share(self, other: str) -> float:
        """Return how much a term of a passage counts of this one, 0 to 1."""
        if other == self.term:
            return 1.0
        if self.prefix and is_related(self.term, other):
            return _FORM
        return _OFFICE_WORD if other in self.office_words else 0.0


@dataclass(frozen=True, slots=True)
class _Passage:
    hit: Hit
    frequencies: Mapping[str, float]
    """How often each term stands in it; those of the title count more."""
    length: int


class Wording:
    """The terms of a question with how telling each is in this index."""

    def __init__(self, terms: Sequence[str], total: int, counts: Mapping[str, int]) -> None:
        """Weigh the terms; `counts` says in how many of the `total` passages each stands."""
        made = [_ask_term(term, total, counts.get(term, 0)) for term in terms]
        self._total = sum(one.weight for one in made)
        rare = [one for one in made if counts.get(one.term, 0) <= _COMMON * total] if total >= _COMMON_FROM else made
        has_known = any(counts.get(one.term) for one in rare)
        chosen = sorted(rare if has_known else made, key=lambda one: -one.weight)[:MOST_TERMS]
        longest = sorted({one.prefix for one in chosen if one.prefix}, key=lambda prefix: (-len(prefix), prefix))[:MOST_PREFIXES]
        self.terms = [one if one.prefix in longest else replace(one, prefix="") for one in chosen]

    def list_searched(self) -> list[str]:
        """Return the terms that an index looks for as they are."""
        own = [one.term for one in self.terms]
        return list(dict.fromkeys([*own, *(word for term in self.terms for word in term.office_words)]))[:_MOST_SEARCHED]

    def list_prefixes(self) -> list[str]:
        """Return how other terms begin that an index looks for."""
        return list(dict.fromkeys(term.prefix for term in self.terms if term.prefix))

    def choose_best(self, hits: Sequence[Hit], limit: int) -> list[Hit]:
        """Return the best `limit` of the passages found, best first, with what each covers of the question; of equals the earlier one."""
        passages = [_read_passage(hit) for hit in hits]
        usual = sum(passage.length for passage in passages) / len(passages) if passages else 1.0
        scored = [self._score(passage, usual) for passage in passages]
        order = sorted(range(len(scored)), key=lambda one: -scored[one][0])[:limit]
        return [replace(passages[one].hit, coverage=scored[one][1]) for one in order]

    def _score(self, passage: _Passage, usual: float) -> tuple[float, float]:
        """Return (how well a passage fits, which part of the question's weight it covers); unknown words of the question count, too."""
        damping = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * passage.length / usual)
        score = covered = 0.0
        for asked in self.terms:
            best = share = 0.0
            for term, often in _find_standing(asked, passage.frequencies):
                part = asked.find_share(term)
                best = max(best, part * often * (_SATURATION + 1) / (often + damping))
                share = max(share, part)
            score += asked.weight * best
            covered += asked.weight * share
        coverage = covered / self._total if self._total else 0.0
        return score * (1 + _COVERING * coverage), coverage


def _ask_term(term: str, total: int, count: int) -> AskedTerm:
    prefix = find_prefix(term) if count <= _RARE else ""
    return AskedTerm(term, _calculate_weight(total, count), find_office_words(term), prefix)


def _calculate_weight(total: int, count: int) -> float:
    return math.log(1 + (max(total, _LEAST_TOTAL) - count + 0.5) / (count + 0.5))


def _find_standing(asked: AskedTerm, frequencies: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return which terms of a passage may stand for the one asked for, with how often."""
    found = [(term, frequencies[term]) for term in (asked.term, *asked.office_words) if term in frequencies]
    if asked.prefix:
        found.extend((term, often) for term, often in frequencies.items() if term.startswith(asked.prefix))
    return found


def _read_passage(hit: Hit) -> _Passage:
    body, title = find_terms(hit.text), set(find_terms(f"{hit.title} {find_name_words(hit.name)}"))
    frequencies: dict[str, float] = dict(Counter(body))
    for term in title:
        frequencies[term] = frequencies.get(term, 0) + _TITLE
    return _Passage(hit, frequencies, len(body) + len(title))


_LEAST_PREFIX: Final = 5
_SHARED: Final = 0.6
"""The part of the longer stem with which two related stems begin."""
_MOST_OFFICE_WORDS: Final = 8


def find_office_words(stem: str) -> tuple[str, ...]:
    """Return the stems by which documents may call what this stem of a question says."""
    return _load_office_words().get(stem, ())


def find_prefix(stem: str) -> str:
    """Return the letters with which every stem begins that is related to this one; "" if it is a number or too short to be sure."""
    return stem[: max(_LEAST_PREFIX, round(_SHARED * len(stem)))] if len(stem) >= _LEAST_PREFIX and not stem[0].isdigit() else ""


def is_related(stem: str, other: str) -> bool:
    """Return whether both stems begin alike for so long that they are probably made of the same word."""
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(stem, other, strict=False)))
    return shared >= _LEAST_PREFIX and shared >= _SHARED * max(len(stem), len(other))


@cache
def _load_office_words() -> dict[str, tuple[str, ...]]:
    """Return the words of data/language/document_words.yaml as stems: those of a group lead to each other, spoken ones to office words."""
    lexicon = load_lexicon("document_words")
    found: dict[str, list[str]] = {}
    for group in lexicon.read_groups("groups"):
        for word in group:
            found.setdefault(stem_word(word), []).extend(map(stem_word, group))
    for spoken, words in lexicon.read_lists("spoken").items():
        found.setdefault(stem_word(spoken), []).extend(map(stem_word, words))
    return {stem: tuple(one for one in dict.fromkeys(words) if one != stem)[:_MOST_OFFICE_WORDS] for stem, words in found.items()}
