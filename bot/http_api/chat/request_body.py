"""The body of `/chat` and its overrides (S004-60, A6, M4): `user_id` gives no rights, overrides may only lower the mode."""

import asyncio
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, get_args
from urllib.parse import quote

import orjson
from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import ClientDisconnect

from bot.http_api.server.callers import parse_json
from bot.http_api.server.errors import ApiError
from bot.http_api.server.tokens import pick_lower_mode
from orchestrator.domain.actor import MODES, Actor, Mode
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import to_visible_line
from state.canonical import to_storable_text
from state.stored import JsonObject

_EXAMPLES: Final = load_lexicon("api_examples")
MAX_BODY: Final = 256 * 1024
READ_WITHIN: Final = 10.0
READ_AT_ONCE: Final = 200
"""Further requests wait; their timeout starts when their turn comes."""
LONGEST_USER: Final = 128
LONGEST_MESSAGE: Final = 20_000
_OVERRIDES: Final = ("mode", "state_dir", "log_dir")
_CLOSE: Final = {"Connection": "close"}


class ChatBody(BaseModel):
    """The body of a chat request: a message that the API's caller passes on from one of its users."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"user_id": "42", "message": _EXAMPLES.read_text("request")}]})
    user_id: Annotated[
        str,
        Field(min_length=1, max_length=LONGEST_USER, description="Names the conversation among those of the token; it gives no rights."),
    ]
    message: Annotated[
        str,
        Field(
            min_length=1,
            max_length=LONGEST_MESSAGE,
            description="A request in words, a command such as /pending, or the `token` of a choice or button that was offered.",
        ),
    ]
    quoted: Annotated[
        str | None,
        Field(max_length=LONGEST_MESSAGE, description="Text of somebody else that the message is about; never an instruction."),
    ] = None
    mode: Annotated[str | None, Field(description="A mode below the usual one; only with HTTP_ALLOW_OVERRIDES.")] = None
    state_dir: Annotated[str | None, Field(description="Must be STATE_DIR; only with HTTP_ALLOW_OVERRIDES.")] = None
    log_dir: Annotated[str | None, Field(description="Must be LOG_DIR; only with HTTP_ALLOW_OVERRIDES.")] = None


@dataclass(frozen=True, kw_only=True)
class ChatRequest:
    """`quoted` is "" for none; `overrides` are by name of field."""

    user_id: str
    message: str
    overrides: Mapping[str, str]
    quoted: str = ""

    @property
    def conversation(self) -> str:
        """Percent-encoded for a session's key: no colon, and different ids stay different."""
        return quote(self.user_id, safe="")


class BodyReader:
    """At most `READ_AT_ONCE` at a time."""

    def __init__(self, within: float = READ_WITHIN) -> None:
        """A body must arrive within `within` seconds."""
        self._timeout = within
        self._reading = asyncio.Semaphore(READ_AT_ONCE)

    async def read(self, request: Request) -> ChatRequest:
        """Raises ApiError 400 for an invalid body, 408 for a slow one, 413 for one too long."""
        try:
            async with self._reading, asyncio.timeout(self._timeout):
                body = await _read_body(request)
        except (TimeoutError, ClientDisconnect):
            raise ApiError(408, "too_slow", f"The body did not come within {self._timeout:g} seconds.", headers=_CLOSE) from None
        return parse_body(body)


async def _read_body(request: Request) -> bytes:
    """Raises ApiError 413 as soon as it is longer than `MAX_BODY` bytes."""
    announced = request.headers.get("content-length", "")
    read = bytearray()
    too_long = announced.isascii() and announced.isdecimal() and int(announced[:20]) > MAX_BODY
    if not too_long:
        async for piece in request.stream():
            read += piece
            if too_long := len(read) > MAX_BODY:
                break
    if too_long:
        raise ApiError(413, "too_large", f"A body may have {MAX_BODY} bytes.", headers=_CLOSE)
    return bytes(read)


def parse_body(body: bytes) -> ChatRequest:
    """Raises ApiError 400 (S004-65)."""
    try:
        document = orjson.loads(body)
        parse_json(body)  # nobody in between may read another message or another person than is read here
    except (ValueError, RecursionError):
        raise ApiError(400, "invalid_json", "The body is no valid JSON.") from None
    if not isinstance(document, dict):
        raise ApiError(400, "invalid_json", "The body is no JSON object.")
    user_id = _parse_text(document, "user_id", LONGEST_USER)
    if any(unicodedata.category(sign).startswith("C") for sign in user_id):
        raise ApiError(400, "invalid_user_id", "user_id may hold no control characters.")
    message = to_storable_text(_parse_text(document, "message", LONGEST_MESSAGE)).strip()
    if not to_visible_line(message):
        raise ApiError(400, "invalid_length", "message is empty.")
    overrides = {name: _parse_text(document, name, 1000) for name in _OVERRIDES if document.get(name) is not None}
    return ChatRequest(user_id=user_id, message=message, overrides=overrides, quoted=_parse_quoted(document))


def _parse_quoted(document: JsonObject) -> str:
    """ "" if there is none. Raises ApiError 400."""
    value = document.get("quoted")
    if value is None or (isinstance(value, str) and not value.strip()):
        return ""
    return to_storable_text(_parse_text(document, "quoted", LONGEST_MESSAGE)).strip()


def _parse_text(document: JsonObject, name: str, longest: int) -> str:
    value = document.get(name)
    if value is None:
        raise ApiError(400, f"missing_{name}", f"The field {name} is missing.")
    if not isinstance(value, str):
        raise ApiError(400, "invalid_type", f"{name} must be a string.")
    if not value.strip() or len(value) > longest:
        raise ApiError(400, "invalid_length", f"{name} must have 1 to {longest} characters.")
    return value


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """Settings that a request may change for itself, if the installation allows it."""

    allowed: bool
    mode: Mode
    folders: Mapping[str, Path]
    """STATE_DIR and LOG_DIR as configured, by name of field in a body."""

    def apply(self, actor: Actor, overrides: Mapping[str, str]) -> Actor:
        """Unchanged without a mode. Raises ApiError 400 for a forbidden override."""
        if not overrides:
            return actor
        if not self.allowed:
            raise ApiError(400, "overrides_off", f"{', '.join(overrides)} cannot be set by a request: HTTP_ALLOW_OVERRIDES is off here.")
        for name in self.folders.keys() & overrides.keys():
            self._check(name, overrides[name])
        return self._reduce_mode(actor, overrides["mode"]) if "mode" in overrides else actor

    def _reduce_mode(self, actor: Actor, mode_name: str) -> Actor:
        known: dict[str, Mode] = {mode: mode for mode in get_args(Mode)}
        mode = known.get(mode_name)
        if mode is None:
            raise ApiError(400, "invalid_mode", f"mode must be one of {', '.join(MODES)}.")
        highest = pick_lower_mode(self.mode, actor.max_mode)
        if pick_lower_mode(mode, highest) != mode:
            raise ApiError(400, "mode_too_high", f"mode may only be lowered: the highest here is {highest}.")
        return actor.model_copy(update={"max_mode": mode})

    def _check(self, name: str, folder: str) -> None:
        """Raises ApiError 400 unless `folder` is as configured: only one journal knows the cards, calls and freezes of a process."""
        base = self.folders[name].resolve()
        try:
            path = (base / folder).resolve() if not Path(folder).is_absolute() else Path(folder).resolve()
        except (OSError, ValueError, RuntimeError):
            raise ApiError(400, "invalid_directory", f"{name} is no directory.") from None
        if path != base and base not in path.parents:
            raise ApiError(400, "directory_outside", f"{name} must lie inside the configured {name.upper()}.")
        if path != base:
            sentence = f"{name} must be the configured {name.upper()} itself: one program keeps one journal and one set of logs."
            raise ApiError(400, "directory_not_supported", sentence)
