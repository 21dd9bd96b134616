"""The HTTP interface of the demo model: chat completions, embeddings, transcription, the list of models, and test controls under /sandbox.

It asks for no API key.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, Literal

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse

from sandbox.model import wire
from sandbox.model.desk import Desk, Made
from sandbox.model.faults import NO_ANSWER, Fault
from sandbox.model.hearing import hearing_routes
from sandbox.model.script import ScriptBody

ABORT = "sandbox.abort"
"""The key in the ASGI scope of the server's function to cut the connection."""


def create_app(*, pace: float = 0.0, now: Callable[[], float] = time.time) -> FastAPI:
    """Build the model server as an ASGI application.

    `pace` is the pause in seconds between the chunks of a streamed answer. `now` returns the Unix time for timestamps.
    """
    desk = Desk(now)
    app = FastAPI(title="Демо-модель: правила вместо ИИ", docs_url=None, redoc_url=None)
    app.add_exception_handler(RequestValidationError, _malformed)
    for prefix in ("/v1", ""):
        app.include_router(_model_routes(desk, pace), prefix=prefix)
        app.include_router(hearing_routes(desk.faults, _failed), prefix=prefix)
    app.include_router(_control_routes(desk), prefix="/sandbox")
    return app


async def _malformed(_request: Request, error: Exception) -> Response:
    found = error.errors() if isinstance(error, RequestValidationError) else []
    where = ", ".join(".".join(str(part) for part in item["loc"]) for item in found)
    return JSONResponse(wire.error(f"Cannot read the request: {where}", "invalid_request_error"), 400)


def _model_routes(desk: Desk, pace: float) -> APIRouter:
    router = APIRouter()

    @router.post("/chat/completions")
    async def chat(body: wire.ChatBody, request: Request) -> Response:
        fault, trace = desk.faults.next("chat"), request.headers.get("x-trace-id")
        if fault and fault.kind in NO_ANSWER:
            desk.note(body.messages, answer=None, rule="fault", fault=fault, stream=body.stream, trace=trace)
            return await _failed(fault, request)
        made = desk.answer(body, fault, trace)
        if body.stream:
            return StreamingResponse(_streamed(made, body, request, pace=pace), media_type="text/event-stream")
        if fault and fault.kind == "drop_mid_stream":
            return StreamingResponse(_half(made, request), media_type="application/json")
        return JSONResponse(wire.whole(made.completion))

    @router.post("/embeddings")
    async def embed(body: wire.EmbeddingBody, request: Request) -> Response:
        fault = desk.faults.next("embeddings")
        return await _failed(fault, request) if fault else JSONResponse(wire.embeddings(body))

    @router.get("/models")
    async def models() -> dict[str, Any]:
        return wire.models()

    return router


def _control_routes(desk: Desk) -> APIRouter:
    router = APIRouter()

    @router.get("/health")
    async def health() -> dict[str, Any]:
        return {
            "ok": True,
            "model": wire.MODEL,
            "note": "демо-модель: правила вместо ИИ",
            "scripted": len(desk.script),
            "faults": desk.faults.waiting,
        }

    @router.post("/script")
    async def script(body: ScriptBody) -> dict[str, int]:
        return {"queued": desk.script.add(body)}

    @router.delete("/script")
    async def clear_script() -> dict[str, int]:
        desk.script.clear()
        return {"queued": 0}

    @router.post("/faults")
    async def faults(body: Fault) -> dict[str, int]:
        return {"waiting": desk.faults.add(body)}

    @router.delete("/faults")
    async def clear_faults() -> dict[str, int]:
        desk.faults.clear()
        return {"waiting": 0}

    @router.get("/requests")
    async def requests(after: int = 0) -> dict[str, Any]:
        return desk.requests(after)

    return router


async def _failed(fault: Fault, request: Request) -> Response:
    """Return the response for a fault that gives no usable answer.

    A fault of the kind "stall" first waits; one of the kind "drop" cuts the connection instead of answering.
    """
    match fault.kind:
        case "429":
            headers = {"Retry-After": f"{fault.retry_after:g}"} if fault.retry_after is not None else {}
            return JSONResponse(wire.error("Rate limit reached", "rate_limit_error", "rate_limit_exceeded"), 429, headers=headers)
        case "garbage":
            return PlainTextResponse("<html><body>502 Bad Gateway</body></html>", media_type="application/json")
        case "stall":
            await _stall(fault.seconds, request)
        case "drop":
            await _cut(request)
        case _:
            pass
    return JSONResponse(wire.error("The server had an error", "server_error"), 500)


async def _stall(seconds: float, request: Request) -> None:
    """Send nothing for `seconds`, or until the client has disconnected."""
    try:
        async with asyncio.timeout(seconds):
            while (await request.receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        return


async def _cut(request: Request) -> None:
    """Cut the TCP connection. Raises ConnectionAbortedError if the application runs without a server."""
    abort = request.scope.get(ABORT)
    if abort is None:
        msg = "the connection was dropped on request"
        raise ConnectionAbortedError(msg)
    abort()
    await asyncio.sleep(0)


async def _streamed(made: Made, body: wire.ChatBody, request: Request, *, pace: float) -> AsyncIterator[str]:
    events = list(wire.chunks(made.completion, body.stream_options))
    cut: Literal["drop_mid_stream"] | None = "drop_mid_stream" if made.fault and made.fault.kind == "drop_mid_stream" else None
    for event in events[: len(events) // 2] if cut else events:
        yield event
        if pace > 0:
            await asyncio.sleep(pace)
    if cut:
        await _cut(request)


async def _half(made: Made, request: Request) -> AsyncIterator[bytes]:
    """Yield half of a complete answer, then cut the connection."""
    body = JSONResponse(wire.whole(made.completion)).body
    yield bytes(body[: len(body) // 2])
    await _cut(request)
