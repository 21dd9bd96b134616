"""`/schedules`. A token sees its own; those of leads and administrators see more (`Viewer`)."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Path, Query, Response

from bot.http_api.schedules.schedule_inputs import ScheduleInputs
from bot.http_api.schedules.schedule_models import (
    SCHEDULE_ID,
    Schedule,
    ScheduleAccepted,
    ScheduleBody,
    ScheduleCancelled,
    ScheduleQuery,
    Schedules,
)
from bot.http_api.schedules.schedule_reader import ScheduleReader
from bot.http_api.server.callers import ClientOf, Guarded, name_operation
from bot.http_api.server.endpoint_context import EndpointContext
from bot.http_api.server.errors import describe_errors
from orchestrator.domain.run_inputs import ScheduleOrderName
from orchestrator.runs.registry import Engines

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
