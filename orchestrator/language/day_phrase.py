from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from orchestrator.language.date_format import Unclear, WhenReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The named groups of a pattern; "" for a group without a match."""

    text: str
    year: str = ""
    month: str = ""
    month_name: str = ""
    day: str = ""
    word: str = ""
    weekday: str = ""
    which: str = ""
    number: str = ""
    unit: str = ""
    more: str = ""
    """The number of the smaller unit: 30 of «через 1 час 30 минут»."""


@dataclass(frozen=True, slots=True)
class DayPhrase:
    """`weekday` (0 is Monday) if only a weekday was named; `week` is the Monday of a named week; `span` stands in place of the days."""

    days: tuple[date, ...] = ()
    weekday: int | None = None
    week: date | None = None
    span: timedelta | None = None


Look = Literal["ahead", "back"]
"""Which day words without a year mean: a planned one, or one that has been."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """The day from which words count. `after` is the first day of a range whose end is read."""

    today: date
    look: Look = "ahead"
    after: date | None = None


class UnclearPhrase(Exception):
    def __init__(self, reason: WhenReason) -> None:
        super().__init__(reason)
        self.unclear = Unclear(reason)
