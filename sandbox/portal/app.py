"""The ASGI application of the sandbox portal: a simulated Bitrix24 REST interface that can fail on request.

It runs as a separate process and needs no Bitrix24 account and no network.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import quote

import httpx
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from sandbox.portal import control, control_limits, files, wire
from sandbox.portal.errors import ConnectionDroppedError, PortalError, V3Error
from sandbox.portal.faults import Fault
from sandbox.portal.methods import canonical
from sandbox.portal.oauth import check_grant
from sandbox.portal.portal import WEBHOOK_CODE, Portal, Request, Settings
from sandbox.portal.schema import Row
from sandbox.portal.v3 import V3

ABORT = "sandbox.abort"  # the key in the ASGI scope of the server's function to cut the connection


def create_app(settings: Settings | None = None) -> Starlette:
    """Build the portal as an ASGI application.

    Tests in the same process reach its `Portal` object, with the records, the faults and the ledger (log of calls), through
    `app.state.portal`.
    """
    portal = Portal(settings or Settings())

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await portal.events.aclose()
        portal.close()

    v3 = V3(portal)

    async def rest(http: HttpRequest) -> Response:
        return await _rest(portal, v3, http)

    async def file(http: HttpRequest) -> Response:
        return _file(portal, http)

    async def token(http: HttpRequest) -> Response:
        return await _token(portal, http)

    app = Starlette(
        routes=[
            Route("/oauth/token/", token, methods=["GET", "POST"]),
            Route(files.PATH, file, methods=["GET"]),
            Route("/rest/{path:path}", rest, methods=["GET", "POST"]),
            *control.routes(portal),
            *control_limits.routes(portal),
        ],
        lifespan=lifespan,
        middleware=[Middleware(CORSMiddleware, allow_origins=["*"], allow_methods=["GET"])],
    )
    app.state.portal = portal
    return app


async def _rest(portal: Portal, v3: V3, http: HttpRequest) -> Response:
    request = await wire.read_request(http)
    if portal.renamed and http.url.netloc != portal.renamed:
        portal.refuse(request, "renamed", 302, "redirect")
        return RedirectResponse(str(http.url.replace(netloc=portal.renamed)), 302)
    fault = portal.faults.take(canonical(request.method) or request.method, control.WHOLE_CALL)
    if fault is not None and (early := _before(portal, request, fault, http.path_params["path"])):
        return early
    line = None
    if fault is not None and fault.kind == "delay":
        line = portal.announce(request, fault)
        await portal.faults.delay(fault.seconds)
    ran, counted = portal.commands, portal.totals
    try:
        answer = portal.handle(request, fault, announced=line, way=v3.answer if request.api == 3 else None)
    except ConnectionDroppedError:
        return NoAnswer()
    # Nothing is awaited between the two counts, so the difference belongs to this call.
    pace = portal.pace
    if slow := pace.request + pace.command * (portal.commands - ran) + pace.total * (portal.totals - counted):
        await asyncio.sleep(slow)
    if fault is not None and (late := await _after(portal, fault)):
        return late
    return wire.show(answer.body, answer.status, request.method, answer.headers)


def _file(portal: Portal, http: HttpRequest) -> Response:
    """Return the content of a file in a field; like the real portal's, its address is good without a method call."""
    file = None
    if http.path_params["code"] == WEBHOOK_CODE and "crm.controller.item.getFile" not in portal.rights.denied:
        file = files.find(portal.store, http.query_params.get("token", ""))
    if file is None:
        return JSONResponse({"error": "ACCESS_DENIED", "error_description": "Access denied"}, 403)
    name, content = file
    return Response(
        content, media_type="application/octet-stream", headers={"Content-Disposition": f"attachment; filename*=utf-8''{quote(name)}"}
    )


def _before(portal: Portal, request: Request, fault: Fault, path: str) -> Response | None:
    """Return the answer for a fault that stops the call before anything is executed, or None for any other fault.

    A stopped call is recorded in the ledger (log of calls). `path` is the part of the URL after `/rest/`; the fault "302" redirects to its
    `location` followed by `path`.
    """
    match fault.kind:
        case "500_before":
            error = PortalError(500, "INTERNAL_SERVER_ERROR", "Internal server error")
        case "403_scope":
            text = "The request requires higher privileges than provided by the webhook token"
            v3 = request.api == 3
            error = V3Error(403, "INSUFFICIENTSCOPEEXCEPTION", text) if v3 else PortalError(403, "insufficient_scope", text)
        case "query_limit":
            error = PortalError(503, "QUERY_LIMIT_EXCEEDED", "Too many requests")
        case "html_200":
            portal.refuse(request, fault.kind, 200, "html")
            return wire.html(200, "Операция временно недоступна")
        case "302":
            portal.refuse(request, fault.kind, 302, "redirect")
            return RedirectResponse(fault.location + path, 302)
        case _:
            return None
    portal.refuse(request, fault.kind, error.status, str(error.code))
    return wire.show(error.body(), error.status, request.method)


async def _after(portal: Portal, fault: Fault) -> Response | None:
    """Return an error answer in place of the real one if the fault asks for that, else None.

    The call has been executed already. The fault `delay_answer` waits and returns None, so the real answer is sent late.
    """
    match fault.kind:
        case "500_after":
            error = PortalError(500, "INTERNAL_SERVER_ERROR", "Internal server error")
            return wire.show(error.body(), 500, "")
        case "504_html":
            return wire.html(504, "504 Gateway Time-out")
        case "delay_answer":
            await portal.faults.delay(fault.seconds)
            return None
        case _:
            return None


class NoAnswer(Response):
    """A response that sends nothing and cuts the TCP connection.

    Without a real server there is no connection to cut: `httpx.RemoteProtocolError` is raised, the error that a client would get.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  (nothing is sent)
        """Abort the connection and wait for the disconnect message; if this returned earlier, the server would send a 500 answer."""
        abort = scope.get(ABORT)
        if abort is None:
            raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
        abort()
        while (await receive())["type"] != "http.disconnect":
            pass


async def _token(portal: Portal, http: HttpRequest) -> Response:
    """Return the answer to a token request: a new token pair for a refresh token, as the Bitrix24 authorization server gives it."""
    given: Row = dict(http.query_params)
    if http.method == "POST":
        given |= {name: value for name, value in (await http.form()).items() if isinstance(value, str)}
    try:
        check_grant(given)
        pair = portal.tokens.refresh(str(given.get("refresh_token", "")), portal.now)
    except PortalError as error:
        return JSONResponse(error.body(), error.status)
    finally:
        portal.store.commit()
    return JSONResponse(control.with_endpoints(pair, http))
