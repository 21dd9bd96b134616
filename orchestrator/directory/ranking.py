"""Which records a query names: one, a few, too many, or none.

A whole title or number wins over a part, and the exact title over another case, unless that is possible too («Александра» may mean
Александр). Whether a record is open and whose it is never decides.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Generic, TypeVar

from bitrix.catalogue import names
from orchestrator.language.text import normalize_text
from orchestrator.language.title_matching import EXACT, WHOLE, WHOLE_BACKWARDS, extract_words, measure_match, measure_misspelling

LIMIT: Final = 20
"""More must be named more exactly."""
_NEAREST: Final = 6
T = TypeVar("T")
_NUMBER: Final = re.compile(r"(?:.*[\s№#])?[№#]?\s?([0-9]{1,18})", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(Generic[T]):
    """By `title` or by `id`."""

    id: int
    title: str
    item: T
    owner: int = 0
    closed: bool = False


@dataclass(frozen=True, slots=True)
class OneMatch(Generic[T]):
    """Used, and shown to the person."""

    found: Candidate[T]


@dataclass(frozen=True, slots=True)
class SeveralMatches(Generic[T]):
    """A choice is no consent to a change."""

    candidates: tuple[Candidate[T], ...]


@dataclass(frozen=True, slots=True)
class TooManyMatches:
    """More than anybody would look through."""

    count: int


@dataclass(frozen=True, slots=True)
class NoMatch:
    pass


Match = OneMatch[T] | SeveralMatches[T] | TooManyMatches | NoMatch


def find_match(query: str, candidates: Iterable[Candidate[T]], *, me: int | None, limit: int = LIMIT) -> Match[T]:
    """`me` is the person's Bitrix24 user id. Of one id only one candidate counts."""
    unique = {candidate.id: candidate for candidate in candidates}
    scored = [
        (worth, one) for one in unique.values() if (worth := EXACT if _is_number_of(query, one.id) else measure_match(query, one.title)) > 0
    ]
    best = _filter_best(scored)
    if not best:
        return NoMatch()
    if len(best) == 1:
        return OneMatch(best[0][1])
    if len(best) > limit:
        return TooManyMatches(len(best))
    return SeveralMatches(tuple(candidate for _, candidate in sorted(best, key=lambda pair: _build_sort_key(*pair, me=me))))


def find_nearest(query: str, candidates: Iterable[Candidate[T]], *, me: int | None, limit: int = _NEAREST) -> tuple[Candidate[T], ...]:
    """One or two letters differ, so the person must confirm."""
    unique = {candidate.id: candidate for candidate in candidates}
    near = [(wrong, candidate) for candidate in unique.values() if (wrong := measure_misspelling(query, candidate.title)) is not None]
    ordered = sorted(near, key=lambda pair: (pair[0], _build_sort_key(0.0, pair[1], me=me)))
    return tuple(candidate for _, candidate in ordered[:limit])


def _is_number_of(query: str, record_id: int) -> bool:
    """«481», «№481», «сделка 481»."""
    match = _NUMBER.fullmatch(query.strip())
    return match is not None and int(match[1]) == record_id and extract_words(query) == (match[1],)


def _filter_best(scored: Sequence[tuple[float, Candidate[T]]]) -> Sequence[tuple[float, Candidate[T]]]:
    whole = [pair for pair in scored if pair[0] >= WHOLE]
    if whole:
        return whole
    return [pair for pair in scored if pair[0] >= WHOLE_BACKWARDS] or scored


def _build_sort_key(worth: float, candidate: Candidate[T], *, me: int | None) -> tuple[bool, bool, float, int]:
    return candidate.closed, me is None or candidate.owner != me, -worth, -candidate.id


_NEAR_ENOUGH: Final = 0.72
_LONGEST: Final = 80


def find_similar_codes(name: str, known: Mapping[str, str], *, most: int = 3) -> tuple[str, ...]:
    """Mostly none; `known` maps codes to titles. OPORTUNITY is like OPPORTUNITY."""
    query = name[:_LONGEST]
    worth = {
        code: max(
            _measure_likeness(names.to_field_key(query), names.to_field_key(code[:_LONGEST])),
            _measure_likeness(normalize_text(query), normalize_text(title[:_LONGEST])),
        )
        for code, title in known.items()
    }
    near = [code for code, value in worth.items() if value >= _NEAR_ENOUGH]
    return tuple(sorted(near, key=lambda code: (-worth[code], code))[:most])


def _measure_likeness(left: str, right: str) -> float:
    if not left or not right:
        return 0.0
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    # Cheap upper bounds first, since a portal may have a thousand fields.
    if matcher.real_quick_ratio() < _NEAR_ENOUGH or matcher.quick_ratio() < _NEAR_ENOUGH:
        return 0.0
    return matcher.ratio()
