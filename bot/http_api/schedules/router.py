"""`/schedules`. A token sees its own; those of leads and administrators see more (`Viewer`).

New schedules and orders are checked as far as can be told at once, then stored for the schedules' own code.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Path, Query, Response

from bot.http_api.runs.run_inputs import check_home, check_start
from bot.http_api.schedules.schedule_reader import (
    SCHEDULE_ID,
    Schedule,
    ScheduleAccepted,
    ScheduleBody,
    ScheduleCancelled,
    ScheduleQuery,
    ScheduleReader,
    Schedules,
    build_not_found,
)
from bot.http_api.server.callers import ClientOf, Guarded, name_operation
from bot.http_api.server.endpoint_context import EndpointContext, Submitted
from bot.http_api.server.errors import ApiError, describe_errors
from bot.http_api.server.tokens import Client
from orchestrator.domain.address import Address, find_own_chat
from orchestrator.domain.run_inputs import MOST, ScheduleAdd, ScheduleOrder, ScheduleOrderName
from orchestrator.language.schedule_terms import Terms, TermsError, check_moment, parse_terms
from orchestrator.runs.registry import Engines
from orchestrator.schedules.orders import FITTING, may_control
from state.canonical import dumps, hash_text, to_storable, to_storable_text
from state.clock import format_iso, generate_id
from state.events.schedules import ScheduleAdded, ScheduleEnded, SchedulePaused, ScheduleResumed
from state.journal.schedule_index import FoundSchedule, count_schedules

_EVENTS: Final[Mapping[ScheduleOrderName, str]] = {
    "pause": SchedulePaused.__name__,
    "resume": ScheduleResumed.__name__,
    "cancel": ScheduleEnded.__name__,
}


class ScheduleInputs:
    """One instance per app. All methods raise ApiError and StoreError."""

    def __init__(self, desk: EndpointContext, reader: ScheduleReader, engines: Engines) -> None:
        self._desk, self._reader, self._engines = desk, reader, engines

    async def add_schedule(self, client: Client, body: ScheduleBody, key: str | None) -> ScheduleAccepted:
        """The same Idempotency-Key `key` gives the same schedule."""
        fresh = generate_id()
        source = f"{client.actor.key}:schedule:{hash_text(key)}" if key is not None else f"schedule:{fresh}"
        is_known = key is not None and await self._desk.store.find_inbox(source) is not None
        terms = self._read_terms(client, body, is_known=is_known)
        await check_start(self._engines, client, body.engine, body.definition, arg_names=body.args)
        home = body.home or find_own_chat(client.actor.key)
        await check_home(self._desk, client, home)
        if not (self._desk.build_viewer(client).is_own(home) or Address.parse(home).is_group):
            raise ApiError(403, "not_your_session", "home: what starts on schedule is shown in a session of the token, or in a group.")
        args = {name: {"data": to_storable(value), "origins": sorted(client.value_origins)} for name, value in body.args.items()}
        addition = ScheduleAdd(
            schedule=fresh,
            engine=body.engine,
            definition=body.definition,
            args=args,
            at=body.at,
            cron=body.cron,
            zone=terms.zone if body.zone or client.helper is None else "",  # the bot knows the zone of a person better
            note=" ".join(to_storable_text(body.note).split()),
            by=client.helper.key if client.helper is not None else "",
        )
        same = {**addition.to_json(), "schedule": ""}
        row = self._desk.build_row(client, home, addition, source=source, request=hash_text(dumps([home, same])))
        if not is_known and await self._desk.store.read(count_schedules, client.actor.key) >= MOST:
            raise ApiError(409, "too_many_schedules", f"This token has {MOST} schedules already, which is the most; cancel some.")
        submitted = await self._desk.submit(
            row, lambda event, stored: event.type == ScheduleAdded.__name__ and event.data["schedule"] == stored.body["schedule"]
        )
        if submitted.status == "refused":
            raise ApiError(409, "schedule_refused", f"It was refused; GET /sessions/{home}/events says why.")
        first = terms.find_first(self._desk.clock.now())
        schedule = str(submitted.row.body["schedule"])
        return ScheduleAccepted(id=schedule, home=submitted.row.session, next=format_iso(first) if first is not None else "")

    def _read_terms(self, client: Client, body: ScheduleBody, *, is_known: bool) -> Terms:
        """Raises ApiError 400. A request that `is_known` was accepted before: its moment may be over."""
        try:
            terms = parse_terms(body.at, body.cron, body.zone or client.actor.time_zone)
            if not is_known:
                check_moment(terms, self._desk.clock.now())
        except TermsError as error:
            raise ApiError(400, "invalid_schedule", f"{error.param}: {error.detail}.") from None
        return terms

    async def submit_order(self, client: Client, schedule: str, order: ScheduleOrderName) -> tuple[Schedule, bool]:
        """As it is then, and whether the order was already worked."""
        found_schedule = await self._reader.find_schedule(client, schedule)
        submitted = await self._submit(client, found_schedule, order)
        now = await self._reader.find_schedule(client, schedule)
        if submitted.status == "refused":
            raise ApiError(409, "order_refused", f"It was refused; the events of {found_schedule.home} say why.")
        return self._reader.describe_schedule(client, now), submitted.status == "done"

    async def cancel_schedule(self, client: Client, schedule: str) -> tuple[ScheduleCancelled, bool]:
        """And True if it was already carried out, not only stored."""
        found_schedule = await self._reader.find_schedule(client, schedule)
        submitted = await self._submit(client, found_schedule, "cancel")
        if submitted.status == "refused":
            raise build_not_found()  # somebody else was first
        is_done = submitted.status == "done"
        return ScheduleCancelled(id=schedule, status="cancelled" if is_done else "accepted"), is_done

    async def _submit(self, client: Client, found_schedule: FoundSchedule, order: ScheduleOrderName) -> Submitted:
        if not may_control(client.actor, found_schedule.entry.owner):
            complaint = f"Only the owner of a schedule, leads and administrators may {order} it; use a token of one of them."
            raise ApiError(403, "not_your_schedule", complaint)
        if found_schedule.entry.status not in FITTING[order]:
            fitting = " or ".join(sorted(FITTING[order]))
            complaint = f"The schedule is {found_schedule.entry.status}; {order} is for a schedule that is {fitting}."
            raise ApiError(409, "order_late", complaint)
        row = self._desk.build_row(client, found_schedule.home, ScheduleOrder(schedule=found_schedule.schedule, order=order))
        return await self._desk.submit(
            row, lambda event, _: event.type == _EVENTS[order] and event.data["schedule"] == found_schedule.schedule
        )


_LONGEST_KEY: Final = 255
_ScheduleId = Annotated[str, Path(max_length=64, description="A schedule.", examples=[SCHEDULE_ID])]
_Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=_LONGEST_KEY,
        pattern="^[!-~]+$",
        description="The same key with the same body gives the same schedule and never makes a second one.",
    ),
]
_READ: Final = (400, 401, 404, 429, 500, 503)
_CHANGED: Final = (400, 401, 403, 404, 408, 409, 413, 415, 429, 500, 503)
_Responses = dict[int | str, dict[str, Any]]
_ORDERS: Final[dict[ScheduleOrderName, str]] = {
    "pause": "Let a schedule start nothing until it is resumed",
    "resume": "Let a paused schedule go on with its next moment",
}


def build_schedules_router(desk: EndpointContext, engines: Engines) -> APIRouter:
    router = APIRouter(prefix="/schedules", tags=["schedules"], route_class=Guarded, generate_unique_id_function=name_operation)
    reader = ScheduleReader(desk)
    inputs = ScheduleInputs(desk, reader, engines)

    @router.post("", status_code=202, summary="Make a schedule", responses=describe_errors(*_CHANGED, 422))
    async def add(client: ClientOf, body: ScheduleBody, response: Response, key: _Key = None) -> ScheduleAccepted:
        accepted = await inputs.add_schedule(client, body, key)
        response.headers["Location"] = f"/schedules/{accepted.id}"
        return accepted

    @router.get("", name="list", summary="Schedules, the one that is due next first", responses=describe_errors(400, 401, 429, 500, 503))
    async def list_them(client: ClientOf, query: Annotated[ScheduleQuery, Query()]) -> Schedules:
        return await reader.list_schedules(client, query)

    @router.get("/{schedule}", summary="One schedule", responses=describe_errors(*_READ))
    async def show(client: ClientOf, schedule: _ScheduleId) -> Schedule:
        return reader.describe_schedule(client, await reader.find_schedule(client, schedule))

    accepted: _Responses = {202: {"model": ScheduleCancelled, "description": "Stored, and not through yet."}}

    @router.delete("/{schedule}", summary="End a schedule", responses={**accepted, **describe_errors(*_CHANGED)})
    async def cancel(client: ClientOf, schedule: _ScheduleId, response: Response) -> ScheduleCancelled:
        cancelled, worked = await inputs.cancel_schedule(client, schedule)
        response.status_code = 200 if worked else 202
        return cancelled

    for order, summary in _ORDERS.items():
        _add_order(router, order, summary, inputs)
    return router


def _add_order(router: APIRouter, order: ScheduleOrderName, summary: str, inputs: ScheduleInputs) -> None:
    accepted: _Responses = {202: {"model": Schedule, "description": "Stored, and not through yet."}}

    @router.post(f"/{{schedule}}/{order}", name=order, summary=summary, responses={**accepted, **describe_errors(*_CHANGED)})
    async def ordered(client: ClientOf, schedule: _ScheduleId, response: Response) -> Schedule:
        changed, worked = await inputs.submit_order(client, schedule, order)
        response.status_code = 200 if worked else 202
        return changed
