"""Endpoints of runs of flows under `/api/flows` (S002-X3, X5): a second face of `/runs` under the same rights. A session is a run."""

from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Header, Path, Query, Response
from fastapi.responses import StreamingResponse

from bot.http_api.audit.session_events import StreamReader, build_invalid_cursor
from bot.http_api.definitions.error_answers import DefinitionRoute, to_editor
from bot.http_api.runs.router import RunId, StartKey, answer_stream
from bot.http_api.runs.run_inputs import RunInputs
from bot.http_api.runs.run_reader import RunReader
from bot.http_api.server.callers import ClientOf
from bot.http_api.server.endpoint_context import EndpointContext
from bot.http_api.server.errors import ApiError, describe_errors
from engines.flows.core.kind import FLOW
from engines.flows.http.launch import FlowStarter
from engines.flows.http.run_models import ControlBody, FlowRun, FlowSnapshot, LaunchBody, LaunchPreview, ParametersBody, PollQuery, Started
from engines.flows.http.run_reader import FlowRunReader
from orchestrator.definitions.rules import KEY_PATTERN
from orchestrator.definitions.service import DefinitionService
from orchestrator.runs.orders import Order
from orchestrator.runs.registry import Engines

_READ: Final = (400, 401, 404, 429, 500, 503)
_CHANGED: Final = (400, 401, 403, 404, 408, 409, 413, 415, 429, 500, 503)
_NO_NEWS: Final = 204
_ORDERS: Final[dict[str, Order]] = {"pause": "pause", "resume": "resume", "cancel": "cancel", "retryStep": "retry"}
_Wanted = Annotated[
    str,
    Path(pattern=KEY_PATTERN, description="The flowId, or the UUID of the version that is active.", examples=["offer"]),
]
_VersionId = Annotated[UUID, Path(description="The UUID of a version.", examples=["0190bbbb-0000-7000-8000-000000000001"])]
_LastId = Annotated[
    str | None, Header(alias="Last-Event-ID", pattern=r"^[0-9]{1,15}$", description="Where a stream goes on: the id of the last event.")
]


def build_flow_runs_router(desk: EndpointContext, streams: StreamReader, engines: Engines, definitions: DefinitionService) -> APIRouter:
    """Comes after the router of definitions, for `/api/flows/{session_id}` would take `/api/flows/definitions`."""
    router = APIRouter(prefix="/api/flows", tags=["flow runs"], route_class=DefinitionRoute)
    runs = RunReader(desk)
    inputs = RunInputs(desk, runs, engines)
    reader = FlowRunReader(desk, runs, streams)
    _add_launching(router, FlowStarter(desk, inputs, engines), definitions)
    _add_reading(router, reader)
    _add_control(router, reader, inputs)
    return router


def _add_launching(router: APIRouter, starter: FlowStarter, definitions: DefinitionService) -> None:
    @router.post(
        "/definitions/{version_id:uuid}/launch-preview",
        summary="What starting this version would mean, and at most cost",
        responses=describe_errors(*_CHANGED),
    )
    async def preview(client: ClientOf, version_id: _VersionId, body: LaunchBody | None = None) -> LaunchPreview:
        version = await definitions.find_by_id(to_editor(client), FLOW, str(version_id))
        return await starter.preview(client, version, body or LaunchBody())

    @router.post(
        "/{flow}/start",
        status_code=202,
        summary="Start a flow",
        responses={
            **describe_errors(*_CHANGED),
            422: {"model": ParametersBody, "description": "Launch parameters do not fit, or another request had the Idempotency-Key."},
        },
    )
    async def start(client: ClientOf, flow: _Wanted, response: Response, body: LaunchBody | None = None, key: StartKey = None) -> Started:
        started = await starter.start(client, flow, body or LaunchBody(), key)
        response.headers["Location"] = f"/api/flows/{started.session_id}"
        return started


def _add_reading(router: APIRouter, reader: FlowRunReader) -> None:
    @router.get(
        "/{session_id}",
        summary="Where a run stands and what is new in it, as soon as something is",
        response_model=FlowRun,
        responses={_NO_NEWS: {"description": "Nothing new in this time, or the run is over."}, **describe_errors(*_READ)},
    )
    async def poll(client: ClientOf, session_id: RunId, query: Annotated[PollQuery, Query()]) -> object:
        return await reader.poll(client, session_id, query) or Response(status_code=_NO_NEWS)

    @router.get("/{session_id}/snapshot", summary="The whole picture of a run", responses=describe_errors(*_READ))
    async def snapshot(client: ClientOf, session_id: RunId) -> FlowSnapshot:
        return await reader.take_snapshot(client, session_id)

    @router.get(
        "/{session_id}/events",
        summary="What happens in a run, as it happens",
        response_class=StreamingResponse,
        responses={
            200: {
                "description": "Each event with its eventId as id, until `end` when the run is over.",
                "content": {"text/event-stream": {}},
            },
            **describe_errors(*_READ),
        },
    )
    async def events(client: ClientOf, session_id: RunId, last: _LastId = None) -> StreamingResponse:
        opened, since = await reader.open(client, session_id), int(last or 0)
        if since > opened.history.happenings[-1].number:  # nothing would ever come after it
            raise build_invalid_cursor("Last-Event-ID")
        return answer_stream(reader.stream(client, opened, since))


def _add_control(router: APIRouter, reader: FlowRunReader, inputs: RunInputs) -> None:
    @router.post(
        "/{session_id}/control",
        summary="Pause, resume or cancel a run, or let it go on at what failed",
        responses={202: {"model": FlowRun, "description": "Stored, and not through yet."}, **describe_errors(*_CHANGED)},
    )
    async def control(client: ClientOf, session_id: RunId, body: ControlBody, response: Response) -> FlowRun:
        opened = await reader.open(client, session_id)
        if body.step_id and body.action != "retryStep":
            raise ApiError(400, "invalid_request", "stepId: only retryStep takes it.")
        if body.step_id and opened.history.find_status(body.step_id) != "FAILED":
            raise ApiError(409, "order_late", f"stepId: step {body.step_id} has not failed; retryStep is for a step that has.")
        _, worked = await inputs.submit_order(client, opened.found, _ORDERS[body.action])
        response.status_code = 200 if worked else 202
        return await reader.show(client, session_id)
