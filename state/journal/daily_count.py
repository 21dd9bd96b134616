"""How many changes were begun for a person within a day, kept where the transaction that begins one more can look (ring 1).

Each start leaves one small named value beside its event: whose, when, by which effect, how many. The journal is the truth: for a person of
whom the database keeps no count a start is refused until it is told what the journal knows, so lost values are made anew by the next one.
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
"""So long a value is kept: another process, whose clock is behind, may still count it."""


@dataclass(frozen=True, kw_only=True)
class PastStart:
    """Changes that were begun: when, by which effect, how many."""

    at: datetime
    effect_id: str
    many: int


@dataclass(frozen=True, kw_only=True)
class StartCount:
    """A start that counts for a person: so many changes, of which `limit` may be begun within 24 hours; None = any number."""

    person: str
    """Who it is whatever the account, such as "employee:7"."""
    many: int
    limit: int | None = None
    known: Sequence[PastStart] | None = None
    """What the journal knows of the last 24 hours, for a person of whom the database keeps no count; None = it should."""


@dataclass(frozen=True, kw_only=True)
class CountKeys:
    """A Count as named values: keys are of one width and hold only digits where they are compared, so every collation sorts them alike."""

    held: str
    """The value that says that the person is counted; who holds its row is alone with the count."""
    key: str
    """Of this start."""
    first: str
    last: str
    """Between these are the starts of the last 24 hours."""
    gone: str
    """Before this one are those that nobody counts any more."""


def build_keys(count: StartCount, effect_id: str, now: datetime) -> CountKeys:
    """Where that start is counted."""
    person = build_person_key(count.person)
    return CountKeys(
        held=person,
        key=_build_key(person, now, effect_id),
        first=f"{person}:{_format_digits(now - DAY + _LEAST)}",
        last=f"{person}:{_LAST}",
        gone=f"{person}:{_format_digits(now - _COUNTED)}",
    )


def build_known_values(count: StartCount) -> list[tuple[str, str]]:
    """The values of what the journal knows, and the one that says that the person is counted, which comes first."""
    person = build_person_key(count.person)
    return [(person, ""), *sorted((_build_key(person, one.at, one.effect_id), str(one.many)) for one in count.known or ())]


@lru_cache(1024)
def build_person_key(person: str) -> str:
    """The key under which that person is counted; it does not name them."""
    return f"{_PREFIX}:{hash_text(person)[:32]}"


def _build_key(person: str, at: datetime, effect_id: str) -> str:
    return f"{person}:{_format_digits(at)}:{effect_id}"


def _format_digits(at: datetime) -> str:
    return format_iso(at).translate(_NO_DIGITS)
