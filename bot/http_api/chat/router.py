"""`POST /chat` (S004-58 to S004-67). It decides nothing: the orchestrator does."""

import re
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse
from fastapi.routing import APIRoute

from bot.http_api.chat.answers import ChatAnswer
from bot.http_api.chat.request_body import ChatBody, ChatRequest
from bot.http_api.chat.responses import MEDIA_TYPE, ChatContext, store_request, stream_answer, wait_for_answer
from bot.http_api.server.callers import ClientOf, resolve_client
from bot.http_api.server.errors import ApiError, describe_errors
from bot.http_api.server.tokens import Client
from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import ChoiceMade, FeatureClick, Input, TextMessage
from orchestrator.runtime.commands import parse_command
from orchestrator.turns.feature import Feature
from state.canonical import dumps, hash_text
from state.clock import generate_id
from state.journal.store import InboxRow, Lane
from state.trace import HEADER, get_trace_id

PATH: Final = "/chat"
LONGEST_KEY: Final = 255
_CHOICE: Final = re.compile(r"[0-9a-f-]{8,64}:[0-9]{1,3}", re.ASCII)
_BUTTON: Final = re.compile(r"run:[0-9a-f-]{36}:(?:[0-9a-f]{8}:[0-9]{1,3}|pause|resume|retry|cancel)", re.ASCII)
_REPORT: Final = re.compile(r"report:[0-9a-f]{12}:(?:v[0-9]{1,2}|back|list|how)", re.ASCII)
_CHANGE: Final = re.compile(r"(?:undo|addto):[0-9a-f]{6,64}", re.ASCII)
"""Of `card_models.Confirmation`: `undo` and `add_text`."""
_COMMAND: Final = re.compile(r"/(?P<name>[a-z0-9_]{1,32})(?:\s+(?P<args>.*))?", re.DOTALL | re.ASCII)


def build_chat_router(chat: ChatContext) -> APIRouter:
    router = APIRouter(tags=["chat"], route_class=_DirectRoute)

    @router.post(
        PATH,
        summary="Say something to the copilot",
        response_model=ChatAnswer,
        responses={
            200: {
                "model": ChatAnswer,
                "description": "The answer; as `text/event-stream` the same, as it comes.",
                "content": {MEDIA_TYPE: {}},
            },
            202: {"model": ChatAnswer, "description": "Not through yet: nothing is lost, the answer comes in the events of the session."},
            **describe_errors(400, 401, 408, 409, 413, 422, 429, 500, 503),
        },
        openapi_extra={"requestBody": _BODY, "parameters": [_KEY_PARAMETER]},
    )
    async def post_chat(request: Request, client: ClientOf) -> Response:
        key = _parse_idempotency_key(request)
        chat_request = await chat.reader.read(request)
        actor = chat.overrides.apply(client.actor, chat_request.overrides)
        row = _build_row(client, actor, chat_request, key, chat)
        if MEDIA_TYPE in request.headers.get("accept", "").lower():
            row = await store_request(row, chat)
            headers = {HEADER: row.id, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
            return StreamingResponse(stream_answer(row, client, chat), media_type=MEDIA_TYPE, headers=headers)
        return await wait_for_answer(row, client, chat)

    return router


class _DirectRoute(APIRoute):
    """Documented as usual, but called without FastAPI's resolution of arguments, which takes longest."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[object, object, Response]]:
        """Authenticates first; FastAPI calls this once."""

        async def handle(request: Request) -> Response:
            client = await resolve_client(request, request.headers.get("x-api-key"))
            answer: Response = await self.endpoint(request, client)
            return answer

        return handle


_BODY: Final[dict[str, object]] = {"required": True, "content": {"application/json": {"schema": ChatBody.model_json_schema()}}}
_KEY_PARAMETER: Final[dict[str, object]] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same key with the same body gets the same answer and never a second turn.",
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY, "pattern": "^[!-~]+$"},
}


def _parse_idempotency_key(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key and 1 <= len(key) <= LONGEST_KEY):
        raise ApiError(400, "invalid_idempotency_key", f"Idempotency-Key must be 1 to {LONGEST_KEY} printable characters without spaces.")
    return key


def _build_row(client: Client, actor: Actor, chat_request: ChatRequest, key: str | None, chat: ChatContext) -> InboxRow:
    """Its `source` is of the Idempotency-Key, so that a repeated request is recognized, else its own id."""
    row_id = get_trace_id() or generate_id()
    message, lane = (
        _parse_customer_message(chat_request) if client.customers else _parse_message(chat_request, chat.orchestrator.tools.features)
    )
    quoted = {"quoted": chat_request.quoted} if chat_request.quoted else {}
    request = hash_text(dumps({"user_id": chat_request.user_id, "message": chat_request.message, **quoted, **chat_request.overrides}))
    session = f"{client.actor.key}:{chat_request.conversation}"
    source = f"{client.actor.key}:key:{hash_text(key)}" if key is not None else f"{client.actor.key}:{row_id}"
    row = message.to_row(session, source=source, actor=actor.model_dump(mode="json"), now=chat.clock.now(), lane=lane, row_id=row_id)
    return replace(row, body={**row.body, "request": request})


def _parse_message(chat_request: ChatRequest, features: Feature) -> tuple[Input, Lane]:
    """A command ("/pending"), a choice, or a text: complete, so never merged as Telegram's fragments are."""
    text = chat_request.message
    if command := _COMMAND.fullmatch(text):
        return parse_command(command["name"], command["args"] or "", features)
    if _BUTTON.fullmatch(text) or _REPORT.fullmatch(text) or _CHANGE.fullmatch(text):
        return FeatureClick(words=tuple(text.split(":"))), "express"
    if _CHOICE.fullmatch(text):
        question, _, option = text.rpartition(":")
        return ChoiceMade(answers=question, option=int(option), origin="choice"), "turn"
    return TextMessage(text=text, quoted=chat_request.quoted, origin="typed", pieces=1), "turn"


def _parse_customer_message(chat_request: ChatRequest) -> tuple[Input, Lane]:
    """A choice, or quoted text, which is never an instruction."""
    if _CHOICE.fullmatch(chat_request.message) or _BUTTON.fullmatch(chat_request.message):
        return _parse_message(chat_request, Feature())
    return TextMessage(text="", quoted=f"{chat_request.message}\n\n{chat_request.quoted}".strip(), origin="typed", pieces=1), "turn"
