"""Sandbox portal, the size of the invented firm and what is unusual about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

BIG: Final = 50_000
SMALL: Final = 1_000
MOST_ASIDE: Final = 400
_NAMED: Final = {"big": BIG, "small": SMALL}
_MARKS: Final = frozenset({"imported", "retired", "unrated", "aside"})


@dataclass(frozen=True, slots=True)
class Firm:
    """How many deals of the past two years a firm has (the rest follows from it), and four oddities that a real portal may have.

    With `deals` = 0 the portal is new: it has people and books, but no deal, lead, activity, call, task or move, not even those of the
    sample firm. `imported`: deals older than 90 days came without history, half of them without MOVED_TIME. `retired`: a stage that the
    history of older deals names is not in the books any more. `unrated`: the currency of some deals is not among the portal's currencies.
    `aside`: the colleagues of the sample firm get nothing, and deals and leads are numbered before those of the sample firm, so that
    people's own lists and the newest records stay as they are without the firm; there is room for 400 deals, of fourteen months.
    `own_fields`: so many custom fields of deals are added, most of them empty.
    """

    deals: int = SMALL
    imported: bool = False
    retired: bool = False
    unrated: bool = False
    aside: bool = False
    own_fields: int = 0

    def __post_init__(self) -> None:
        if self.aside and self.deals > MOST_ASIDE:
            raise ValueError(f"beside the sample firm there is room for {MOST_ASIDE} deals")


def parse_firm(text: str) -> Firm:
    """Read `big`, `small` or a number of deals, then oddities behind commas: `800,imported,own_fields=300`. Raises ValueError."""
    size, *oddities = text.split(",")
    firm = Firm(deals=_NAMED.get(size) or _parse_count(size))
    for oddity in oddities:
        name, _, count = oddity.partition("=")
        if name == "own_fields":
            firm = replace(firm, own_fields=_parse_count(count))
        elif name in _MARKS:
            firm = replace(firm, **{name: True})
        else:
            raise ValueError(f"unknown: {oddity}")
    return firm


def _parse_count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"not a number: {text}")
    return int(text)
