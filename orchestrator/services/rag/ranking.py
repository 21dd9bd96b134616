"""Orders found passages, alike for every index: related words count less, and two of them may be the same word asked once."""

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
MOST_TERMS: Final = 24
_MOST_SEARCHED: Final = 60
_COMMON: Final = 0.35
"""More common words say too little, if there are others."""
_COMMON_FROM: Final = 50
_LEAST_TOTAL: Final = 50
"""In a smaller index, a word that stands nowhere would outweigh all others."""
MOST_PREFIXES: Final = 6
"""Each costs an index as much as many words."""
_RARE: Final = 10
"""A more frequent word is the documents' own form: others are not looked for."""
_FORM: Final = 0.5
_OFFICE_WORD: Final = 0.4
_SATURATION: Final = 1.2
_LENGTH_SHARE: Final = 0.5
"""k and b of BM25."""
_TITLE: Final = 2.5
"""A word of the title counts so often."""
_LEAST_ROWS: Final = 3
_MOST_ROWS: Final = 5
_NEARLY: Final = 0.9
"""Of the part of the question that the best row covers."""
_COVERING: Final = 0.5
"""How much more a passage with all words counts."""


@dataclass(frozen=True, slots=True)
class AskedTerm:
    """A term of a question: how telling it is, the stems that may stand for it, and how stems begin that may, "" if none do."""

    term: str
    weight: float
    office_words: tuple[str, ...]
    prefix: str

    def find_share(self, other: str) -> float:
        """0 to 1."""
        if other == self.term:
            return 1.0
        if self.prefix and is_related(self.term, other):
            return _FORM
        return _OFFICE_WORD if other in self.office_words else 0.0


@dataclass(frozen=True, slots=True)
class _Passage:
    hit: Hit
    frequencies: Mapping[str, float]
    """Those of the title count more."""
    length: int


class Wording:
    def __init__(self, terms: Sequence[str], total: int, counts: Mapping[str, int]) -> None:
        """`counts`: in how many of the `total` passages a term stands."""
        asked_terms = [_ask_term(term, total, counts.get(term, 0)) for term in terms]
        self._total = sum(asked_term.weight for asked_term in asked_terms)
        rare = (
            [asked_term for asked_term in asked_terms if counts.get(asked_term.term, 0) <= _COMMON * total]
            if total >= _COMMON_FROM
            else asked_terms
        )
        has_known = any(counts.get(asked_term.term) for asked_term in rare)
        chosen = sorted(rare if has_known else asked_terms, key=lambda asked_term: -asked_term.weight)[:MOST_TERMS]
        longest = sorted({asked_term.prefix for asked_term in chosen if asked_term.prefix}, key=lambda prefix: (-len(prefix), prefix))[
            :MOST_PREFIXES
        ]
        self.terms = [asked_term if asked_term.prefix in longest else replace(asked_term, prefix="") for asked_term in chosen]

    def list_searched(self) -> list[str]:
        own = [one.term for one in self.terms]
        return list(dict.fromkeys([*own, *(word for term in self.terms for word in term.office_words)]))[:_MOST_SEARCHED]

    def list_prefixes(self) -> list[str]:
        return list(dict.fromkeys(term.prefix for term in self.terms if term.prefix))

    def choose_best(self, hits: Sequence[Hit], limit: int) -> list[Hit]:
        """With what each covers of the question; of equals the earlier."""
        passages = [_read_passage(hit) for hit in hits]
        usual = sum(passage.length for passage in passages) / len(passages) if passages else 1.0
        scored = [self._score(passage, usual) for passage in passages]
        order = sorted(range(len(scored)), key=lambda place: -scored[place][0])[:limit]
        return [replace(passages[place].hit, coverage=scored[place][1], shown=self._choose_rows(passages[place].hit)) for place in order]

    def _choose_rows(self, hit: Hit) -> str:
        """The best ones with those that fit nearly as well; "" where all of the text is shown."""
        rows = hit.text.split("\n")
        if len(rows) < _LEAST_ROWS:
            return ""
        scores = [self._score(_read_passage(replace(hit, title="", name="", text=row)), 1.0)[1] for row in rows]
        best = max(scores)
        chosen = [row for row, score in zip(rows, scores, strict=True) if score >= _NEARLY * best]
        return "\n".join(chosen) if best and len(chosen) <= _MOST_ROWS else ""

    def _score(self, passage: _Passage, usual: float) -> tuple[float, float]:
        """(how well it fits, part of the question's weight covered); unknown words count, too."""
        damping = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * passage.length / usual)
        score = covered = 0.0
        for asked_term in self.terms:
            best = share = 0.0
            for term, often in _find_standing(asked_term, passage.frequencies):
                part = asked_term.find_share(term)
                best = max(best, part * often * (_SATURATION + 1) / (often + damping))
                share = max(share, part)
            score += asked_term.weight * best
            covered += asked_term.weight * share
        coverage = covered / self._total if self._total else 0.0
        return score * (1 + _COVERING * coverage), coverage


def _ask_term(term: str, total: int, count: int) -> AskedTerm:
    prefix = find_prefix(term) if count <= _RARE else ""
    return AskedTerm(term, _calculate_weight(total, count), find_office_words(term), prefix)


def _calculate_weight(total: int, count: int) -> float:
    return math.log(1 + (max(total, _LEAST_TOTAL) - count + 0.5) / (count + 0.5))


def _find_standing(asked_term: AskedTerm, frequencies: Mapping[str, float]) -> list[tuple[str, float]]:
    """With how often."""
    standing = [(term, frequencies[term]) for term in (asked_term.term, *asked_term.office_words) if term in frequencies]
    if asked_term.prefix:
        standing.extend((term, often) for term, often in frequencies.items() if term.startswith(asked_term.prefix))
    return standing


def _read_passage(hit: Hit) -> _Passage:
    body, title = find_terms(hit.text), set(find_terms(f"{hit.title} {find_name_words(hit.name)}"))
    frequencies: dict[str, float] = dict(Counter(body))
    for term in title:
        frequencies[term] = frequencies.get(term, 0) + _TITLE
    return _Passage(hit, frequencies, len(body) + len(title))


_LEAST_PREFIX: Final = 5
_SHARED: Final = 0.6
"""Of the longer stem."""
_MOST_OFFICE_WORDS: Final = 8


def find_office_words(stem: str) -> tuple[str, ...]:
    """As documents may call it."""
    return _load_office_words().get(stem, ())


def find_prefix(stem: str) -> str:
    """Empty for a number or a short stem."""
    return stem[: max(_LEAST_PREFIX, round(_SHARED * len(stem)))] if len(stem) >= _LEAST_PREFIX and not stem[0].isdigit() else ""


def is_related(stem: str, other: str) -> bool:
    """Probably of the same word."""
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(stem, other, strict=False)))
    return shared >= _LEAST_PREFIX and shared >= _SHARED * max(len(stem), len(other))


@cache
def _load_office_words() -> dict[str, tuple[str, ...]]:
    """Return the words of data/language/document_words.yaml as stems: those of a group lead to each other, spoken ones to office words."""
    lexicon = load_lexicon("document_words")
    words_by_stem: dict[str, list[str]] = {}
    for group in lexicon.read_groups("groups"):
        for word in group:
            words_by_stem.setdefault(stem_word(word), []).extend(map(stem_word, group))
    for spoken, words in lexicon.read_lists("spoken").items():
        words_by_stem.setdefault(stem_word(spoken), []).extend(map(stem_word, words))
    return {stem: tuple(one for one in dict.fromkeys(words) if one != stem)[:_MOST_OFFICE_WORDS] for stem, words in words_by_stem.items()}
