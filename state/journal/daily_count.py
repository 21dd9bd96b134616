"""Counts each person's changes within a day, in the transaction that starts a call.

If a person has no count, a start is refused until the caller passes their past starts (`StartCount.known`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from state.canonical import hash_text
from state.clock import format_iso

DAY: Final = timedelta(days=1)
_PREFIX: Final = "begun"
_LEAST: Final = timedelta(microseconds=1)
_LAST: Final = "9" * 20
_NO_DIGITS: Final = {ord(sign): None for sign in "-:.TZ"}
_COUNTED: Final = 2 * DAY


@dataclass(frozen=True, kw_only=True)
class PastStart:
    at: datetime
    effect_id: str
    many: int


@dataclass(frozen=True, kw_only=True)
class StartCount:
    """`limit` is that of 24 hours, None for no limit."""

    person: str
    many: int
    limit: int | None = None
    known: Sequence[PastStart] | None = None
    """From the journal; None if the database should have them."""


@dataclass(frozen=True, kw_only=True)
class CountKeys:
    """The keys of one start; digits of fixed width sort alike in every collation."""

    held: str
    key: str
    first: str
    last: str
    gone: str


def build_keys(count: StartCount, effect_id: str, now: datetime) -> CountKeys:
    person = build_person_key(count.person)
    first, last = build_range(person, now)
    return CountKeys(
        held=person,
        key=_build_key(person, now, effect_id),
        first=first,
        last=last,
        gone=f"{person}:{_format_digits(now - _COUNTED)}",
    )


def build_range(person: str, now: datetime) -> tuple[str, str]:
    """Return the first and last possible key of the 24 hours."""
    return f"{person}:{_format_digits(now - DAY + _LEAST)}", f"{person}:{_LAST}"


def build_known_values(count: StartCount) -> list[tuple[str, str]]:
    """Return (key, value) pairs that mark the person as counted and store `count.known`."""
    person = build_person_key(count.person)
    return [(person, ""), *sorted((_build_key(person, start.at, start.effect_id), str(start.many)) for start in count.known or ())]


@lru_cache(1024)
def build_person_key(person: str) -> str:
    """Hashed, so that it does not reveal the person."""
    return f"{_PREFIX}:{hash_text(person)[:32]}"


def _build_key(person: str, at: datetime, effect_id: str) -> str:
    return f"{person}:{_format_digits(at)}:{effect_id}"


def _format_digits(at: datetime) -> str:
    return format_iso(at).translate(_NO_DIGITS)
