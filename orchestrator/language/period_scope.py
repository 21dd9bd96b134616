from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final, Literal

from orchestrator.language.date_parser import build_when
from orchestrator.language.day_phrase import Anchor

DAY: Final = timedelta(days=1)
Side = Literal["whole", "start", "end"]
"""Both bounds, or only one; «до 1 октября» then names just the day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """`end` does not belong to the period; None: no bound; a moment has two equal ones.

    Without `has_time` of whole days. `edge`: the first or last day of a period («конец месяца»). `reaches_now`: it ends with the present
    because its words say where it begins.
    """

    start: datetime | None
    end: datetime | None
    has_time: bool = False
    edge: Literal["", "start", "end"] = ""
    reaches_now: bool = False

    @property
    def is_moment(self) -> bool:
        return self.has_time and self.start == self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    here: datetime
    side: Side
    anchor: Anchor
    read: "Callable[[str, Scope], Period]"
    """Reads a part of the text in any form of a period."""

    @property
    def today(self) -> date:
        return self.here.date()

    def find_midnight(self, day: date) -> datetime:
        return build_when(day, time(), self.here, has_time=False).at

    def build_days(self, first: date, stop: date) -> Period:
        return Period(start=self.find_midnight(first), end=self.find_midnight(stop))

    def build_until_now(self, start: datetime | None) -> Period:
        return Period(start=start, end=self.find_midnight(self.today + DAY), reaches_now=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
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
    """The weekday means today or the same day of another week."""

    def __init__(self, days: tuple[date, ...]) -> None:
        super().__init__(days)
        self.days = days


Reader = Callable[[Parts, Scope], Period]
Forms = dict[str, tuple[str, Reader]]
