"""Sandbox portal, application: the REST door of the fake Bitrix24 and its faults; a separate process, no account, no network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from sandbox.portal import control, wire
from sandbox.portal.errors import ConnectionDroppedError, PortalError
from sandbox.portal.faults import Fault
from sandbox.portal.methods import canonical
from sandbox.portal.portal import Portal, Request, Settings
from sandbox.portal.schema import Row

ABORT = "sandbox.abort"  # the key in the ASGI scope under which `server.Door` leaves the way to cut the connection


def create_app(settings: Settings | None = None) -> Starlette:
    """The portal as an ASGI application; `app.state.portal` is its inside for tests in the same process."""
    portal = Portal(settings or Settings())

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await portal.events.aclose()
        portal.close()

    async def rest(http: HttpRequest) -> Response:
        return await _rest(portal, http)

    async def token(http: HttpRequest) -> Response:
        return _token(portal, http)

    app = Starlette(
        routes=[
            Route("/oauth/token/", token, methods=["GET", "POST"]),
            Route("/rest/{path:path}", rest, methods=["GET", "POST"]),
            *control.routes(portal),
        ],
        lifespan=lifespan,
        middleware=[Middleware(CORSMiddleware, allow_origins=["*"], allow_methods=["GET"])],
    )
    app.state.portal = portal
    return app


async def _rest(portal: Portal, http: HttpRequest) -> Response:
    request = await wire.read_request(http)
    fault = portal.faults.take(canonical(request.method) or request.method, control.WHOLE_CALL)
    if fault is not None and (early := _before(portal, request, fault)):
        return early
    line = None
    if fault is not None and fault.kind == "delay":
        line = portal.announce(request, fault)
        await asyncio.sleep(fault.seconds)
    try:
        answer = portal.handle(request, fault, announced=line)
    except ConnectionDroppedError:
        return NoAnswer()
    if fault is not None and (late := await _after(fault)):
        return late
    return wire.show(answer.body, answer.status, request.method)


def _before(portal: Portal, request: Request, fault: Fault) -> Response | None:
    """Faults that stop the call before anything is executed."""
    match fault.kind:
        case "500_before":
            error = PortalError(500, "INTERNAL_SERVER_ERROR", "Internal server error")
        case "403_scope":
            text = "The request requires higher privileges than provided by the webhook token"
            error = PortalError(403, "insufficient_scope", text)
        case "query_limit":
            error = PortalError(503, "QUERY_LIMIT_EXCEEDED", "Too many requests")
        case "html_200":
            portal.refuse(request, fault, 200, "html")
            return wire.html(200, "Операция временно недоступна")
        case "302":
            portal.refuse(request, fault, 302, "redirect")
            return RedirectResponse(fault.location + request.method, 302)
        case _:
            return None
    portal.refuse(request, fault, error.status, str(error.code))
    return wire.show(error.body(), error.status, request.method)


async def _after(fault: Fault) -> Response | None:
    """Faults that spoil the answer of an executed call."""
    match fault.kind:
        case "500_after":
            error = PortalError(500, "INTERNAL_SERVER_ERROR", "Internal server error")
            return wire.show(error.body(), 500, "")
        case "504_html":
            return wire.html(504, "504 Gateway Time-out")
        case "delay_answer":
            await asyncio.sleep(fault.seconds)
            return None
        case _:
            return None


class NoAnswer(Response):
    """Cuts the TCP connection instead of answering; without a real server the client's transport error is raised."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  (nothing is sent)
        """Abort and wait until the server has noticed, so that it sends no 500 of its own."""
        abort = scope.get(ABORT)
        if abort is None:
            raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
        abort()
        while (await receive())["type"] != "http.disconnect":
            pass


def _token(portal: Portal, http: HttpRequest) -> Response:
    """The authorisation server's refresh, kept next to the portal."""
    given = http.query_params
    pair: Row | None = None
    if given.get("grant_type") == "refresh_token":
        pair = portal.tokens.refresh(given.get("refresh_token", ""), portal.now)
    if pair is None:
        return JSONResponse({"error": "invalid_grant", "error_description": "Invalid grant"}, 400)
    return JSONResponse(control.with_endpoints(pair, http))
