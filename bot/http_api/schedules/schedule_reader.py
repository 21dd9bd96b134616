"""Reads schedules as far as each caller may see them."""

import re
from typing import Final

from bot.http_api.approvals.card_models import Person
from bot.http_api.schedules.schedule_models import Schedule, ScheduleQuery, Schedules
from bot.http_api.server.endpoint_context import EndpointContext, build_translator, encode_cursor, parse_cursor
from bot.http_api.server.errors import ApiError
from bot.http_api.server.tokens import Client
from orchestrator.domain.actor import Actor
from orchestrator.schedules.orders import may_control
from orchestrator.schedules.words import describe_when, list_moments
from state.clock import format_iso, parse_iso
from state.journal.run_index import PREFIX
from state.journal.schedule_index import FoundSchedule, collect_schedules, find_schedule

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
            when=build_translator(client).translate_notice(describe_when(entry, client.actor, now)),
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
