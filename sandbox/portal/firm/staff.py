"""Sandbox portal, who does what in the invented firm: people by their share of the work."""

from __future__ import annotations

from itertools import accumulate
from random import Random
from typing import Final

SAMPLE_SELLERS: Final = (7, 8, 9, 11)
DISMISSED: Final = frozenset({11, 19})
SELLERS: Final = (*SAMPLE_SELLERS, 12, 13, 14, 15, 16, 17, 18, 19)
_SHARES: Final = (9, 8, 5, 4, 8, 7, 6, 5, 5, 4, 3, 2)
_LUCK: Final = {7: 0.06, 12: 0.06, 9: -0.05, 17: -0.05}
SOURCES: Final = ("CALL", "WEB", "EMAIL", "PARTNER", None)
_DISMISSED_AT: Final = 130
"""Days before now when the last of the dismissed left."""


class Staff:
    """Draws people by their share of the work. The dismissed take nothing new after they left."""

    def __init__(self, now: int, *, without_sample: bool) -> None:
        self.now = now
        first = len(SAMPLE_SELLERS) if without_sample else 0
        self._sellers = SELLERS[first:]
        self._totals = tuple(accumulate(_SHARES[first:]))
        self.heads = (15,) if without_sample else (6, 15)

    def pick_seller(self, chance: Random, second: float) -> int:
        """Return who gets what comes in at this moment."""
        while True:
            seller = chance.choices(self._sellers, cum_weights=self._totals)[0]
            if seller not in DISMISSED or second < self.now - _DISMISSED_AT * 86_400 - chance.random() * 5_000_000:
                return seller


def find_luck(seller: int) -> float:
    """Return by how much a seller's share of won deals differs from the usual one."""
    return _LUCK.get(seller, 0.0)
