"""`/runs`. A token sees its own runs; those of leads and administrators see more (`Viewer`)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from bot.http_api.audit.session_events import (
    EventsQuery,
    ReadableStream,
    SessionEvents,
    StreamReader,
    build_invalid_cursor,
    format_place,
    parse_place,
)
from bot.http_api.chat.responses import BEAT_EVERY, HEARTBEAT, MEDIA_TYPE, STREAM_WITHIN, format_event
from bot.http_api.runs.run_inputs import RunInputs
from bot.http_api.runs.run_models import QUESTION, RUN_ID, AnswerBody, OpenCalls, Run, RunAccepted, RunBody, RunQuery, Runs
from bot.http_api.runs.run_reader import FoundRun, RunReader, build_not_found
from bot.http_api.server.callers import ClientOf, Guarded, name_operation
from bot.http_api.server.endpoint_context import CursorText, EndpointContext
from bot.http_api.server.errors import ApiError, describe_errors
from bot.http_api.server.tokens import Client
from orchestrator.runs.orders import Order
from orchestrator.runs.registry import Engines
from orchestrator.sessions.run_progress import RunProgress
from state.clock import read_boottime
from state.journal.store import StoreError

_LONGEST_KEY: Final = 255
_PAGE: Final = 100
_SHORTEST_LOOK: Final = 1.0
"""Seconds, for a stream that may not wait for events."""
Told = tuple[str, str | None, Mapping[str, object]]
"""A server-sent event: name, id (None for none), data."""
RunId = Annotated[str, Path(max_length=64, description="A run.", examples=[RUN_ID])]
_Question = Annotated[str, Path(max_length=64, description="A question of the run, as its `waits` name it.", examples=[QUESTION])]
StartKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=_LONGEST_KEY,
        pattern="^[!-~]+$",
        description="The same key with the same body gives the same run and never starts a second one.",
    ),
]
_ORDERS: Final[dict[Order, str]] = {
    "pause": "Stop a run until it is resumed; what was sent already is completed",
    "resume": "Let a paused run go on",
    "retry": "Run the failed nodes of a failed run again",
    "cancel": "End a run and withdraw its open confirmations and questions",
}
_CHANGED: Final = (400, 401, 403, 404, 408, 409, 413, 415, 429, 500, 503)


def build_runs_router(desk: EndpointContext, streams: StreamReader, engines: Engines) -> APIRouter:
    """`engines` are those whose runs may be started."""
    router = APIRouter(prefix="/runs", tags=["runs"], route_class=Guarded, generate_unique_id_function=name_operation)
    reader = RunReader(desk)
    inputs = RunInputs(desk, reader, engines)
    _add_lists(router, reader, inputs)
    _add_events(router, reader, streams, desk)
    for order, summary in _ORDERS.items():
        _add_order(router, order, summary, reader, inputs)

    @router.post("/{run_id}/answers/{question}", summary="Answer a question of a run", responses=_describe_changes())
    async def answer(client: ClientOf, run_id: RunId, question: _Question, body: AnswerBody, response: Response) -> Run:
        run, worked = await inputs.submit_answer(client, await reader.find_run(client, run_id), question, body)
        response.status_code = 200 if worked else 202
        return run

    return router


def _add_lists(router: APIRouter, reader: RunReader, inputs: RunInputs) -> None:
    @router.post("", status_code=202, summary="Start a run", responses=describe_errors(*_CHANGED, 422))
    async def start(client: ClientOf, body: RunBody, response: Response, key: StartKey = None) -> RunAccepted:
        accepted = await inputs.start_run(client, body, key)
        response.headers["Location"] = f"/runs/{accepted.id}"
        return accepted

    @router.get("", name="list", summary="Runs, the newest first", responses=describe_errors(400, 401, 429, 500, 503))
    async def list_them(client: ClientOf, query: Annotated[RunQuery, Query()]) -> Runs:
        return await reader.list_runs(client, query)

    @router.get(
        "/{run_id}", summary="One run: where it stands and what it waits for", responses=describe_errors(400, 401, 404, 429, 500, 503)
    )
    async def show(client: ClientOf, run_id: RunId) -> Run:
        return await reader.describe_run(client, await reader.find_run(client, run_id))

    @router.get(
        "/{run_id}/model-calls",
        name="model_calls",
        summary="Its calls of models that have no answer",
        responses=describe_errors(400, 401, 404, 429, 500, 503),
    )
    async def list_model_calls(client: ClientOf, run_id: RunId) -> OpenCalls:
        return await reader.list_open_calls(await reader.find_run(client, run_id))


def _add_order(router: APIRouter, order: Order, summary: str, reader: RunReader, inputs: RunInputs) -> None:
    @router.post(f"/{{run_id}}/{order}", name=order, summary=summary, responses=_describe_changes())
    async def ordered(client: ClientOf, run_id: RunId, response: Response) -> Run:
        run, worked = await inputs.submit_order(client, await reader.find_run(client, run_id), order)
        response.status_code = 200 if worked else 202
        return run


def _describe_changes() -> dict[int | str, dict[str, object]]:
    return {202: {"model": Run, "description": "Stored, and not through yet."}, **describe_errors(*_CHANGED)}


def _add_events(router: APIRouter, reader: RunReader, streams: StreamReader, desk: EndpointContext) -> None:
    @router.get(
        "/{run_id}/events",
        summary="What happened in a run",
        response_model=SessionEvents,
        responses={
            200: {
                "model": SessionEvents,
                "description": "One page; as `text/event-stream` each event as it comes, with its cursor as id, until the run has ended.",
                "content": {MEDIA_TYPE: {}},
            },
            **describe_errors(400, 401, 404, 429, 500, 503),
        },
    )
    async def events(
        client: ClientOf,
        request: Request,
        run_id: RunId,
        query: Annotated[EventsQuery, Query()],
        last: Annotated[CursorText | None, Header(alias="Last-Event-ID", description="Where a stream goes on; as `after`.")] = None,
    ) -> object:
        run = await reader.find_run(client, run_id)
        stream = build_run_stream(run, desk)
        if MEDIA_TYPE not in request.headers.get("accept", "").lower():
            events_query = query.model_copy(update={"wait": 0}) if run.run.is_over else query  # nothing more happens in it
            return (await streams.read_events(client, stream, events_query)).to_answer()
        seq = parse_place(query.after or last)
        if seq > run.seq:  # nothing would ever come after it
            raise build_invalid_cursor()
        progress = desk.orchestrator.tools.progress
        return answer_stream(_stream_events(client, run, stream, seq, reader, streams, _Watched(progress, run.key)))


def build_run_stream(found_run: FoundRun, desk: EndpointContext) -> ReadableStream:
    """For those who may know of the run."""
    owner = found_run.run.owner
    return ReadableStream(
        name=found_run.key,
        missing=build_not_found(),
        is_readable=lambda client: desk.build_viewer(client).may_see_run(owner),
        shows_words=lambda client: desk.build_viewer(client).may_see_run(owner, with_words=True),
    )


class _Watched:
    """What one client has seen of a run's picture."""

    def __init__(self, progress: RunProgress, key: str) -> None:
        self._progress, self._key = progress, key
        self._number = 0

    def has_news(self) -> bool:
        """The picture is other than what was taken last."""
        picture = self._progress.find(self._key)
        return picture is not None and picture.number != self._number

    def take(self) -> Told | None:
        """A change if the client has the picture before, else the whole; None if there is none any more."""
        picture = self._progress.find(self._key)
        if picture is None:
            return None
        is_change = picture.patch is not None and picture.after == self._number
        self._number = picture.number
        return "progress", None, {"patch": picture.patch} if is_change else {"snapshot": picture.snapshot}


async def stream_told(take: Callable[[float], Awaitable[tuple[Sequence[Told], bool]]], place: Callable[[], str]) -> AsyncIterator[bytes]:
    """`take` has the seconds it is given, and says when nothing follows. "error" with the id `place` ends it if reading fails."""
    until = read_boottime() + STREAM_WITHIN
    try:
        while (begun := read_boottime()) < until:
            news, is_over = await take(BEAT_EVERY)
            for name, identity, data in news:
                yield format_event(name, identity, data)
            if is_over:
                return
            if not news:
                yield HEARTBEAT
                if read_boottime() - begun < _SHORTEST_LOOK:  # it did not wait, because too many requests wait already
                    await asyncio.sleep(_SHORTEST_LOOK)
    except ApiError as error:
        yield format_event("error", place(), {"code": error.code, "message": error.message})
    except StoreError:
        yield format_event("error", place(), {"code": "unavailable", "message": "Nothing can be read now: come again with the id."})


def answer_stream(events: AsyncIterator[bytes]) -> StreamingResponse:
    return StreamingResponse(events, media_type=MEDIA_TYPE, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})


def _stream_events(
    client: Client, found_run: FoundRun, stream: ReadableStream, seq: int, reader: RunReader, streams: StreamReader, watched: _Watched
) -> AsyncIterator[bytes]:
    """After `seq`, and "end" once the run is over. The id is the cursor; "progress" without id is a `snapshot` or a `patch`."""
    is_first = True

    async def take(wait: float) -> tuple[Sequence[Told], bool]:
        nonlocal seq, is_first
        within = 0.0 if is_first and found_run.run.is_over else wait  # whoever comes back for the end of a run that is over gets it at once
        is_first = False
        page = await streams.wait_for_page(client, stream, seq, limit=_PAGE, wait=within, until=watched.has_news)
        events: list[Told] = [(event.type, format_place(at), event.model_dump(mode="json")) for at, event in page.events]
        if watched.has_news() and (progress := watched.take()) and streams.shows_words(client, stream):
            events.append(progress)
        now = await reader.find_run(client, found_run.run_id)
        seq = page.seq  # only now: whoever is cut off before comes again for these events
        is_over = now.run.is_over and now.seq <= seq
        if is_over:
            events.append(("end", format_place(seq), {"status": now.run.status}))
        return events, is_over

    return stream_told(take, lambda: format_place(seq))
