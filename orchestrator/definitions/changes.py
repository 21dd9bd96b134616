"""Compares two versions of a definition as data, by path."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal

from orchestrator.domain.finding import WHOLE, Path

MOST_CHANGES: Final = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """None stands for what is not there."""

    kind: Literal["added", "removed", "changed"]
    path: Path
    before: object = None
    after: object = None


@dataclass(frozen=True, kw_only=True)
class Difference:
    changes: tuple[Change, ...]
    more: bool = False
    """Further changes are left out."""


def compare_documents(before: object, after: object) -> Difference:
    """Call it in a thread: a large document takes a moment."""
    changes = list(islice(list_changes(before, after), MOST_CHANGES + 1))
    return Difference(changes=tuple(changes[:MOST_CHANGES]), more=len(changes) > MOST_CHANGES)


def list_changes(before: object, after: object, path: Path = WHOLE) -> Iterator[Change]:
    """Elements are compared by position."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys: list[str] | range = list(dict.fromkeys([*before, *after]))
        old, new = before, after
    elif isinstance(before, list) and isinstance(after, list):
        keys = range(max(len(before), len(after)))
        old, new = dict(enumerate(before)), dict(enumerate(after))
    else:
        if type(before) is not type(after) or before != after:  # True == 1 in Python, but not in JSON
            yield Change(kind="changed", path=path, before=before, after=after)
        return
    for key in keys:
        place = (*path, key)
        if key not in old:
            yield Change(kind="added", path=place, after=new[key])
        elif key not in new:
            yield Change(kind="removed", path=place, before=old[key])
        else:
            yield from list_changes(old[key], new[key], place)
