"""Endpoints of runs of flows under `/api/flows` (S002-X3, X5): a second face of `/runs` under the same rights. A session is a run."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Header, Path, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import ValidationError

from bot.http_api.audit.session_events import ReadableStream, StreamReader, build_invalid_cursor
from bot.http_api.definitions.request_body import DefinitionRoute, to_editor
from bot.http_api.runs.router import RunId, StartKey, Told, answer_stream, build_run_stream, stream_told
from bot.http_api.runs.run_inputs import RunInputs
from bot.http_api.runs.run_reader import FoundRun, RunReader, build_not_found, load_large_output
from bot.http_api.server.callers import ClientOf
from bot.http_api.server.endpoint_context import EndpointContext
from bot.http_api.server.errors import ApiError, describe_errors
from bot.http_api.server.tokens import Client
from engines.flows.core.definition import Flow, MemoryRead
from engines.flows.core.kind import FLOW
from engines.flows.core.memory import Channels
from engines.flows.http.launch import FlowStarter
from engines.flows.http.run_events import FlowHistory
from engines.flows.http.run_models import (
    ControlBody,
    FlowRun,
    FlowSnapshot,
    LaunchBody,
    LaunchPreview,
    MemoryChannel,
    MemoryVersion,
    ParametersBody,
    PollQuery,
    Reading,
    RunDefinition,
    Started,
    StepWhole,
)
from orchestrator.definitions.rules import KEY_PATTERN
from orchestrator.definitions.service import DefinitionService
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import RunFailed
from orchestrator.engines.shared.launch import CONTEXT, PARAMETERS
from orchestrator.runs.definitions import load_definition
from orchestrator.runs.memo import PAGE, read_args
from orchestrator.runs.orders import Order
from orchestrator.runs.registry import Engines
from state.clock import parse_iso
from state.events.runs import RunStarted
from state.journal import definitions

MOST_KEPT: Final = 1000


@dataclass(frozen=True, kw_only=True)
class OpenRun:
    """A run that a caller may see, with its history so far; `flow` is None if its text is gone."""

    found: FoundRun
    stream: ReadableStream
    flow: Flow | None
    document: object
    history: FlowHistory

    @property
    def id(self) -> str:
        return self.found.run_id


class FlowRunReader:
    def __init__(self, desk: EndpointContext, reader: RunReader, streams: StreamReader) -> None:
        self._desk, self._reader, self._streams = desk, reader, streams

    async def open(self, client: Client, session_id: str) -> OpenRun:
        """Raises ApiError 404 if the run is no flow's, or the caller may not see it."""
        run = await self._reader.find_run(client, session_id)
        if run.run.engine != FLOW:
            raise build_not_found()
        [first] = await self._desk.store.read_events(run.key, limit=1)
        document, flow = await self._load_flow(RunStarted.from_data(first.data))
        stream = build_run_stream(run, self._desk)
        opened = OpenRun(found=run, stream=stream, flow=flow, document=document, history=FlowHistory(flow))
        await self._catch_up(opened)
        return opened

    async def _load_flow(self, started: RunStarted) -> tuple[object, Flow | None]:
        try:
            document = (await load_definition(started, self._desk.orchestrator.tools)).document
            return document, Flow.model_validate(document)
        except (RunFailed, ValidationError):
            return None, None

    async def _catch_up(self, opened: OpenRun) -> None:
        head, _ = await self._desk.store.read_head(opened.found.key)
        while opened.history.seq < head and (page := await self._desk.store.read_events(opened.found.key, opened.history.seq, PAGE)):
            for event in page:
                opened.history.add(await load_large_output(event, self._desk.store))

    def build_reading(self, client: Client, opened: OpenRun) -> Reading:
        budget = self._desk.orchestrator.tools.gate.deps.policies.now().budget
        return Reading(budget, shows_words=self._streams.shows_words(client, opened.stream))

    async def poll(self, client: Client, session_id: str, query: PollQuery) -> FlowRun | None:
        """Wait for what the caller has not seen; None if that takes too long.

        Raises ApiError 400 for an event or a state that the run has not reached.
        """
        opened = await self.open(client, session_id)
        history = opened.history
        if (query.since_event_id or 0) > history.happenings[-1].number:
            raise build_invalid_cursor("sinceEventId")
        if (query.state_version or 0) > history.seq:
            raise build_invalid_cursor("stateVersion")

        async def look(_present: Client) -> bool | None:
            await self._catch_up(opened)
            return True if _has_news(history, query) else None

        if not await self._streams.wait_for(client, opened.stream, look, 0 if history.is_over else query.timeout):
            return None
        return self._describe(client, opened, query.since_event_id or 0)

    def _describe(self, client: Client, opened: OpenRun, since: int) -> FlowRun:
        reading, history = self.build_reading(client, opened), opened.history
        return FlowRun(
            **dict(reading.describe_line(opened.id, history)),
            steps=reading.list_steps(opened.flow, history),
            events=[reading.to_event(happening) for happening in history.happenings if happening.number > since],
        )

    async def show(self, client: Client, session_id: str) -> FlowRun:
        opened = await self.open(client, session_id)
        return self._describe(client, opened, opened.history.happenings[-1].number)

    async def take_snapshot(self, client: Client, session_id: str) -> FlowSnapshot:
        opened = await self.open(client, session_id)
        reading, history = self.build_reading(client, opened), opened.history
        started = history.started
        arguments = read_args(started) if started is not None and reading.shows_words else {}
        return FlowSnapshot(
            **dict(reading.describe_line(opened.id, history)),
            definition=await self._describe_definition(opened, reading),
            parameters=arguments[PARAMETERS].data if PARAMETERS in arguments else None,
            shared_context=arguments[CONTEXT].data if CONTEXT in arguments else None,
            steps=[
                StepWhole(
                    **dict(step),
                    executions=[reading.to_execution(execution) for execution in history.executions if execution.step == step.id],
                )
                for step in reading.list_steps(opened.flow, history)
            ],
            channels=_list_channels(opened.flow, history, self._desk.clock.now()) if reading.shows_words else (),
            usage=reading.sum_usage(history.executions),
        )

    async def _describe_definition(self, opened: OpenRun, reading: Reading) -> RunDefinition:
        """With the UUID if the store still has this version as it was."""
        run = opened.found.run
        stored = await self._desk.store.read(definitions.find_version, FLOW, run.definition, run.version)
        return RunDefinition(
            id=stored.id if stored is not None and stored.digest == run.digest else "",
            flow_id=run.definition,
            version=run.version,
            digest=run.digest,
            document=opened.document if reading.shows_words else None,
        )

    def stream(self, client: Client, opened: OpenRun, since: int) -> AsyncIterator[bytes]:
        """Yield server-sent events with their eventId as id, and "end" once the run is over."""
        history = opened.history

        async def look(_present: Client) -> bool | None:
            await self._catch_up(opened)
            return True if history.happenings[-1].number > since or history.is_over else None

        async def take(wait: float) -> tuple[Sequence[Told], bool]:
            nonlocal since
            await self._streams.wait_for(client, opened.stream, look, wait)
            reading, news = self.build_reading(client, opened), [one for one in history.happenings if one.number > since]
            messages: list[Told] = [
                (one.type, str(one.number), reading.to_event(one).model_dump(mode="json", by_alias=True)) for one in news
            ]
            since = news[-1].number if news else since
            return [*messages, *([("end", str(since), {"status": history.status})] if history.is_over else [])], history.is_over

        return stream_told(take, lambda: str(since))


def _has_news(history: FlowHistory, query: PollQuery) -> bool:
    """For a caller that names nothing all is new."""
    seen_events, seen_state = query.since_event_id, query.state_version
    if seen_events is None and seen_state is None:
        return True
    has_events = seen_events is not None and history.happenings[-1].number > seen_events
    return has_events or (seen_state is not None and history.version > seen_state)


def _list_channels(flow: Flow | None, history: FlowHistory, now: datetime) -> list[MemoryChannel]:
    """What completed executions wrote, as it stands now or at the end of the run."""
    if flow is None:
        return []
    channels, steps = Channels(flow), {step.id: step for step in flow.steps}
    counts: Counter[str] = Counter()
    done = [execution for execution in history.executions if execution.status == "COMPLETED" and execution.output is not None]
    for one in sorted((execution for execution in done if execution.key not in history.left_behind), key=lambda one: one.ended_at):
        channels.append(steps[one.step], Value(one.output), parse_iso(one.ended_at))
        counts.update(write.channel for write in steps[one.step].memory_writes if write.mode != "STATIC" or write.payload is not None)
    reads = [MemoryRead(channel=channel, limit=MOST_KEPT) for channel in counts]
    channel_values = channels.read(reads, channels.count_too_old(reads, parse_iso(history.ended_at) if history.is_over else now))
    return [
        MemoryChannel(id=name, versions=[MemoryVersion(version=counts[name] - place, data=data) for place, data in enumerate(entries.data)])
        for name, entries in channel_values
    ]


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
