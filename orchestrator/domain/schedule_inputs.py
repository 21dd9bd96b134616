"""The bodies of the inbox rows of schedules, one class for each kind of row. A schedule starts runs at moments that were set before.

The rows stand in the session in whose chat the schedule is shown.
"""

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import Field

from orchestrator.domain.inputs import Click, Input, TimerDue
from state.stored import JsonObject

MOST: Final = 50
"""How many schedules of one person or token may wait."""
ScheduleOrderName = Literal["pause", "resume", "cancel"]


class ScheduleAdd(Input, kind="schedule_add"):
    """The order to make a schedule for the sender of the input: at the moment `at`, or at each moment of a cron line."""

    schedule: str
    engine: str
    definition: str
    args: Mapping[str, JsonObject] = Field(default_factory=dict)
    """The values with which each run begins, each as a stored `Value`."""
    at: str | None = None
    cron: str | None = None
    zone: str = ""
    """The time zone of the cron line; "" for that of the sender."""
    note: str = ""
    by: str = ""
    """Who made it, if not the sender."""


class ScheduleOrder(Click, kind="schedule_order"):
    """A person's order to a schedule: "pause", "resume" or "cancel"."""

    schedule: str
    order: ScheduleOrderName
    chat: str = ""
    """The session in which the order was given, if that is another than the schedule's: it is answered there too."""


class ScheduleDue(TimerDue):
    """A due timer of a schedule; `due` is the moment for which it was set."""

    schedule: str
    due: str


class SchedulesRestored(Input, kind="schedules_restored"):
    """The news for a chat that a backup brought its schedules back: they are paused, because they may have gone on since."""

    made_at: str
