"""Decides which records a query (the words of the person or of the model) names: one, a few to choose from, too many, or none.

Rules: records whose whole title or number («№481») is the query win over records that it names only in part. A title written exactly as in
the query wins over a title in another grammatical case, unless the query may also be a case form of the second title: «Александра» may mean
Александр, so both are offered. Buttons list open records first, then the person's own, then better matches. Whether a record is open and
who owns it never decides which record is meant. `find_similar_codes` finds the codes of fields that resemble an unknown code.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Generic, TypeVar

from bitrix.catalogue import names
from orchestrator.language.text import normalize_text
from orchestrator.language.title_matching import EXACT, WHOLE, WHOLE_BACKWARDS, extract_words, measure_match, measure_misspelling

LIMIT: Final = 6
T = TypeVar("T")
_NUMBER: Final = re.compile(r"(?:.*[\s№#])?[№#]?\s?([0-9]{1,18})", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(Generic[T]):
    """A record, employee, stage or funnel (`item`) that a query may name, by its title or by its number `id`."""

    id: int
    title: str
    item: T
    owner: int = 0
    closed: bool = False


@dataclass(frozen=True, slots=True)
class OneMatch(Generic[T]):
    """The result if exactly one record fits the query; the caller uses the record and shows it to the person."""

    found: Candidate[T]


@dataclass(frozen=True, slots=True)
class SeveralMatches(Generic[T]):
    """The result if a few records fit the query; the person chooses one with a button. This choice is no consent to a change."""

    candidates: tuple[Candidate[T], ...]


@dataclass(frozen=True, slots=True)
class TooManyMatches:
    """The result if more records fit the query than there are buttons; the person is asked to be more precise."""

    count: int


@dataclass(frozen=True, slots=True)
class NoMatch:
    """The result if no record fits the query."""


Match = OneMatch[T] | SeveralMatches[T] | TooManyMatches | NoMatch


def find_match(query: str, candidates: Iterable[Candidate[T]], *, me: int | None, limit: int = LIMIT) -> Match[T]:
    """Return which of the candidates the query names: one, several (at most `limit`), too many or none.

    `me` is the person's Bitrix24 user id, or None. Of several candidates with the same id, one is kept.
    """
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


def find_nearest(query: str, candidates: Iterable[Candidate[T]], *, me: int | None, limit: int = LIMIT) -> tuple[Candidate[T], ...]:
    """Return the candidates whose title differs from the query in one or two letters, nearest first, at most `limit`.

    The person must confirm such a candidate, since its name is not the one in the query. `me` is the person's Bitrix24 user id, or None.
    """
    unique = {candidate.id: candidate for candidate in candidates}
    near = [(wrong, candidate) for candidate in unique.values() if (wrong := measure_misspelling(query, candidate.title)) is not None]
    ordered = sorted(near, key=lambda pair: (pair[0], _build_sort_key(0.0, pair[1], me=me)))
    return tuple(candidate for _, candidate in ordered[:limit])


def _is_number_of(query: str, record_id: int) -> bool:
    """Return whether the query is this record's number («481», «№481», «сделка 481») without another significant word."""
    found = _NUMBER.fullmatch(query.strip())
    return found is not None and int(found[1]) == record_id and extract_words(query) == (found[1],)


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
    """Return the field codes that the unknown name `name` may mean, at most `most`, the most similar first; usually none.

    `known` maps each code to its title, which may be "". For example, `opportunity` and the misspelt OPORTUNITY are similar to OPPORTUNITY,
    and «Номер договора» to the code with that title.
    """
    written = name[:_LONGEST]
    worth = {
        code: max(
            _measure_likeness(names.to_field_key(written), names.to_field_key(code[:_LONGEST])),
            _measure_likeness(normalize_text(written), normalize_text(title[:_LONGEST])),
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
