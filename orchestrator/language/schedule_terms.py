"""When a schedule is due: one moment, or a cron line in a time zone, and its words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache, reduce
from itertools import islice
from typing import Final, Literal
from zoneinfo import ZoneInfo

from orchestrator.domain.cron_lines import MOST_A_DAY, CronError, CronLine, CronShape, find_shape, list_moments, parse_cron
from orchestrator.domain.outputs import Notice
from orchestrator.language.time_zones import is_zone

LAST_SHORT_DAY: Final = 28


def describe_line(line: CronLine, zone: str, *, reader_zone: str = "") -> Notice | None:
    """None for a line that no short sentence tells. The zone is named unless it is the reader's."""
    shape = find_shape(line)
    if shape is None:
        return None
    notice = _describe_shape(shape)
    if zone == reader_zone or shape.kind == "minutes":
        return notice
    return Notice(code="schedule-in-zone", args={"when": notice.model_dump(), "zone": zone})


def _describe_shape(shape: CronShape) -> Notice:
    times = _join([Notice(code="schedule-word", args={"text": f"{hour}:{minute:02}"}) for hour, minute in shape.times])
    match shape.kind:
        case "minutes":
            return Notice(code="schedule-each-minutes", args={"count": shape.every})
        case "hours":
            return Notice(code="schedule-each-hours", args={"count": shape.every, "minute": shape.minute})
        case "daily":
            return Notice(code="schedule-daily", args={"times": times})
        case "workdays":
            return Notice(code="schedule-workdays", args={"times": times})
        case "weekly":
            days = _join([Notice(code="schedule-weekday", args={"day": day}) for day in shape.weekdays])
            return Notice(code="schedule-weekly", args={"days": days, "times": times})
        case "monthly":
            days = _join([Notice(code="schedule-monthday", args={"day": day}) for day in shape.days])
            rare = "yes" if max(shape.days) > LAST_SHORT_DAY else "no"
            return Notice(code="schedule-monthly", args={"days": days, "times": times, "rare": rare})
        case "month_end":
            return Notice(code="schedule-month-end", args={"times": times})


def _join(words: Sequence[Notice]) -> dict[str, object]:
    if not words:
        return Notice(code="schedule-word", args={"text": ""}).model_dump()
    *first, last = [word.model_dump() for word in words]
    if not first:
        return last
    begun = reduce(lambda joined, other: Notice(code="schedule-comma", args={"first": joined, "then": other}).model_dump(), first)
    return Notice(code="schedule-and", args={"first": begun, "then": last}).model_dump()


TermsFault = Literal["both", "neither", "moment", "naive", "past", "far", "cron", "zone"]
LONGEST_MOMENT: Final = 40
LONGEST_ZONE: Final = 64
PAST_MARGIN: Final = timedelta(minutes=1)
FARTHEST: Final = timedelta(days=5 * 366)
_COPIES: Final = ("posix/", "right/")
"""Second copies of the time zones; those of "right" count leap seconds."""
_NO_ZONES: Final = frozenset({"localtime", "posixrules", "Factory"})
"""Files that mean another zone on each machine, or none."""


class TermsError(ValueError):
    """`param` is at fault, `detail` says in English what is needed."""

    def __init__(self, fault: TermsFault, param: str, detail: str, *, cron: CronError | None = None) -> None:
        super().__init__(f"{param}: {detail}")
        self.fault = fault
        self.param = param
        self.detail = detail
        self.cron = cron


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Exactly one of `at` and `line` is None."""

    at: datetime | None
    line: CronLine | None
    zone: str

    @property
    def cron(self) -> str:
        return self.line.text if self.line is not None else ""

    def find_first(self, now: datetime) -> datetime | None:
        """A single moment even if it is over; None if there is none within fifty years."""
        return self.at if self.at is not None else next(iter(self.list_moments(now)), None)

    def list_moments(self, after: datetime, limit: int = 3) -> list[datetime]:
        return list(islice(self._iterate_moments(after), limit))

    def _iterate_moments(self, after: datetime) -> Iterator[datetime]:
        if self.line is not None:
            yield from list_moments(self.line, ZoneInfo(self.zone), after)
        elif self.at is not None and self.at > after:
            yield self.at


def parse_terms(at: str | None, cron: str | None, zone: str) -> Terms:
    """`at` is ISO text with its offset. Raises TermsError for what has not exactly one meaning."""
    if at is not None and cron is not None:
        raise TermsError("both", "cron", "give either one moment (at) or a cron line (cron), not both")
    if at is None and cron is None:
        raise TermsError("neither", "at", "give one moment (at) or a cron line (cron)")
    if not is_plain_zone(zone):
        raise TermsError("zone", "zone", "the name of a time zone is needed, such as Europe/Moscow")
    if at is not None:
        return Terms(at=_parse_moment(at), line=None, zone=zone)
    try:
        return Terms(at=None, line=parse_cron(cron or ""), zone=zone)
    except CronError as error:
        raise TermsError("cron", "cron", describe_cron_error(error), cron=error) from None


def check_moment(terms: Terms, now: datetime) -> None:
    """Raise TermsError for a moment that is over or too far ahead."""
    if terms.at is None:
        return
    if terms.at < now - PAST_MARGIN:
        raise TermsError("past", "at", "this moment is over")
    if terms.at > now + FARTHEST:
        raise TermsError("far", "at", "a moment within the next five years is needed")


@lru_cache(256)
def is_plain_zone(name: str) -> bool:
    return len(name) <= LONGEST_ZONE and name not in _NO_ZONES and not name.startswith(_COPIES) and is_zone(name)


def _parse_moment(text: str) -> datetime:
    needed = "a moment with its offset from UTC is needed, such as 2026-12-01T09:00+03:00"
    if len(text) > LONGEST_MOMENT or not text.isascii():
        raise TermsError("moment", "at", needed)
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            raise TermsError("naive", "at", f"without its offset it may mean several moments: {needed}")
        return moment.astimezone(UTC).replace(microsecond=0)
    except (ValueError, OverflowError) as error:
        raise error if isinstance(error, TermsError) else TermsError("moment", "at", needed) from None


def describe_cron_error(error: CronError) -> str:
    match error.fault:
        case "length":
            return f"the cron line has {error.count} characters, which is too long"
        case "fields":
            return f"a cron line has five fields (minute, hour, day of the month, month, day of the week), and this one has {error.count}"
        case "field":
            return f"the field {error.field} cannot be {error.written!r}"
        case "never":
            return "this line is never due"
        case "often":
            return f"this line would be due {error.count} times a day, and {MOST_A_DAY} are possible"
