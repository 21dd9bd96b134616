"""Computes when a cron line is due in a person's time zone, and what to do about moments that were missed. Pure.

Where the clock is set forward, a line with a fixed time that falls into the missing hour is due at the first minute after it. Where the
clock is set back, such a line is due once, in the first of the two equal hours. A line whose minute or hour begins with a star follows the
time that really passes: it is due in both of the equal hours, and not in an hour that is missing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim

from orchestrator.domain.cron_lines import CronLine

MOST_COUNTED: Final = 1000
"""How many missed moments are counted; beyond it the number only says "at least so many"."""


@dataclass(frozen=True, slots=True)
class Firing:
    """What a schedule does now: one run for the moment `due`; the `missed` moments after it get no run of their own.

    `following` is the next moment, always after now; None if there is none.
    """

    due: datetime
    missed: int
    following: datetime | None


def list_moments(line: CronLine, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """Yield the moments of the line after `after`, in UTC, each later than the one before it.

    The library forgets in which of two equal hours it starts, and may then answer with a moment that is over; such moments are passed over.
    """
    latest = after.astimezone(UTC)
    for found in CronSim(line.text, latest.astimezone(zone)):
        moment = found.astimezone(UTC)
        if moment > latest:
            latest = moment
            yield moment


def find_next(line: CronLine, zone: ZoneInfo, after: datetime) -> datetime | None:
    """Return the first moment of the line after `after`, in UTC; None if there is none within fifty years."""
    return next(list_moments(line, zone, after), None)


def plan_firing(line: CronLine, zone: ZoneInfo, due: datetime, now: datetime) -> Firing | None:
    """Return what to do at `now` about a schedule that waits for the moment `due`; None if it is not due yet.

    However many moments were missed, there is one run. It belongs to the moment that the schedule waited for, not to the latest one missed:
    so a plan made again after a crash, when it is later, names the same run. A clock that was set back makes nothing due again, because the
    moment a schedule waits for is always later than those that had their run.
    """
    awaited = due.astimezone(UTC)
    if now < awaited:
        return None
    missed = 0
    for moment in list_moments(line, zone, awaited):
        if moment > now:
            return Firing(due=awaited, missed=missed, following=moment)
        if missed == MOST_COUNTED:
            return Firing(due=awaited, missed=missed, following=find_next(line, zone, now))
        missed += 1
    return Firing(due=awaited, missed=missed, following=None)
