"""The responses for faults that a test has ordered: errors, silence, cut connections, endless answers, redirects."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from fastapi import Request
from fastapi.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse

from sandbox.model import wire
from sandbox.model.faults import Fault

ABORT: Final = "sandbox.abort"
"""The key in the ASGI scope of the server's function to cut the connection."""
_MEGABYTE: Final = b" " * 1_000_000
_STATUS: Final = {
    "400": ("Bad request", "invalid_request_error"),
    "401": ("Unauthorized", "authentication_error"),
    "403": ("Forbidden", "permission_error"),
    "404": ("No such model", "invalid_request_error"),
    "413": ("Request entity too large", "invalid_request_error"),
    "422": ("Invalid params", "invalid_request_error"),
    "429": ("Rate limit reached", "rate_limit_error"),
    "502": ("Bad gateway", "server_error"),
    "503": ("Service unavailable", "server_error"),
    "504": ("Gateway timeout", "server_error"),
}

BuildError = Callable[[int, str, str], dict[str, Any]]
"""Builds the body of an error: from the HTTP status, the message and the type."""


def build_openai_error(_status: int, message: str, kind: str) -> dict[str, Any]:
    """Return an error as the OpenAI API writes it."""
    return wire.error(message, kind, "rate_limit_exceeded" if kind == "rate_limit_error" else None)


async def fail(fault: Fault, request: Request, build: BuildError = build_openai_error) -> Response:
    """Return the response for a fault that gives no usable answer.

    A fault of the kind "stall" first waits; one of the kind "drop" cuts the connection instead of answering.
    """
    match fault.kind:
        case "garbage":
            return PlainTextResponse("<html><body>502 Bad Gateway</body></html>", media_type="application/json")
        case "redirect":
            return RedirectResponse(fault.location, 307)
        case "huge":
            return StreamingResponse(_stream_much(fault.megabytes, request), media_type="application/json")
        case "stall":
            await _stall(fault.seconds, request)
        case "drop":
            await cut(request)
        case kind if kind in _STATUS:
            headers = {"Retry-After": f"{fault.retry_after:g}"} if fault.retry_after is not None else {}
            return JSONResponse(build(int(kind), *_STATUS[kind]), int(kind), headers=headers)
        case _:
            pass
    return JSONResponse(build(500, "The server had an error", "server_error"), 500)


async def cut(request: Request) -> None:
    """Cut the TCP connection. Raises ConnectionAbortedError if the application runs without a server."""
    abort = request.scope.get(ABORT)
    if abort is None:
        msg = "the connection was dropped on request"
        raise ConnectionAbortedError(msg)
    abort()
    await asyncio.sleep(0)


async def _stall(seconds: float, request: Request) -> None:
    """Send nothing for `seconds`, or until the client has disconnected."""
    try:
        async with asyncio.timeout(seconds):
            while (await request.receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        return


async def _stream_much(megabytes: int, request: Request) -> AsyncIterator[bytes]:
    """Yield so many megabytes of spaces, which a JSON parser would wait behind, and end when the client has gone."""
    for _ in range(megabytes):
        if await request.is_disconnected():
            return
        yield _MEGABYTE
    yield b"{}"
