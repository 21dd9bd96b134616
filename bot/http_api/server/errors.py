"""Gives every error answer of the HTTP API the same form, `{"error": {"code", "message"}}`. Never reveals internals or secrets."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from state.journal.store import StoreError

log = logging.getLogger(__name__)

_BAD_REQUEST: Final = 400
_NOT_FOUND: Final = 404
_NOT_ALLOWED: Final = 405

MEANINGS: Final[Mapping[int, str]] = {
    400: "The request cannot be read, or a field is missing or wrong.",
    401: "The header X-API-Key is missing or its token is not known.",
    403: "The token may not do this.",
    404: "There is nothing under this address, or nothing that this token may see.",
    405: "This address does not know the method.",
    408: "The request came too slowly.",
    409: "It has been decided already, or it is not what the caller saw.",
    413: "The request is too large.",
    415: "The body is no JSON.",
    422: "The Idempotency-Key was used before with another request.",
    428: "The header If-Match is missing: it names the revision that the caller saw.",
    429: "Too many requests, or too many wrong tokens; Retry-After says when to come again.",
    500: "Something went wrong inside; it is logged under the trace id.",
    503: "The service cannot take requests at the moment; try again later.",
}


class Trouble(BaseModel):
    """The description of an error: a code for programs, and a sentence for people."""

    model_config = ConfigDict(frozen=True)
    code: str = Field(description="A word for programs.", examples=["unauthorized"])
    message: str = Field(description="A sentence for people.")


class ErrorBody(BaseModel):
    """The body of every error answer."""

    model_config = ConfigDict(frozen=True)
    error: Trouble


class ApiError(HTTPException):
    """An error answer with an HTTP status, a code for programs and a sentence for people.

    It must be an HTTPException: if any other exception is raised while a body is read, FastAPI answers with an error of its own.
    """

    def __init__(
        self, status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None, more: Mapping[str, object] | None = None
    ) -> None:
        """Create the error with its HTTP status, code and sentence; `more` are further fields of the body's `error`, as JSON data."""
        super().__init__(status, code, dict(headers or {}))
        self.status, self.code, self.message, self.more = status, code, message, more or {}

    def to_response(self) -> JSONResponse:
        """Return the JSON response of the error."""
        return JSONResponse({"error": {"code": self.code, "message": self.message, **self.more}}, self.status, self.headers)


def describe_errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the descriptions of these error statuses for the argument `responses` of a FastAPI route, which OpenAPI shows."""
    return {status: {"model": ErrorBody, "description": MEANINGS[status]} for status in statuses}


def explain_errors(app: FastAPI) -> None:
    """Install the handlers that give every error of `app` the form that this module describes."""
    app.add_exception_handler(HTTPException, _handle_http_error)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
    app.add_exception_handler(StoreError, _handle_store_error)
    app.add_middleware(_ErrorBoundary)


async def _handle_http_error(request: Request, error: Exception) -> JSONResponse:
    """Return the response for an ApiError, or for an error of the framework itself, such as an unknown address or method."""
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
    """Return the HTTP methods of all routes of the address; the framework lists only those of the first one."""
    routes: Sequence[APIRoute] = getattr(request.app.state, "known_routes", ())
    found = (route.methods or () for route in routes if route.matches(request.scope)[0] is not Match.NONE)
    return sorted(set().union(*found))


async def _handle_validation_error(request: Request, error: Exception) -> JSONResponse:
    """Return a 400 that names the invalid parameters, without repeating the values sent."""
    del request
    assert isinstance(error, RequestValidationError)  # noqa: S101 - as above
    faults = error.errors()
    if any(fault["type"] == "json_invalid" for fault in faults):
        return ApiError(400, "invalid_json", "The body is no valid JSON.").to_response()
    told = sorted({f"{'.'.join(str(part) for part in fault['loc'][1:]) or 'body'}: {fault['msg']}" for fault in faults})
    return ApiError(400, "invalid_request", "; ".join(told)[:500]).to_response()


async def _handle_store_error(request: Request, error: Exception) -> JSONResponse:
    del request
    log.error("nothing could be stored or read: %s", error, extra={"action": "store_trouble"})
    return ApiError(503, "unavailable", MEANINGS[503], headers={"Retry-After": "5"}).to_response()


class _ErrorBoundary:
    """Middleware that logs an unexpected exception once and answers a 500 that reveals nothing (S004-66).

    It wraps the routes and the body limit; the middleware that sets the trace id wraps it.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Take the application `app`, whose unexpected exceptions are caught here."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, and answer 500 if an unexpected exception is raised before the response has begun."""
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
