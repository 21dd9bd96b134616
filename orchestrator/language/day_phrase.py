"""What a phrase about a day is read into: its parts, the days that it means, and the error of a phrase that names no clear day."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from orchestrator.language.date_format import Unclear, WhenReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The parts of a phrase that the named groups of a pattern matched; "" for a group without a match."""

    text: str
    """The whole phrase."""
    year: str = ""
    month: str = ""
    """The month as a number."""
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
    """The meaning of one phrase: one or more possible days, and for some phrases a weekday, a week or a time span.

    `weekday` (0 is Monday) is set if only a weekday was named. `week` is the Monday of a named week. `span` is the time from now; it then
    stands in place of the days.
    """

    days: tuple[date, ...] = ()
    weekday: int | None = None
    week: date | None = None
    span: timedelta | None = None


Look = Literal["ahead", "back"]
"""Which day words without a year mean: one that is planned, or one that has been («в пятницу», «15 октября»)."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """The day from which words such as «вчера» count, and the direction in which days without a year are sought.

    `after` is the first day of a range whose end is read: the end is the first fitting day that does not lie before it.
    """

    today: date
    look: Look = "ahead"
    after: date | None = None


class UnclearPhrase(Exception):
    """The error that a phrase names no clear day or hour.

    `date_parser.parse_when` catches this error and returns the error's field `unclear`, a result of the type `Unclear`.
    """

    def __init__(self, reason: WhenReason) -> None:
        super().__init__(reason)
        self.unclear = Unclear(reason)
