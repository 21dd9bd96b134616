"""Merges what two people made of one document; elements of lists are told by their names, not by where they stand."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.documents.changing import ABSENT
from orchestrator.documents.keeping import find_name, is_same

Place = tuple[str | int, ...]
"""Like a path, with names in place of positions where elements have them."""
_Parts = Mapping[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Both changed it, each in another way. ABSENT is what was removed."""

    place: Place
    mine: object
    theirs: object
    is_order: bool = False
    """Both moved elements of the list there; `mine` and `theirs` are their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    data: object
    mine: tuple[Place, ...]
    """What only one of both changed."""
    theirs: tuple[Place, ...]
    conflicts: tuple[Conflict, ...]


def merge(base: object, mine: object, theirs: object, given_up: Collection[tuple[Place, bool]] = ()) -> Merged:
    """Where both changed the same, mine stands, but for the (place, is_order) of `given_up`."""
    merger = _Merger(given_up)
    data = merger.merge((), base, mine, theirs)
    return Merged(data=data, mine=tuple(merger.mine), theirs=tuple(merger.theirs), conflicts=tuple(merger.conflicts))


@dataclass(slots=True)
class _Merger:
    given_up: Collection[tuple[Place, bool]]
    mine: list[Place] = field(default_factory=list)
    theirs: list[Place] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)

    def merge(self, place: Place, base: Any, mine: Any, theirs: Any) -> Any:
        if _is_equal(mine, theirs):
            return mine
        known: Any = type(mine)() if base is ABSENT and isinstance(mine, dict | list) else base
        if all(isinstance(one, dict) for one in (known, mine, theirs)):
            return self._merge_parts(place, known, mine, theirs, list(mine))
        if all(isinstance(one, list) for one in (known, mine, theirs)):
            named = [_name_all(one) for one in (known, mine, theirs)]
            if None not in named:
                return self._merge_named(place, *named)
            if _stand_still(known, mine, theirs):
                before, own, other = (dict(enumerate(one)) for one in (known, mine, theirs))
                return list(self._merge_parts(place, before, own, other, range(len(mine))).values())
        if _is_equal(base, mine):
            self.theirs.append(place)
            return theirs
        if _is_equal(base, theirs):
            self.mine.append(place)
            return mine
        return self._decide(Conflict(place=place, mine=mine, theirs=theirs))

    def _decide(self, conflict: Conflict) -> Any:
        self.conflicts.append(conflict)
        return conflict.theirs if (conflict.place, conflict.is_order) in self.given_up else conflict.mine

    def _merge_parts(self, place: Place, base: _Parts, mine: _Parts, theirs: _Parts, order: Iterable[Any]) -> dict[Any, Any]:
        order = _insert(order, theirs)
        parts = {name: self.merge((*place, name), *(one.get(name, ABSENT) for one in (base, mine, theirs))) for name in order}
        return {name: part for name, part in parts.items() if part is not ABSENT}

    def _merge_named(self, place: Place, base: _Parts, mine: _Parts, theirs: _Parts) -> list[Any]:
        known = {name for name in base if name in mine and name in theirs}
        before, my_order, their_order = ([name for name in one if name in known] for one in (base, mine, theirs))
        moved_mine, moved_theirs = my_order != before, their_order != before
        order = list(theirs) if moved_theirs and not moved_mine else list(mine)
        if moved_mine and moved_theirs and my_order != their_order:
            order = self._decide(Conflict(place=place, mine=list(mine), theirs=list(theirs), is_order=True))
        elif moved_mine != moved_theirs:
            (self.mine if moved_mine else self.theirs).append(place)
        return list(self._merge_parts(place, base, mine, theirs, _insert(order, mine)).values())


def _is_equal(one: Any, other: Any) -> bool:
    return one is other or (one is not ABSENT and other is not ABSENT and is_same(one, other))


def _name_all(elements: Sequence[Any]) -> Any:
    """By name; None if two have one name, or one has none."""
    names = [find_name(element) for element in elements]
    if any(name is None for name in names) or len({name[1] for name in names if name is not None}) < len(names):
        return None
    return {name[1]: element for name, element in zip(names, elements, strict=True) if name is not None}


def _stand_still(base: Sequence[Any], mine: Sequence[Any], theirs: Sequence[Any]) -> bool:
    """Nobody seems to have moved, added or removed an element, so that positions tell them."""
    if not len(base) == len(mine) == len(theirs) or not all(isinstance(one, dict) for one in (*base, *mine, *theirs)):
        return False
    changed = [one for side in (mine, theirs) for before, one in zip(base, side, strict=True) if not _is_equal(before, one)]
    return not any(_is_equal(one, before) for one in changed for before in base)


def _insert(order: Iterable[Any], more: Iterable[Any]) -> list[Any]:
    """Each of `more` that is not there comes behind the one that it follows."""
    placed, previous = list(order), None
    for name in more:
        if name not in placed:
            placed.insert(placed.index(previous) + 1 if previous is not None else 0, name)
        previous = name
    return placed
