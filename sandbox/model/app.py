"""The HTTP interface of the demo model: chat completions, embeddings, transcription, the list of models, and test controls under /sandbox.

At the addresses of OpenAI it asks for no API key; at those of GigaChat it asks for a token.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response, StreamingResponse

from sandbox.model import gigachat, wire
from sandbox.model.desk import Desk, Made
from sandbox.model.failing import cut, fail
from sandbox.model.faults import SPOILING, Fault
from sandbox.model.gigachat import Habits, Streamed, Tokens, chat_routes, token_routes
from sandbox.model.hearing import hearing_routes
from sandbox.model.script import ScriptBody


def create_app(*, pace: float = 0.0, now: Callable[[], float] = time.time, rules: Sequence[ScriptBody] = ()) -> FastAPI:
    """Build the model server as an ASGI application.

    `pace` is the pause in seconds between the chunks of a streamed answer. `now` returns the Unix time for timestamps and tokens. `rules`
    are scripted answers with which it begins. What `GET /sandbox/health` says besides may be put into `app.state.addresses`.
    """
    desk, tokens, hold = Desk(now), Tokens(now), Hold()
    for rule in rules:
        desk.script.add(rule)
    app = FastAPI(title="Демо-модель: правила вместо ИИ", docs_url=None, redoc_url=None)
    app.state.addresses = {}
    app.add_exception_handler(RequestValidationError, _malformed)

    def stream(made: Made, events: Iterator[str], request: Request) -> StreamingResponse:
        kind = "text/event-stream" if made.streams else "application/json"
        return StreamingResponse(_streamed(made, events, request, pace, hold.gate), media_type=kind)

    app.include_router(token_routes(desk, tokens))
    app.include_router(chat_routes(desk, tokens, stream))
    for prefix in ("/v1", ""):
        app.include_router(_model_routes(desk, stream), prefix=prefix)
        app.include_router(hearing_routes(desk.faults, fail), prefix=prefix)
    app.include_router(_control_routes(desk, tokens, hold), prefix="/sandbox")
    return app


class Hold:
    """Stops streamed answers half way until a test has seen what it shows meanwhile. At first nothing is held."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        """What a stream that begins now waits for, half way."""
        self.gate.set()

    def begin(self) -> None:
        """Hold the streams that begin from now on, and let those go on that are held."""
        self.gate.set()
        self.gate = asyncio.Event()


async def _malformed(request: Request, error: Exception) -> Response:
    found = error.errors() if isinstance(error, RequestValidationError) else []
    where = ", ".join(".".join(str(part) for part in item["loc"]) for item in found)
    message = f"Cannot read the request: {where}"
    if request.url.path.startswith("/api/"):
        return JSONResponse(gigachat.build_error(422, message), 422)
    return JSONResponse(wire.error(message, "invalid_request_error"), 400)


def _model_routes(desk: Desk, stream: Streamed) -> APIRouter:
    router = APIRouter()

    @router.post("/chat/completions")
    async def chat(body: wire.ChatBody, request: Request) -> Response:
        fault, trace = desk.faults.next("chat"), request.headers.get("x-trace-id")
        if fault and fault.kind not in SPOILING:
            desk.note(body.messages, answer=None, rule="fault", fault=fault, stream=body.stream, trace=trace)
            return await fail(fault, request)
        made = desk.answer(body, fault, trace)
        if body.stream:
            return stream(made, wire.chunks(made.completion, body.stream_options), request)
        if fault and fault.kind == "drop_mid_stream":
            return stream(made, iter([json.dumps(wire.whole(made.completion), ensure_ascii=False)]), request)
        return JSONResponse(wire.whole(made.completion))

    @router.post("/embeddings")
    async def embed(body: wire.EmbeddingBody, request: Request) -> Response:
        fault = desk.faults.next("embeddings")
        return await fail(fault, request) if fault else JSONResponse(wire.embeddings(body))

    @router.get("/models")
    async def models(request: Request) -> Response:
        fault = desk.faults.next("models")
        return await fail(fault, request) if fault else JSONResponse(wire.models())

    return router


def _control_routes(desk: Desk, tokens: Tokens, hold: Hold) -> APIRouter:
    router = APIRouter()

    @router.get("/health")
    async def health(request: Request) -> dict[str, Any]:
        return {
            **request.app.state.addresses,
            "ok": True,
            "model": wire.MODEL,
            "note": "демо-модель: правила вместо ИИ",
            "scripted": len(desk.script),
            "faults": desk.faults.waiting,
            "tokens": tokens.report,
        }

    @router.post("/gigachat")
    async def gigachat(body: Habits) -> dict[str, Any]:
        tokens.change(body)
        return tokens.report

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

    @router.post("/hold")
    async def begin_hold() -> dict[str, bool]:
        hold.begin()
        return {"held": True}

    @router.delete("/hold")
    async def end_hold() -> dict[str, bool]:
        hold.gate.set()
        return {"held": False}

    @router.get("/requests")
    async def requests(after: int = 0) -> dict[str, Any]:
        return desk.requests(after)

    return router


async def _streamed(made: Made, events: Iterator[str], request: Request, pace: float, gate: asyncio.Event) -> AsyncIterator[str]:
    every = list(events)
    is_cut = made.fault is not None and made.fault.kind == "drop_mid_stream"
    for number, event in enumerate(every[: len(every) // 2] if is_cut and len(every) > 1 else every):
        if number == len(every) // 2:
            await gate.wait()
        # One event alone is an answer that was not asked for as a stream: half of it is sent.
        yield event[: len(event) // 2] if is_cut and len(every) == 1 else event
        if pace > 0:
            await asyncio.sleep(pace)
    if is_cut:
        await cut(request)
