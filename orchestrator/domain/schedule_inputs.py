from collections.abc import Mapping
from typing import Final, Literal

from pydantic import Field

from orchestrator.domain.inputs import Click, Input, TimerDue
from state.stored import JsonObject

MOST: Final = 50
ScheduleOrderName = Literal["pause", "resume", "cancel"]


class ScheduleAdd(Input, kind="schedule_add"):
    schedule: str
    engine: str
    definition: str
    args: Mapping[str, JsonObject] = Field(default_factory=dict)
    """Stored `Value`s."""
    at: str | None = None
    cron: str | None = None
    zone: str = ""
    """Empty for that of the sender."""
    note: str = ""
    by: str = ""


class ScheduleOrder(Click, kind="schedule_order"):
    schedule: str
    order: ScheduleOrderName
    chat: str = ""


class ScheduleDue(TimerDue):
    schedule: str
    due: str


class SchedulesRestored(Input, kind="schedules_restored"):
    """A backup brought them back: paused, as they may have gone on since."""

    made_at: str
