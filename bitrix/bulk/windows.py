import math
from dataclasses import dataclass

from bitrix.bulk.lists import PAGE
from bitrix.client.batch import MAX_COMMANDS

ROWS = MAX_COMMANDS * PAGE
_DENSE = 0.98
_MEASURED = ROWS // 2
_NEXT_TO_NOTHING = ROWS // 10


@dataclass(frozen=True, slots=True)
class Gap:
    low: int
    high: int

    def __len__(self) -> int:
        return self.high - self.low


@dataclass(slots=True)
class Density:
    rows: float = 0.0
    span: float = 0.0
    measured: bool = False
    is_empty: bool = False

    def record(self, rows: int, gap: Gap) -> None:
        self.rows = self.rows / 2 + rows
        self.span = self.span / 2 + len(gap)
        self.measured = self.measured or rows >= _MEASURED
        self.is_empty = rows < _NEXT_TO_NOTHING

    def reset(self, rows: int, gap: Gap) -> None:
        self.rows, self.span, self.is_empty = float(rows), float(len(gap)), False
        self.measured = rows >= _MEASURED

    @property
    def value(self) -> float:
        return min(1.0, self.rows / self.span) if self.span else 1.0

    @property
    def is_reliable(self) -> bool:
        return self.measured or self.value >= _DENSE

    def split_window(self, gap: Gap) -> Gap:
        """Cut off one and a half standard deviations below a full batch: a little too wide needs a second request."""
        density = self.value
        if self.is_empty or density == 0.0:
            return gap
        spread = math.sqrt(ROWS * (1.0 - density))
        width = ROWS if density >= _DENSE else max(ROWS, int((ROWS - 1.5 * spread) / density))
        return Gap(gap.low, min(gap.high, gap.low + width))

    def count_pages(self, gap: Gap) -> int:
        expected = ROWS if self.is_empty else len(gap) * self.value
        likely = math.ceil((expected + 3.0 * math.sqrt(expected + 1.0)) / PAGE) + 1
        return max(1, min(MAX_COMMANDS, likely, math.ceil(len(gap) / PAGE)))
