"""When a cron line is due, and what becomes of missed moments.

A fixed time in a missing hour is due at the first minute after it, in a doubled hour once. A line whose minute or hour begins with a star
follows real time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim

from orchestrator.domain.cron_lines import CronLine

MOST_COUNTED: Final = 1000


@dataclass(frozen=True, slots=True)
class Firing:
    """One run for `due`; the `missed` moments after it get none. `following` is always after now."""

    due: datetime
    missed: int
    following: datetime | None


def list_moments(line: CronLine, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """In UTC, rising. The library may answer with a moment that is over; it is passed over."""
    latest = after.astimezone(UTC)
    for local in CronSim(line.text, latest.astimezone(zone)):
        moment = local.astimezone(UTC)
        if moment > latest:
            latest = moment
            yield moment


def find_next(line: CronLine, zone: ZoneInfo, after: datetime) -> datetime | None:
    """In UTC; None if there is none within fifty years."""
    return next(list_moments(line, zone, after), None)


def plan_firing(line: CronLine, zone: ZoneInfo, due: datetime, now: datetime) -> Firing | None:
    """One run however many moments were missed, for the awaited one: a plan made again after a crash names the same run.

    None if it is not due.
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
