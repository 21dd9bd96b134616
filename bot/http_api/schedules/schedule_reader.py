"""Schedules as the API presents them, read as far as each caller may see them."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from bot.http_api.approvals.card_models import ApiModel, Person
from bot.http_api.runs.run_models import MOST_ARGS, ArgName, Name, OwnerKey
from bot.http_api.server.endpoint_context import (
    LONGEST_SESSION,
    SESSION,
    CursorText,
    EndpointContext,
    Moment,
    build_translator,
    encode_cursor,
    parse_cursor,
)
from bot.http_api.server.errors import ApiError
from bot.http_api.server.tokens import Client
from orchestrator.domain.actor import Actor
from orchestrator.gate.call.run_schedules import LONGEST_NOTE
from orchestrator.language.schedule_terms import LONGEST_MOMENT, LONGEST_ZONE
from orchestrator.schedules.orders import may_control
from orchestrator.schedules.words import describe_when, list_moments
from state.clock import format_iso, parse_iso
from state.journal.run_index import PREFIX
from state.journal.schedule_index import FoundSchedule, collect_schedules, find_schedule

SCHEDULE_ID: Final = "0190aaaa-0000-7000-8000-0000000000aa"
LONGEST_LINE: Final = 200
Status = Literal["waiting", "paused"]


class ScheduleBody(BaseModel):
    """The body of a request to make a schedule: `at` for one moment, or `cron` for moments that come again."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"engine": "steps", "definition": "welcome", "cron": "0 9 * * 1-5", "zone": "Europe/Moscow"}]},
    )
    engine: Name = Field(description="The engine that executes it.", examples=["steps"])
    definition: Name = Field(description="The key of the definition to execute.", examples=["welcome"])
    args: dict[ArgName, JsonValue] = Field(
        default_factory=dict, max_length=MOST_ARGS, description="The values with which each run begins, by name.", examples=[{"deal": 481}]
    )
    at: str | None = Field(
        None, max_length=LONGEST_MOMENT, description="One moment, with its offset from UTC.", examples=["2026-12-01T09:00:00+03:00"]
    )
    cron: str | None = Field(
        None, max_length=LONGEST_LINE, description="Minute, hour, day of the month, month, day of the week.", examples=["0 9 * * 1-5"]
    )
    zone: str | None = Field(
        None, max_length=LONGEST_ZONE, description="The time zone of `cron`, by default that of the token.", examples=["Europe/Moscow"]
    )
    note: str = Field("", max_length=LONGEST_NOTE, description="A few words for the list.")
    home: Annotated[
        str | None,
        Field(
            pattern=f"^{SESSION.pattern}$",
            max_length=LONGEST_SESSION,
            description="The session in which its runs are shown: one of the token's own, by default http:{token}:runs.",
            examples=["http:site:42"],
        ),
    ] = None


class ScheduleQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")
    status: Status | None = Field(None, description="Only in this status.")
    engine: Name | None = Field(None, description="Only of this engine.", examples=["steps"])
    owner: OwnerKey | None = None
    cursor: CursorText | None = None
    limit: int = Field(20, ge=1, le=100)


class ScheduleAccepted(ApiModel):
    """The answer to a request to make a schedule: it is stored, and in force soon."""

    id: str = Field(description="For /schedules/{id}.", examples=[SCHEDULE_ID])
    home: str = Field(description="Where its messages come: GET /sessions/{home}/events.", examples=["http:site:runs"])
    next: Moment
    status: Literal["accepted"] = "accepted"


class Schedule(ApiModel):
    """One schedule that is not over."""

    id: str = Field(examples=[SCHEDULE_ID])
    engine: str = Field(examples=["steps"])
    definition: str = Field(examples=["welcome"])
    owner: Person = Field(description="The person or token with whose rights its runs work.")
    home: str = Field(description="The session in which its runs are shown.", examples=["http:site:runs"])
    status: Status
    why: str = Field("", description="Why it is paused: person, restored, owner_left, not_allowed, definition_gone, engine_gone, failed.")
    next: str = Field("", description="The moment that it waits for; empty while it is paused.", examples=["2026-11-23T06:00:00.000000Z"])
    then: Sequence[str] = Field((), description="The two moments after that.")
    cron: str = Field("", description="Empty if it is due once.", examples=["0 9 * * 1-5"])
    zone: str = Field("", examples=["Europe/Moscow"])
    when: str = Field(description="The same in words, in the token's language.", examples=["on weekdays at 9:00"])
    note: str = Field("", description="Empty where the token may not read what its runs say.")
    args: Mapping[str, JsonValue] = Field(default_factory=dict, description="Empty where the token may not read what its runs say.")
    started: int = Field(description="How many runs it has started.")
    last_run: str = Field("", description="The last of them: GET /runs/{id}.")
    last_run_at: str = ""
    missed: int = Field(description="How many of its moments got no run: the bot did not work, or something was in the way.")
    skipped: int = Field(description="How many of them in a row since the last run, because something was in the way.")
    skip_why: str = Field("", description="What: unfinished, definition_gone, engine_gone, failed.")
    created_at: Moment
    may_control: bool = Field(description="Whether this token may pause, resume and cancel it.")


class Schedules(ApiModel):
    """One page of the list, the schedule that is due next first; paused ones come last."""

    schedules: Sequence[Schedule]
    next: str | None = Field(description="Where the next page begins; null at the end.")


class ScheduleCancelled(ApiModel):
    """The answer to a request to cancel a schedule."""

    id: str = Field(examples=[SCHEDULE_ID])
    status: Literal["cancelled", "accepted"] = Field(description="accepted: stored, and not carried out yet.")


_KIND: Final = "d"
_PARTS: Final = 3
_FOLLOWING: Final = 2
_ID: Final = re.compile(r"[0-9a-f-]{8,64}", re.ASCII)


class ScheduleReader:
    """One instance per app; all methods raise StoreError."""

    def __init__(self, desk: EndpointContext) -> None:
        self._desk = desk

    async def find_schedule(self, client: Client, schedule: str) -> FoundSchedule:
        """Raises ApiError 404 if it does not exist, is over, or may not be seen."""
        found_schedule = await self._desk.store.read(find_schedule, schedule if _ID.fullmatch(schedule) else "-")
        if found_schedule is None or not self._desk.build_viewer(client).may_see_run(found_schedule.entry.owner):
            raise build_not_found()
        return found_schedule

    async def list_schedules(self, client: Client, query: ScheduleQuery) -> Schedules:
        """What the caller may see. Raises ApiError 400 for an invalid cursor."""
        place = parse_cursor(query.cursor, _KIND, _PARTS)
        viewer = self._desk.build_viewer(client)
        seen = await self._desk.store.read(collect_schedules, lambda owner, _home: viewer.may_see_run(owner))
        matches = [
            one
            for one in seen
            if (query.engine in {None, one.entry.engine})
            and (query.status in {None, one.entry.status})
            and (query.owner in {None, one.entry.owner})
            and (place is None or _to_place(one) > tuple(place))
        ]
        page = matches[: query.limit]
        rest = encode_cursor(_KIND, *_to_place(page[-1])) if len(matches) > len(page) else None
        return Schedules(schedules=[self.describe_schedule(client, one) for one in page], next=rest)

    def describe_schedule(self, client: Client, found_schedule: FoundSchedule) -> Schedule:
        entry, viewer = found_schedule.entry, self._desk.build_viewer(client)
        shows_words = viewer.may_see_run(entry.owner, with_words=True)
        now = self._desk.clock.now()
        known = viewer.deps.present(Actor(key=entry.owner, name=""))
        is_waiting = entry.status == "waiting"
        return Schedule(
            id=found_schedule.schedule,
            engine=entry.engine,
            definition=entry.definition,
            owner=Person(id=entry.owner, name=known.name if known is not None else ""),
            home=found_schedule.home,
            status=entry.status,
            why=entry.why,
            next=entry.due if is_waiting else "",
            then=[format_iso(moment) for moment in list_moments(entry, parse_iso(entry.due), _FOLLOWING)] if is_waiting else (),
            cron=entry.cron,
            zone=entry.zone,
            when=build_translator(client).translate_notice(describe_when(entry, client.reader, now)),
            note=entry.note if shows_words else "",
            args={name: arg.get("data") for name, arg in entry.args.items()} if shows_words else {},
            started=entry.started,
            last_run=entry.run.removeprefix(PREFIX),
            last_run_at=entry.fired_at,
            missed=entry.missed,
            skipped=entry.skipped,
            skip_why=entry.skip_why,
            created_at=entry.created_at,
            may_control=may_control(client.actor, entry.owner),
        )


def build_not_found() -> ApiError:
    """The same for a schedule that does not exist and for one that the caller may not see."""
    return ApiError(404, "schedule_not_found", "There is no such schedule, or it is over.")


def _to_place(found_schedule: FoundSchedule) -> tuple[str, str, str]:
    is_paused, due, schedule = found_schedule.sort_key
    return str(int(is_paused)), due, schedule
