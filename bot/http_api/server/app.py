"""The app of everything over HTTP. Pages load nothing from other servers; the API is described only if tokens are configured.

Bodies are limited to 16 KB (some to more) and ten seconds; a trace id is returned and stored with all that a request causes.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.http_api.chat.router import PATH as CHAT
from bot.http_api.definitions.request_body import MAX_BODY as MAX_DOCUMENT
from bot.http_api.definitions.request_body import PREFIX as DEFINITIONS
from bot.http_api.engine_face import HTTP_FACE
from bot.http_api.server.authentication import Authenticator
from bot.http_api.server.docs_page import render_docs_page
from bot.http_api.server.error_handlers import explain_errors
from bot.http_api.server.errors import ApiError
from bot.http_api.server.portal_events import PATH as EVENTS
from bot.http_api.server.portal_events import build_closed_portal_events_router
from bot.plugins.loading import UNUSABLE, list_parts
from state.clock import SystemClock, generate_id, read_boottime
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


log = logging.getLogger(__name__)
_ABOUT = "The copilot over HTTP: the same conversations, the same gate and the same confirmations as in the chat."


def build_app(*routers: APIRouter, identity: Authenticator | None = None) -> FastAPI:
    """`/healthz` and portal events are added if no router has them; `identity` also turns on /docs and /openapi.json."""
    described = "/openapi.json" if identity is not None else None
    app = _App(
        title="Sdelka",
        version=_find_version(),
        description=_ABOUT,
        openapi_url=described,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    if identity is not None:
        app.state.identity = identity
        _describe(app)
    if not _has_route(routers, EVENTS):
        routers = (*routers, build_closed_portal_events_router(SystemClock()))
    for router in routers:
        app.include_router(router)
    if not _has_route(routers, "/healthz"):
        app.include_router(_build_health_router())
    known = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
    app.state.known_routes = known
    hidden = {route.path for route in known if not route.include_in_schema}
    app.add_middleware(
        BodyLimit,
        exempt={*hidden, CHAT},
        larger=dict.fromkeys(
            (DEFINITIONS, *chain.from_iterable(face.large_bodies for face in list_parts(HTTP_FACE).values())), MAX_DOCUMENT
        ),
    )
    explain_errors(app)
    app.add_middleware(TraceHeaders)
    return app


class _App(FastAPI):
    """Describes the errors that it really answers: invalid input is a 400, not FastAPI's 422."""

    def openapi(self) -> dict[str, Any]:
        """Built once. What an engine has without a JSON Schema is left out."""
        if self.openapi_schema is not None:
            return self.openapi_schema
        try:
            schema = super().openapi()
        except UNUSABLE:
            routes = [route for route in iter_route_contexts(self.routes) if self._is_describable(route)]
            schema = get_openapi(title=self.title, version=self.version, description=self.description, routes=routes)
        for responses in (operation["responses"] for path in schema["paths"].values() for operation in path.values()):
            if "/HTTPValidationError" in str(responses.get("422")):
                del responses["422"]
        for name in ("HTTPValidationError", "ValidationError"):
            schema.get("components", {}).get("schemas", {}).pop(name, None)
        self.openapi_schema = schema
        return schema

    def _is_describable(self, route: RouteContext) -> bool:
        try:
            get_openapi(title=self.title, version=self.version, routes=[route])
        except UNUSABLE:
            log.exception("the endpoint %s cannot be described", route.path, extra={"action": "openapi_trouble"})
            return False
        return True


def _describe(app: FastAPI) -> None:
    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(
            render_docs_page(app.openapi()), headers={"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
        )


def _has_route(routers: Sequence[APIRouter], path: str) -> bool:
    return any(getattr(route, "path", "") == path for router in routers for route in router.routes)


def _find_version() -> str:
    try:
        return version("sdelka")
    except PackageNotFoundError:
        return "0"


def _build_health_router() -> APIRouter:
    router = APIRouter()

    @router.get("/healthz", include_in_schema=False)
    async def healthz() -> dict[str, bool]:
        return {"ok": True}

    return router
