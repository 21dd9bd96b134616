"""Limits bodies to 16 KB (some to more) and ten seconds; a trace id is returned and stored with all that a request causes."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.http_api.server.errors import ApiError
from state.clock import generate_id, read_boottime
from state.trace import HEADER, bind_trace

SMALL: Final = 16 * 1024
READ_WITHIN: Final = 10.0
_CLOSE: Final = {"Connection": "close"}


class BodyLimit:
    """Raises ApiError 413 for a body too long, 408 for one too slow."""

    def __init__(self, app: ASGIApp, exempt: Collection[str] = (), larger: Mapping[str, int] | None = None) -> None:
        """`exempt` are paths with limits of their own; `larger` are beginnings of paths with so many bytes."""
        self._app, self._exempt, self._larger = app, frozenset(exempt), dict(larger or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in self._exempt:
            await self._app(scope, receive, send)
            return
        end, size, ended = read_boottime() + READ_WITHIN, 0, False
        most = next((limit for start, limit in self._larger.items() if scope["path"].startswith(start)), SMALL)

        async def bounded() -> Message:
            nonlocal size, ended
            if ended:  # after the body only the disconnect can follow
                return await receive()
            try:
                async with asyncio.timeout(max(0.0, end - read_boottime())):
                    message = await receive()
            except TimeoutError:
                raise ApiError(408, "too_slow", f"The body did not come within {READ_WITHIN:g} seconds.", headers=_CLOSE) from None
            size += len(message.get("body", b""))
            ended = not message.get("more_body", False)
            if size > most:
                raise ApiError(413, "too_large", f"A body may have {most} bytes here.", headers=_CLOSE)
            return message

        await self._app(scope, bounded, send)


_FIXED_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class TraceHeaders:
    """The trace id, and no caching. Outermost, so that error answers get these headers too."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        trace = generate_id()

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                headers.setdefault(HEADER, trace)
                for name, value in _FIXED_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        with bind_trace(trace):
            await self._app(scope, receive, marked)
