"""Every error of an app in the form of `errors`, without internals and secrets."""

import logging
from collections.abc import Sequence
from typing import Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.http_api.server.errors import MEANINGS, ApiError
from orchestrator.domain.value_faults import describe_fault
from state.journal.store import StoreError

log = logging.getLogger(__name__)

_BAD_REQUEST: Final = 400
_NOT_FOUND: Final = 404
_NOT_ALLOWED: Final = 405


def explain_errors(app: FastAPI) -> None:
    app.add_exception_handler(HTTPException, _handle_http_error)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
    app.add_exception_handler(StoreError, _handle_store_error)
    app.add_middleware(_ErrorBoundary)


async def _handle_http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 - starlette passes the registered exception type
    if isinstance(error, ApiError):
        return error.to_response()
    headers = error.headers or {}
    if error.status_code == _NOT_FOUND:
        return ApiError(404, "endpoint_not_found", "There is nothing under this address.", headers=headers).to_response()
    if error.status_code == _NOT_ALLOWED:
        headers = {**headers, "Allow": ", ".join(_list_methods(request)) or headers.get("Allow", "")}
        return ApiError(405, "method_not_allowed", "This address does not know this method.", headers=headers).to_response()
    if error.status_code == _BAD_REQUEST:  # FastAPI's answer to a body nested too deep, or with a number too long
        return ApiError(400, "invalid_json", "The body cannot be read as JSON.", headers=headers).to_response()
    status = error.status_code if error.status_code in MEANINGS else _BAD_REQUEST
    return ApiError(status, "bad_request", MEANINGS[status], headers=headers).to_response()


def _list_methods(request: Request) -> list[str]:
    """Methods of all routes of the address; the framework lists only those of the first."""
    routes: Sequence[APIRoute] = getattr(request.app.state, "known_routes", ())
    methods = (route.methods or () for route in routes if route.matches(request.scope)[0] is not Match.NONE)
    return sorted(set().union(*methods))


async def _handle_validation_error(request: Request, error: Exception) -> JSONResponse:
    """Without repeating the values sent."""
    del request
    assert isinstance(error, RequestValidationError)  # noqa: S101 - as above
    faults = error.errors()
    if any(fault["type"] == "json_invalid" for fault in faults):
        return ApiError(400, "invalid_json", "The body is no valid JSON.").to_response()
    messages = sorted({f"{'.'.join(str(part) for part in fault['loc'][1:]) or 'body'}: {describe_fault(fault)}" for fault in faults})
    return ApiError(400, "invalid_request", "; ".join(messages)[:500]).to_response()


async def _handle_store_error(request: Request, error: Exception) -> JSONResponse:
    del request
    log.error("nothing could be stored or read: %s", error, extra={"action": "store_trouble"})
    return ApiError(503, "unavailable", MEANINGS[503], headers={"Retry-After": "5"}).to_response()


class _ErrorBoundary:
    """Logs an unexpected exception once and answers a 500 that reveals nothing (S004-66). The trace id's middleware is outside."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """500 only if the response has not begun."""
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception:
            log.exception("a request failed", extra={"action": "request_failed", "path": scope.get("path", "")})
            if begun or scope["type"] != "http":
                raise
            await ApiError(500, "internal_error", MEANINGS[500]).to_response()(scope, receive, send)
