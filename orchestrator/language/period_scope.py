"""What the parsers of periods exchange: a period, the parts of a text, and the scope in which it is read."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final, Literal

from orchestrator.language.date_parser import build_when
from orchestrator.language.day_phrase import Anchor

DAY: Final = timedelta(days=1)
Side = Literal["whole", "start", "end"]
"""What a caller wants of a period: both bounds, or only one; «до 1 октября» and «с мая» then name just the day or the month."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A period from `start` up to `end`, which does not belong to it; None for a side without a bound. A moment has two equal bounds.

    Without `has_time` it consists of whole days. `edge` says that it is the first or the last day of a period («конец месяца»), and
    `reaches_now` that it ends with the present because its words say where it begins.
    """

    start: datetime | None
    end: datetime | None
    has_time: bool = False
    edge: Literal["", "start", "end"] = ""
    reaches_now: bool = False

    @property
    def is_moment(self) -> bool:
        """Whether it is a single time."""
        return self.has_time and self.start == self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a text is read for: the person's present time, the wanted side, and the anchor of its days."""

    here: datetime
    side: Side
    anchor: Anchor
    read: "Callable[[str, Scope], Period]"
    """Reads a part of the text, which may have any form of a period."""

    @property
    def today(self) -> date:
        """The person's present day."""
        return self.here.date()

    def find_midnight(self, day: date) -> datetime:
        """Return the time at which a day begins in the person's zone."""
        return build_when(day, time(), self.here, has_time=False).at

    def build_days(self, first: date, stop: date) -> Period:
        """Return the period of the days from `first` up to `stop`, without it."""
        return Period(start=self.find_midnight(first), end=self.find_midnight(stop))

    def build_until_now(self, start: datetime | None) -> Period:
        """Return the period from `start` to the end of today."""
        return Period(start=start, end=self.find_midnight(self.today + DAY), reaches_now=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of a text that the named groups of a pattern matched; "" for a group without a match."""

    year: str = ""
    month: str = ""
    week: str = ""
    order: str = ""
    month_name: str = ""
    which: str = ""
    which_year: str = ""
    number: str = ""
    unit: str = ""
    a: str = ""
    b: str = ""


class SeveralDays(Exception):
    """The error that a weekday means today or the same day of another week."""

    def __init__(self, days: tuple[date, ...]) -> None:
        super().__init__(days)
        self.days = days


Reader = Callable[[Parts, Scope], Period]
Forms = dict[str, tuple[str, Reader]]
"""Forms of periods by name: a pattern, and the reader of what its groups matched."""
