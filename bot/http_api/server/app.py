"""The app of everything over HTTP. Pages load nothing from other servers; the API is described only if tokens are configured."""

import logging
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts

from bot.http_api.chat.router import PATH as CHAT
from bot.http_api.definitions.request_body import MAX_BODY as MAX_DOCUMENT
from bot.http_api.definitions.request_body import PREFIX as DEFINITIONS
from bot.http_api.engine_face import HTTP_FACE
from bot.http_api.server.authentication import Authenticator
from bot.http_api.server.docs_page import render_docs_page
from bot.http_api.server.error_handlers import explain_errors
from bot.http_api.server.middleware import BodyLimit, TraceHeaders
from bot.http_api.server.portal_events import PATH as EVENTS
from bot.http_api.server.portal_events import build_closed_portal_events_router
from bot.plugins.loading import UNUSABLE, list_parts
from state.clock import SystemClock

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
