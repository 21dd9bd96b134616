"""`/healthz` (the process answers), `/readyz` (each dependency; details only with a token), and `/metrics` for Prometheus, with a token."""

import logging
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from pydantic import BaseModel, ConfigDict, Field
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.http_api.server.authentication import MonitoringCheck
from bot.http_api.server.errors import ApiError, describe_errors
from bot.monitoring.gauges import Scrape
from bot.monitoring.health_checks import HealthChecks, PartyHealth
from bot.monitoring.meters import Meters
from state.clock import format_iso, read_boottime

log = logging.getLogger(__name__)

_REFUSAL_REASONS: Final = {401: "unauthorized", 403: "forbidden", 429: "too_many_requests"}


def build_metrics_router(scrape: Scrape, may: MonitoringCheck) -> APIRouter:
    """`may` checks the request's token."""
    router = APIRouter(tags=["operation"])

    @router.get(
        "/metrics",
        summary="Counters and gauges in the text format of Prometheus",
        response_class=Response,
        responses={200: {"content": {"text/plain": {}}}, **describe_errors(401, 403, 429)},
    )
    async def metrics(request: Request) -> Response:
        if not may(request):
            raise ApiError(401, "unauthorized", "METRICS_TOKEN as a bearer, or the token of an admin, is needed.")
        return Response(await scrape.render(), media_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})

    return router


class RequestCounter:
    """By the route's pattern, such as "/confirmations/{confirmation_id}"."""

    def __init__(self, app: ASGIApp, meters: Meters) -> None:
        self._app = app
        self._meters = meters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = read_boottime(), 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
                self._count(scope, status, read_boottime() - begun)
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            if not status:  # it failed, or the caller disconnected, before there was an answer
                self._count(scope, 499, read_boottime() - begun)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        try:
            self._meters.count_request(str(scope["method"]), str(getattr(scope.get("route"), "path", "")), status, seconds)
            if status in _REFUSAL_REASONS:
                self._meters.count_turned_away(_REFUSAL_REASONS[status])
        except Exception:  # a metrics error must not fail the request
            log.exception("a request was not counted", extra={"action": "watcher_failed"})


class Alive(BaseModel):
    """The answer of `/healthz`: the process is running."""

    model_config = ConfigDict(frozen=True)
    ok: bool = True


class Ready(BaseModel):
    """The answer of `/readyz`: whether everything that the bot needs works, and the state of each dependency."""

    model_config = ConfigDict(frozen=True)
    ready: bool
    parties: dict[str, Any] = Field(
        description='Of each party "ok" or "not"; with a token {"state", "since", "why"}.',
        examples=[{"database": "ok", "portal": "not"}],
    )


def build_health_router(parties: HealthChecks | None, may: MonitoringCheck) -> APIRouter:
    """`may` see the details. Without `parties` there is only `/healthz`."""
    router = APIRouter(tags=["operation"])

    @router.get("/healthz", summary="Whether the program answers")
    async def healthz() -> Alive:
        return Alive()

    if parties is None:
        return router

    @router.get(
        "/readyz",
        summary="Whether each party is well",
        response_model=Ready,
        responses={503: {"model": Ready, "description": "At least one party is not well."}, **describe_errors(401, 403, 429)},
    )
    async def readyz(request: Request) -> JSONResponse:
        knows = may(request)
        healths = await parties.check_all()
        ready = all(party_health.ok for party_health in healths)
        readiness = Ready(
            ready=ready,
            parties={
                one.name: {"state": _format_state(one), "since": format_iso(one.since), "why": one.why} if knows else _format_state(one)
                for one in healths
            },
        )
        return JSONResponse(readiness.model_dump(), 200 if ready else 503, headers={"Cache-Control": "no-store"})

    return router


def _format_state(party_health: PartyHealth) -> str:
    return "ok" if party_health.ok else "not"
