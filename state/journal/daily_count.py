"""Counts the changes of the portal that each person starts within a day, so that a transaction that starts a call can check the limit.

The counts are in the database. Each start of a call stores a small named value: its key holds the person, the time and the id of the call
(effect), and its value the number of changes. If a person has no stored values, a start is refused until the caller passes the person's
past starts from the journal (`StartCount.known`); these are then stored first. So lost values are rebuilt by the next start.
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
"""How long a value is kept: longer than a day, because another process whose clock is behind may still count it."""


@dataclass(frozen=True, kw_only=True)
class PastStart:
    """A call that was started in the past: when, the id of the call (`effect_id`), and how many changes it made."""

    at: datetime
    effect_id: str
    many: int


@dataclass(frozen=True, kw_only=True)
class StartCount:
    """A request to count a call that starts as `many` changes of one person (a batch is several).

    The call may start only if the person then has at most `limit` changes within 24 hours (None: no limit).
    """

    person: str
    """The person, whatever the account, such as "employee:7"."""
    many: int
    limit: int | None = None
    known: Sequence[PastStart] | None = None
    """The person's starts of the last 24 hours from the journal; None if the database should already have a count for the person."""


@dataclass(frozen=True, kw_only=True)
class CountKeys:
    """The keys under which the start of one call is stored and found; see each field.

    The part of a key that decides the order has a fixed width and only digits, so that every collation of the database sorts the keys
    alike.
    """

    held: str
    """The key of the value that marks the person as counted; while a transaction locks that row, no other counts for this person."""
    key: str
    """The key of the value for this start."""
    first: str
    last: str
    """The keys of the starts in the last 24 hours lie between `first` and `last`."""
    gone: str
    """Values with keys before this one are too old to be counted by any process."""


def build_keys(count: StartCount, effect_id: str, now: datetime) -> CountKeys:
    """Return the keys for counting that the call `effect_id` starts at `now`."""
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
    """Return the first and the last key that a start of the person (a key of `build_person_key`) within the 24 hours before `now` has."""
    return f"{person}:{_format_digits(now - DAY + _LEAST)}", f"{person}:{_LAST}"


def build_known_values(count: StartCount) -> list[tuple[str, str]]:
    """Return the (key, value) pairs that store a person's past starts from `count.known`.

    The first pair marks that the person's starts are stored now; each further one is a past start with its number of changes.
    """
    person = build_person_key(count.person)
    return [(person, ""), *sorted((_build_key(person, start.at, start.effect_id), str(start.many)) for start in count.known or ())]


@lru_cache(1024)
def build_person_key(person: str) -> str:
    """Return the key under which the starts of `person` are counted. It contains a hash, so it does not reveal who the person is."""
    return f"{_PREFIX}:{hash_text(person)[:32]}"


def _build_key(person: str, at: datetime, effect_id: str) -> str:
    return f"{person}:{_format_digits(at)}:{effect_id}"


def _format_digits(at: datetime) -> str:
    return format_iso(at).translate(_NO_DIGITS)
