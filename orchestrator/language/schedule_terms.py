"""Reads when a schedule is due: one moment, or a cron line in a time zone. Says what is wrong with what was written. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice
from typing import Final, Literal
from zoneinfo import ZoneInfo

from orchestrator.domain.cron_lines import MOST_A_DAY, CronError, CronLine, parse_cron
from orchestrator.domain.due_moments import list_moments
from orchestrator.language.time_zones import is_zone

TermsFault = Literal["both", "neither", "moment", "naive", "past", "far", "cron", "zone"]
LONGEST_MOMENT: Final = 40
LONGEST_ZONE: Final = 64
PAST_MARGIN: Final = timedelta(minutes=1)
"""How long ago a single moment may be, so that "now" is accepted although it takes a moment to arrive."""
FARTHEST: Final = timedelta(days=5 * 366)
"""How far ahead a single moment may lie: a year such as 9999 is a mistake."""
_COPIES: Final = ("posix/", "right/")
"""Folders in which some machines keep the time zones a second time; those of "right" count leap seconds."""
_NO_ZONES: Final = frozenset({"localtime", "posixrules", "Factory"})
"""Files beside the zones that mean another zone on each machine, or none."""


class TermsError(ValueError):
    """It cannot be accepted when a schedule is to be due. `param` names what is at fault, `detail` says in English what is needed.

    `cron` is the fault of the cron line, where that is at fault.
    """

    def __init__(self, fault: TermsFault, param: str, detail: str, *, cron: CronError | None = None) -> None:
        """Keep what is wrong."""
        super().__init__(f"{param}: {detail}")
        self.fault = fault
        self.param = param
        self.detail = detail
        self.cron = cron


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """When a schedule is due: at the moment `at`, or at each moment of the cron line `line` in the time zone `zone`.

    Only `parse_terms` builds it, so exactly one of `at` and `line` is None.
    """

    at: datetime | None
    line: CronLine | None
    zone: str

    @property
    def cron(self) -> str:
        """The text of the cron line, "" for a single moment."""
        return self.line.text if self.line is not None else ""

    def find_first(self, now: datetime) -> datetime | None:
        """Return the first moment after `now`; the single moment also if it is over. None if there is none within fifty years."""
        return self.at if self.at is not None else next(iter(self.list_moments(now)), None)

    def list_moments(self, after: datetime, limit: int = 3) -> list[datetime]:
        """Return at most `limit` moments that follow `after`, in UTC."""
        return list(islice(self._iterate_moments(after), limit))

    def _iterate_moments(self, after: datetime) -> Iterator[datetime]:
        if self.line is not None:
            yield from list_moments(self.line, ZoneInfo(self.zone), after)
        elif self.at is not None and self.at > after:
            yield self.at


def parse_terms(at: str | None, cron: str | None, zone: str) -> Terms:
    """Return the terms: `at` is a moment as ISO text with its offset from UTC, `cron` a cron line, `zone` the time zone of the line.

    Raises TermsError for everything that has not exactly one meaning.
    """
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
    """Raise TermsError if a single moment is over or lies too far ahead."""
    if terms.at is None:
        return
    if terms.at < now - PAST_MARGIN:
        raise TermsError("past", "at", "this moment is over")
    if terms.at > now + FARTHEST:
        raise TermsError("far", "at", "a moment within the next five years is needed")


@lru_cache(256)
def is_plain_zone(name: str) -> bool:
    """Return whether the name is that of a time zone, in its usual spelling."""
    return len(name) <= LONGEST_ZONE and name not in _NO_ZONES and not name.startswith(_COPIES) and is_zone(name)


def _parse_moment(text: str) -> datetime:
    wanted = "a moment with its offset from UTC is needed, such as 2026-12-01T09:00+03:00"
    if len(text) > LONGEST_MOMENT or not text.isascii():
        raise TermsError("moment", "at", wanted)
    try:
        found = datetime.fromisoformat(text.strip())
        if found.tzinfo is None:
            raise TermsError("naive", "at", f"without its offset it may mean several moments: {wanted}")
        return found.astimezone(UTC).replace(microsecond=0)
    except (ValueError, OverflowError) as error:
        raise error if isinstance(error, TermsError) else TermsError("moment", "at", wanted) from None


def describe_cron_error(error: CronError) -> str:
    """Return in English what is wrong with a cron line."""
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
