"""Ring 1. Which ids to ask for next: a range of ids cut into windows of one batch each. Pure; sends nothing."""

import math
from dataclasses import dataclass

from bitrix.bulk.lists import PAGE
from bitrix.client.batch import MAX_COMMANDS

ROWS = MAX_COMMANDS * PAGE
"""Rows of one full batch."""
_DENSE = 0.98
_MEASURED = ROWS // 2
_NEXT_TO_NOTHING = ROWS // 10


@dataclass(frozen=True, slots=True)
class Gap:
    """Ids above `low` up to `high` that nobody has read yet."""

    low: int
    high: int

    def __len__(self) -> int:
        return self.high - self.low


@dataclass(slots=True)
class Density:
    """Rows per id, as seen lately; says how wide a window may be."""

    rows: float = 0.0
    span: float = 0.0
    measured: bool = False
    is_empty: bool = False

    def record(self, rows: int, gap: Gap) -> None:
        """Note that `gap` was read to its end and held `rows` rows; what was seen before counts half."""
        self.rows = self.rows / 2 + rows
        self.span = self.span / 2 + len(gap)
        self.measured = self.measured or rows >= _MEASURED
        self.is_empty = rows < _NEXT_TO_NOTHING

    def reset(self, rows: int, gap: Gap) -> None:
        """Note that the last `rows` rows lie in `gap`, and forget what was seen before: here the ids lie otherwise."""
        self.rows, self.span, self.is_empty = float(rows), float(len(gap)), False
        self.measured = rows >= _MEASURED

    @property
    def value(self) -> float:
        """Between 0 and 1: ids are whole numbers."""
        return min(1.0, self.rows / self.span) if self.span else 1.0

    @property
    def is_reliable(self) -> bool:
        """Whether several windows may be cut by this measure at once."""
        return self.measured or self.value >= _DENSE

    def split_window(self, gap: Gap) -> Gap:
        """The first part of `gap` that one batch should just hold.

        A little too narrow costs a part of a request, a little too wide a whole one: aim below by some deviations. Where
        next to nothing was found the whole gap is asked for: the batch then ends wherever its rows lie.
        """
        density = self.value
        if self.is_empty or density == 0.0:
            return gap
        spread = math.sqrt(ROWS * (1.0 - density))
        width = ROWS if density >= _DENSE else max(ROWS, int((ROWS - 1.5 * spread) / density))
        return Gap(gap.low, min(gap.high, gap.low + width))

    def count_pages(self, gap: Gap) -> int:
        """How many pages to ask for: as many as `gap` may hold, and one that ends it."""
        expected = ROWS if self.is_empty else len(gap) * self.value
        likely = math.ceil((expected + 3.0 * math.sqrt(expected + 1.0)) / PAGE) + 1
        return max(1, min(MAX_COMMANDS, likely, math.ceil(len(gap) / PAGE)))
