"""`/healthz` (the process answers) and `/readyz` (each dependency; details only with a token)."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from bot.http_api.server.authentication import MonitoringCheck
from bot.http_api.server.errors import describe_errors
from bot.monitoring.health_checks import HealthChecks, PartyHealth
from state.clock import format_iso


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
