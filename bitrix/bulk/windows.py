"""Divides a range of ids into windows, each small enough for one batch. It only computes and sends nothing."""

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
    """A range of ids (`low` < id <= `high`) whose rows have not been read yet."""

    low: int
    high: int

    def __len__(self) -> int:
        return self.high - self.low


@dataclass(slots=True)
class Density:
    """The number of rows per id in the part of a list that was read last. It determines how wide the next window may be."""

    rows: float = 0.0
    span: float = 0.0
    measured: bool = False
    is_empty: bool = False

    def record(self, rows: int, gap: Gap) -> None:
        """Update the density: all ids of `gap` were read and gave `rows` rows. Earlier observations count half."""
        self.rows = self.rows / 2 + rows
        self.span = self.span / 2 + len(gap)
        self.measured = self.measured or rows >= _MEASURED
        self.is_empty = rows < _NEXT_TO_NOTHING

    def reset(self, rows: int, gap: Gap) -> None:
        """Replace the density: the last `rows` rows have their ids in `gap`.

        Earlier observations are forgotten, because the density has changed.
        """
        self.rows, self.span, self.is_empty = float(rows), float(len(gap)), False
        self.measured = rows >= _MEASURED

    @property
    def value(self) -> float:
        """The number of rows per id, between 0 and 1; 1 if nothing was read yet."""
        return min(1.0, self.rows / self.span) if self.span else 1.0

    @property
    def is_reliable(self) -> bool:
        """Whether the density (rows per id) is known well enough to cut off several windows (ranges of ids to read) at once."""
        return self.measured or self.value >= _DENSE

    def split_window(self, gap: Gap) -> Gap:
        """Return the first part of `gap`, as wide as one batch can probably read.

        A window that is a little too narrow wastes part of a request, one that is a little too wide needs a second request. So the expected
        number of rows is one and a half standard deviations below a full batch. If the last window was almost empty, the whole gap is
        returned.
        """
        density = self.value
        if self.is_empty or density == 0.0:
            return gap
        spread = math.sqrt(ROWS * (1.0 - density))
        width = ROWS if density >= _DENSE else max(ROWS, int((ROWS - 1.5 * spread) / density))
        return Gap(gap.low, min(gap.high, gap.low + width))

    def count_pages(self, gap: Gap) -> int:
        """Return how many pages to ask for: as many as `gap` probably has, and one more that shows its end."""
        expected = ROWS if self.is_empty else len(gap) * self.value
        likely = math.ceil((expected + 3.0 * math.sqrt(expected + 1.0)) / PAGE) + 1
        return max(1, min(MAX_COMMANDS, likely, math.ceil(len(gap) / PAGE)))
