"""The lists of which a person's day consists: what is asked of the portal, and which of its rows are shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Final, Literal

from bitrix.client.batch import Command
from orchestrator.language.date_format import to_bitrix_date, to_bitrix_datetime
from orchestrator.language.time_zones import parse_moment
from state.stored import JsonObject

IDLE: Final = timedelta(days=7)
AHEAD: Final = timedelta(days=7)
MEETINGS: Final = "today-meetings"
NEXT_STEP: Final = "today-no-next-step"
COUNTED: Final[Mapping[str, str]] = {
    "today-overdue-deals": "overdue",
    "today-overdue": "overdue",
    "today-tasks": "due",
    "today-closing": "closing",
    "today-idle": "idle",
}
"""Lists that are counted for a team → field of TeamLine."""
Entity = Literal["task", "deal", "activity", "event"]
_DONE: Final = 5
_MEETING, _CALL = 1, 2
_METHODS: Final[Mapping[Entity, str]] = {
    "task": "tasks.task.list",
    "deal": "crm.deal.list",
    "activity": "crm.activity.list",
    "event": "calendar.event.get",
}
_OWNER: Final[Mapping[Entity, str]] = {"task": "RESPONSIBLE_ID", "deal": "ASSIGNED_BY_ID", "activity": "RESPONSIBLE_ID", "event": "ownerId"}
_SELECT: Final[Mapping[Entity, Sequence[str]]] = {
    "task": ("ID", "TITLE", "STATUS", "DEADLINE"),
    "deal": ("ID", "TITLE", "OPPORTUNITY", "CURRENCY_ID", "STAGE_ID", "CATEGORY_ID", "CLOSEDATE", "DATE_MODIFY"),
    "activity": ("ID", "SUBJECT", "OWNER_ID", "OWNER_TYPE_ID", "DEADLINE", "START_TIME"),
}


@dataclass(frozen=True, kw_only=True)
class DayList:
    """`date` is the field by which it is sorted and whose day is shown, "" for none."""

    code: str
    entity: Entity
    date: str
    filter: JsonObject = field(default_factory=dict)

    @property
    def method(self) -> str:
        return _METHODS[self.entity]

    @property
    def owner(self) -> str:
        return _OWNER[self.entity]

    def build_command(self, key: str, owner: int | Sequence[int], *, select: Sequence[str] = ()) -> Command:
        if self.entity == "event":
            return Command(key=key, method=self.method, params={"type": "user", "ownerId": owner, **self.filter})
        conditions = {_OWNER[self.entity]: owner, **self.filter}
        order = {self.date: "ASC", "ID": "ASC"} if self.date else {"ID": "ASC"}
        return Command(
            key=key, method=self.method, params={"filter": conditions, "select": list(select or _SELECT[self.entity]), "order": order}
        )


def build_day_lists(here: datetime) -> tuple[DayList, ...]:
    """In the order in which they are shown; `here` is the moment in the person's zone. Two lists of one code are one."""
    day = here.date()
    midnight = datetime.combine(day, time.min, here.tzinfo)
    tomorrow = midnight + timedelta(days=1)
    idle = to_bitrix_datetime(here - IDLE)
    planned = {"COMPLETED": "N", "<DEADLINE": to_bitrix_datetime(tomorrow)}
    open_task = {"<REAL_STATUS": _DONE}
    open_deal = {"CLOSED": "N"}
    closing = {**open_deal, ">=CLOSEDATE": to_bitrix_date(day), "<=CLOSEDATE": to_bitrix_date(day + AHEAD)}
    later_today = {**open_task, ">=DEADLINE": to_bitrix_datetime(here), "<DEADLINE": to_bitrix_datetime(tomorrow)}
    # deals past their closing date are in a list of their own
    silent = {**open_deal, "<DATE_MODIFY": idle, "<LAST_ACTIVITY_TIME": idle, ">=CLOSEDATE": to_bitrix_date(day)}
    # the portal reads its calendar by whole days of its own zone: a day around, and the rows are chosen here
    around = {"from": to_bitrix_date(day - timedelta(days=1)), "to": to_bitrix_date(day + timedelta(days=1))}
    meeting = {**planned, "TYPE_ID": _MEETING, ">=DEADLINE": to_bitrix_datetime(midnight)}
    return (
        DayList(code=MEETINGS, entity="event", date="", filter=around),
        DayList(code=MEETINGS, entity="activity", date="DEADLINE", filter=meeting),
        DayList(code="today-calls", entity="activity", date="DEADLINE", filter={**planned, "TYPE_ID": _CALL}),
        DayList(code="today-todos", entity="activity", date="DEADLINE", filter={**planned, "PROVIDER_ID": "CRM_TODO"}),
        DayList(code="today-overdue-deals", entity="deal", filter={**open_deal, "<CLOSEDATE": to_bitrix_date(day)}, date="CLOSEDATE"),
        DayList(code="today-overdue", entity="task", filter={**open_task, "<DEADLINE": to_bitrix_datetime(here)}, date="DEADLINE"),
        DayList(code="today-tasks", entity="task", filter=later_today, date="DEADLINE"),
        DayList(code="today-closing", entity="deal", filter=closing, date="CLOSEDATE"),
        DayList(code=NEXT_STEP, entity="deal", filter=open_deal, date=""),
        DayList(code="today-idle", entity="deal", filter=silent, date="DATE_MODIFY"),
    )


@dataclass(frozen=True, kw_only=True)
class EventTime:
    """In the person's zone. One without an hour takes the whole day."""

    start: datetime
    end: datetime
    has_hour: bool


def choose_events(rows: Sequence[JsonObject], here: datetime, portal_zone: str) -> list[tuple[JsonObject, EventTime]]:
    """Those that touch the day of `here` and were not declined, the earliest first."""
    midnight = datetime.combine(here.date(), time.min, here.tzinfo)
    tomorrow = midnight + timedelta(days=1)
    times = [(row, _read_time(row, here, portal_zone)) for row in rows if row.get("DELETED") != "Y" and row.get("MEETING_STATUS") != "N"]
    today = [(row, at) for row, at in times if at is not None and at.start < tomorrow and (at.end > midnight or at.start >= midnight)]
    return sorted(today, key=lambda event: (event[1].has_hour, event[1].start))


def _read_time(row: JsonObject, here: datetime, portal_zone: str) -> EventTime | None:
    """A day without hours is one of the calendar, whatever the zone."""
    has_hour = str(row.get("DT_SKIP_TIME") or "N") != "Y"
    start = _read_moment(row, "FROM", portal_zone, has_hour=has_hour)
    end = _read_moment(row, "TO", portal_zone, has_hour=has_hour) or start
    if start is None or end is None:
        return None
    if has_hour:
        return EventTime(start=start.astimezone(here.tzinfo), end=end.astimezone(here.tzinfo), has_hour=True)
    begins, ends = (datetime.combine(moment.date(), at, here.tzinfo) for moment, at in ((start, time.min), (end, time.max)))
    return EventTime(start=begins, end=ends, has_hour=False)


def _read_moment(row: JsonObject, side: str, portal_zone: str, *, has_hour: bool) -> datetime | None:
    """The text is written as the portal's settings say, so that the number counts first where there is an hour."""
    seconds = str(row.get(f"DATE_{side}_TS_UTC") or "")
    text = parse_moment(str(row.get(f"DATE_{side}") or ""), zone=portal_zone)
    if seconds.isascii() and seconds.isdecimal() and (has_hour or text is None):
        return datetime.fromtimestamp(int(seconds), UTC)
    return text
