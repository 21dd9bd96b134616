"""GigaChat's API beside that of OpenAI: short-lived tokens, `functions` whose arguments are objects, streaming, embeddings.

It answers with the same scripts and rules. Where it differs from OpenAI it follows the service's documentation, errors included.
"""

import json
import secrets
import uuid
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Form, Header, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from sandbox.model import wire
from sandbox.model.desk import Desk, Made
from sandbox.model.embedding import vector
from sandbox.model.failing import fail
from sandbox.model.faults import SPOILING, Fault
from sandbox.model.gigachat_checks import find_mistake

MODEL: Final = "GigaChat-2-Max"
EMBEDDER: Final = "Embeddings"
DIMENSIONS: Final = 1024
CREDENTIALS: Final = "c2FuZGJveDpzYW5kYm94"
"""The credentials that the server takes: base64 of sandbox:sandbox."""
SCOPES: Final = frozenset({"GIGACHAT_API_PERS", "GIGACHAT_API_B2B", "GIGACHAT_API_CORP"})
TOKEN_SECONDS: Final = 1800.0
_NAMES: Final = {401: "unauthorized"}
"""What the list of requests says of a request that was refused with this status."""
Streamed = Callable[[Made, Iterator[str], Request], StreamingResponse]


class Habits(BaseModel):
    """The body of `POST /sandbox/gigachat`: how tokens are given from now on. What is left out stays as it is."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    token_seconds: float | None = Field(default=None, gt=0, le=86_400)
    credentials: str | None = None
    revoke: bool = False
    """Whether all tokens given so far end now, before the moment that the client was told."""


class Tokens:
    """The access tokens that the server has given."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Start without tokens."""
        self._now = now
        self._ends: dict[str, float] = {}
        self.credentials = CREDENTIALS
        self.seconds = TOKEN_SECONDS
        self.asked = 0
        """How often a token was asked for, also in vain."""

    def give(self) -> dict[str, Any]:
        """Return a new token, with the moment of its end in milliseconds."""
        token, end = secrets.token_urlsafe(48), self._now() + self.seconds
        self._ends[token] = end
        return {"access_token": token, "expires_at": int(end * 1000)}

    def accepts(self, authorization: str) -> bool:
        """Return whether the header holds a token that has not ended."""
        kind, _, token = authorization.partition(" ")
        return kind == "Bearer" and self._ends.get(token, 0.0) > self._now()

    def change(self, habits: Habits) -> None:
        """Follow what a test orders."""
        self.seconds = habits.token_seconds or self.seconds
        self.credentials = habits.credentials or self.credentials
        if habits.revoke:
            self._ends.clear()

    @property
    def report(self) -> dict[str, Any]:
        """What `GET /sandbox/health` says of the tokens."""
        return {"asked": self.asked, "given": len(self._ends), "seconds": self.seconds}


def build_error(status: int, message: str, _kind: str = "") -> dict[str, Any]:
    """Return an error as GigaChat writes it."""
    return {"status": status, "message": message}


def token_routes(desk: Desk, tokens: Tokens) -> APIRouter:
    """Return the router of `POST /api/v2/oauth`."""
    router = APIRouter(prefix="/api/v2")

    @router.post("/oauth")
    async def oauth(
        request: Request,
        scope: Annotated[str, Form()] = "",
        authorization: Annotated[str, Header()] = "",
        rquid: Annotated[str, Header()] = "",
    ) -> Response:
        tokens.asked += 1
        if fault := desk.faults.next("token", "gigachat"):
            return await fail(fault, request, build_error)
        refused = _check_token_request(tokens, scope, authorization, rquid)
        return refused or JSONResponse(tokens.give())

    return router


def _check_token_request(tokens: Tokens, scope: str, authorization: str, rquid: str) -> Response | None:
    try:
        uuid.UUID(rquid)
    except ValueError:
        return JSONResponse({"code": 1, "message": "RqUID header is missing or is not uuid4"}, 400)
    kind, _, given = authorization.partition(" ")
    if kind != "Basic" or not given:
        return JSONResponse({"code": 4, "message": "Can't decode 'Authorization' header"}, 400)
    if not secrets.compare_digest(given.encode(), tokens.credentials.encode()):
        return JSONResponse({"code": 6, "message": "credentials doesn't match db data"}, 401)
    if not scope:
        return JSONResponse({"code": 5, "message": "scope is empty"}, 400)
    if scope not in SCOPES:
        return JSONResponse({"code": 7, "message": "scope from db not fully includes consumed scope"}, 400)
    return None


def chat_routes(desk: Desk, tokens: Tokens, stream: Streamed) -> APIRouter:
    """Return the router of chat, embeddings and models under /api/v1. `stream` builds a streamed response from its events."""
    router = APIRouter(prefix="/api/v1")

    @router.post("/chat/completions")
    async def chat(body: wire.ChatBody, request: Request) -> Response:
        fault, trace = desk.faults.next("chat", "gigachat"), request.headers.get("x-trace-id")
        if (refused := await _refuse(request, fault, tokens, body)) is not None:
            rule = _NAMES.get(refused.status_code, "refused") if fault is None else "fault"
            desk.note(body.messages, answer=None, rule=rule, fault=fault, stream=body.stream, trace=trace, provider="gigachat")
            return refused
        made = desk.answer(body, fault, trace, provider="gigachat")
        if body.stream or (fault and fault.kind == "drop_mid_stream"):
            events = _list_events(made.completion, body.model) if body.stream else iter([json.dumps(_whole(made.completion, body.model))])
            return stream(made, events, request)
        return JSONResponse(_whole(made.completion, body.model), headers={"x-request-id": made.completion.id})

    @router.post("/embeddings")
    async def embed(body: wire.EmbeddingBody, request: Request) -> Response:
        if (refused := await _refuse(request, desk.faults.next("embeddings", "gigachat"), tokens)) is not None:
            return refused
        texts = wire.list_texts(body.input)
        data = [
            {"object": "embedding", "embedding": vector(text, DIMENSIONS), "index": index, "usage": {"prompt_tokens": wire.tokens(text)}}
            for index, text in enumerate(texts)
        ]
        return JSONResponse({"object": "list", "data": data, "model": body.model})

    @router.get("/models")
    async def models(request: Request) -> Response:
        if (refused := await _refuse(request, desk.faults.next("models", "gigachat"), tokens)) is not None:
            return refused
        named = ((MODEL, "chat"), (EMBEDDER, "embedder"))
        rows = [{"id": name, "object": "model", "owned_by": "sdelka-sandbox", "type": kind} for name, kind in named]
        return JSONResponse({"object": "list", "data": rows})

    return router


async def _refuse(request: Request, fault: Fault | None, tokens: Tokens, body: wire.ChatBody | None = None) -> Response | None:
    """Return the response of a request that gets no answer, because of a fault, of its token or of what it says; None for any other."""
    if fault and fault.kind not in SPOILING:
        return await fail(fault, request, build_error)
    if not tokens.accepts(request.headers.get("authorization", "")):
        return JSONResponse(build_error(401, "Unauthorized"), 401)
    mistake = find_mistake(body.model_dump()) if body is not None else None
    return JSONResponse(build_error(*mistake), mistake[0]) if mistake is not None else None


def _whole(completion: wire.Completion, model: str) -> dict[str, Any]:
    """Return the answer as one object."""
    choice = {"message": {"role": "assistant", **_message(completion)}, "index": 0, "finish_reason": completion.finish}
    return {"choices": [choice], **_head(completion, model), "usage": {**completion.usage, "precached_prompt_tokens": 0}}


def _message(completion: wire.Completion) -> dict[str, Any]:
    """Return text and call of an answer. Only one function is called at a time, and its arguments are an object."""
    if not completion.tool_calls:
        return {"content": completion.text}
    call = completion.tool_calls[0]
    arguments: object = call.arguments if completion.raw_arguments is None else completion.raw_arguments
    state = uuid.uuid5(uuid.NAMESPACE_OID, completion.id)
    return {"content": completion.text, "function_call": {"name": call.name, "arguments": arguments}, "functions_state_id": str(state)}


def _head(completion: wire.Completion, model: str) -> dict[str, Any]:
    return {"created": completion.created, "model": model, "object": "chat.completion"}


def _list_events(completion: wire.Completion, model: str) -> Iterator[str]:
    """Yield the answer as server-sent events: pieces of text, a call as a whole, the end with the usage, [DONE]."""
    head = _head(completion, model)
    starts = range(0, len(completion.text), wire.CHUNK)
    deltas: list[dict[str, Any]] = [{"content": completion.text[start : start + wire.CHUNK], "role": "assistant"} for start in starts]
    if completion.tool_calls:
        deltas.append({"role": "assistant", **_message(completion), "content": ""})
    for delta in deltas:
        yield _event({"choices": [{"delta": delta, "index": 0}], **head})
    last = {"delta": {"content": ""}, "index": 0, "finish_reason": completion.finish}
    yield _event({"choices": [last], **head, "usage": {**completion.usage, "precached_prompt_tokens": 0}})
    yield "data: [DONE]\n\n"


def _event(body: dict[str, Any]) -> str:
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n"
