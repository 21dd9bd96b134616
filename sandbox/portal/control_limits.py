"""Sandbox portal, control endpoints for measurements: limits, latency, rights, clock, counters, host name. They change no record."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox.portal.control import Action, on, read_json
from sandbox.portal.limits import OperatingLimit, Pace, RequestLimit, parse_bucket
from sandbox.portal.portal import Portal
from sandbox.portal.rights import Rights

MOST_AHEAD = 10 * 366 * 86_400.0


class LimitsRequest(BaseModel):
    """The body of `POST /sandbox/limits`: the new limits. A setting that is not given keeps its value.

    `bucket` is the limit of requests and `level` the present state of its counters, which start anew if one of the two is given.
    `operating` is the time budget of each method in seconds, `window` the seconds for which it is given, and `cost` maps a method to
    seconds that each of its executions counts in addition. If one of these three is given, the time budgets start anew.
    """

    model_config = ConfigDict(extra="forbid")
    bucket: str | None = Field(default=None, pattern=r"^(off|\d+(\.\d+)?/[1-9]\d*)$", examples=["off", "2/50", "5/250"])
    level: float = Field(default=0.0, ge=0, description="where the request counter stands at this moment; the bucket's size is `hot`")
    operating: float | None = Field(default=480.0, ge=0, description="seconds of work a method has in the window; null switches it off")
    window: float = Field(default=600.0, gt=0)
    cost: dict[str, float] = Field(default_factory=dict, description="seconds that one execution of a method counts without taking them")


class LatencyRequest(BaseModel):
    """The body of `POST /sandbox/latency`: seconds by which an answer is delayed, per request, per command in it, per counted total.

    Requests that arrive together wait at the same time, not one after another.
    """

    model_config = ConfigDict(extra="forbid")
    request: float = Field(default=0.0, ge=0)
    command: float = Field(default=0.0, ge=0)
    total: float = Field(default=0.0, ge=0)


class RightsRequest(BaseModel):
    """The body of `POST /sandbox/rights`: scopes that callers lack, methods denied to them, people whose records they do not see."""

    model_config = ConfigDict(extra="forbid")
    without_scopes: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    hidden: frozenset[int] = frozenset()


class ClockRequest(BaseModel):
    """The body of `POST /sandbox/clock`: by how many seconds the portal's clock is ahead of the true time; negative: behind."""

    model_config = ConfigDict(extra="forbid")
    ahead: float = Field(default=0.0, ge=-MOST_AHEAD, le=MOST_AHEAD)


class RenameRequest(BaseModel):
    """The body of `POST /sandbox/rename`: the new host (with port) of the portal.

    A request to any other host is then answered with a 302 redirect to the new one. If it is null, there is no redirect any more.
    """

    model_config = ConfigDict(extra="forbid")
    host: str | None = None


def routes(portal: Portal) -> list[Route]:
    """Build the routes for limits, latency, rights, clock, stats and rename."""
    table: list[tuple[str, str, Action]] = [
        ("limits", "GET", _limits),
        ("limits", "POST", _set_limits),
        ("latency", "GET", _latency),
        ("latency", "POST", _set_latency),
        ("rights", "POST", _set_rights),
        ("clock", "POST", _set_clock),
        ("stats", "GET", _stats),
        ("stats", "DELETE", _clear_stats),
        ("rename", "POST", _rename),
    ]
    return [on(portal, *row) for row in table]


def _shown_limits(portal: Portal, source: str) -> dict[str, Any]:
    bucket, operating = portal.requests.bucket, portal.operating
    return {
        "bucket": f"{bucket.rate:g}/{bucket.size}" if bucket else "off",
        "level": round(portal.requests.level(source, portal.now), 3),
        "operating": operating.seconds,
        "window": operating.window,
        "cost": dict(operating.cost),
    }


def _source(http: HttpRequest) -> str:
    return http.client.host if http.client else ""


async def _limits(portal: Portal, http: HttpRequest) -> Response:
    return JSONResponse(_shown_limits(portal, _source(http)))


async def _set_limits(portal: Portal, http: HttpRequest) -> Response:
    wanted = LimitsRequest.model_validate(await read_json(http))
    if wanted.bucket is not None or "level" in wanted.model_fields_set:
        bucket = portal.requests.bucket if wanted.bucket is None else parse_bucket(wanted.bucket)
        portal.requests = RequestLimit(bucket, wanted.level, portal.now)
    if wanted.model_fields_set & {"operating", "window", "cost"}:
        old = portal.operating
        chosen = {"seconds": old.seconds, "window": old.window, "cost": old.cost}
        given = wanted.model_dump(include={"operating", "window", "cost"}, exclude_unset=True)
        portal.operating = OperatingLimit(**(chosen | {"seconds" if name == "operating" else name: value for name, value in given.items()}))
    return JSONResponse(_shown_limits(portal, _source(http)))


async def _latency(portal: Portal, _: HttpRequest) -> Response:
    return JSONResponse({"request": portal.pace.request, "command": portal.pace.command, "total": portal.pace.total})


async def _set_latency(portal: Portal, http: HttpRequest) -> Response:
    wanted = LatencyRequest.model_validate(await read_json(http))
    if not math.isfinite(wanted.request + wanted.command + wanted.total):
        raise ValueError("seconds must be finite")
    portal.pace = Pace(wanted.request, wanted.command, wanted.total)
    return await _latency(portal, http)


async def _set_rights(portal: Portal, http: HttpRequest) -> Response:
    wanted = RightsRequest.model_validate(await read_json(http))
    portal.rights = Rights(wanted.without_scopes, wanted.denied, wanted.hidden)
    return JSONResponse({"ok": True})


async def _set_clock(portal: Portal, http: HttpRequest) -> Response:
    portal.ahead = timedelta(seconds=ClockRequest.model_validate(await read_json(http)).ahead)
    return JSONResponse({"now": portal.now.isoformat()})


async def _stats(portal: Portal, _: HttpRequest) -> Response:
    return JSONResponse(portal.stats.shown())


async def _clear_stats(portal: Portal, _: HttpRequest) -> Response:
    portal.stats.clear()
    return JSONResponse({"ok": True})


async def _rename(portal: Portal, http: HttpRequest) -> Response:
    portal.renamed = RenameRequest.model_validate(await read_json(http)).host
    return JSONResponse({"ok": True, "host": portal.renamed})
