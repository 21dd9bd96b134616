"""Endpoints for what stands beside the chat on the page: its texts, deals and calls, the audit log, the tour.

They also pass requests of the page on to the demo's supervisor, the server that restores what a scene needs and kills the bot.
"""

from collections.abc import AsyncIterator
from typing import Literal, TypeVar

import httpx
import orjson
from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from sandbox.telegram.audit import read_audit
from sandbox.telegram.deals import Portal
from sandbox.telegram.settings import TelegramSandboxSettings
from sandbox.telegram.storage.people import BOT
from sandbox.telegram.wire import JsonObject
from sandbox.telegram.wording import load_texts, load_tour

_SUPERVISOR_SECONDS = 180.0
Given = TypeVar("Given")
Language = Literal["ru", "en"]


def demo_router(settings: TelegramSandboxSettings, client: httpx.AsyncClient) -> APIRouter:
    """Return the router of `/demo/…`. A request for something that was not configured at the start gets status 404 with an explanation."""
    router = APIRouter(prefix="/demo")
    portal = Portal(settings.portal_url, client) if settings.portal_url else None

    @router.get("/config")
    async def config() -> JsonObject:
        return {
            "bot": BOT,
            "portal": portal is not None,
            "audit": settings.audit_dir is not None,
            "supervisor": settings.supervisor_url is not None,
        }

    @router.get("/texts/{language}")
    async def texts(language: Language) -> JsonObject:
        return load_texts(language)

    @router.get("/crm")
    async def crm() -> JsonObject:
        return await _given(portal, "portal").deals()

    @router.get("/ledger")
    async def ledger(after: int = 0) -> JsonObject:
        return await _given(portal, "portal").ledger(after)

    @router.get("/audit")
    def audit(limit: int = 60, find: str = "") -> JsonObject:
        return {"records": read_audit(_given(settings.audit_dir, "audit folder"), limit, find)}

    @router.get("/tour")
    def tour(language: Language = "ru") -> JsonObject:
        return {"tour": load_tour(language)}

    _supervisor_routes(router, settings, client)
    return router


def _supervisor_routes(router: APIRouter, settings: TelegramSandboxSettings, client: httpx.AsyncClient) -> None:
    """Add routes to `router` that pass requests on to the demo's supervisor.

    They prepare a scene, start the demo over, change the language, and kill the bot.
    """

    def address(name: str) -> str:
        return f"{_given(settings.supervisor_url, 'supervisor').rstrip('/')}/demo/{name}"

    @router.post("/kill")
    async def kill(request: Request) -> StreamingResponse:
        lines = _relayed(client, address("kill"), await request.body())
        return StreamingResponse(lines, media_type="application/x-ndjson")

    @router.post("/{name}")
    async def forward(name: Literal["prepare", "restart", "language"], request: Request) -> Response:
        headers = {"content-type": "application/json"}
        try:
            answer = await client.post(address(name), content=await request.body(), headers=headers, timeout=_SUPERVISOR_SECONDS)
        except httpx.HTTPError:
            return JSONResponse({"code": "no-supervisor"}, 502)
        return Response(answer.content, answer.status_code, media_type="application/json")


async def _relayed(client: httpx.AsyncClient, address: str, body: bytes) -> AsyncIterator[bytes]:
    """Yield the lines with which the supervisor reports its progress.

    If it fails, the last line has the code of the failure, since it is then too late for an error status.
    """
    headers = {"content-type": "application/json"}
    try:
        async with client.stream("POST", address, content=body, headers=headers, timeout=_SUPERVISOR_SECONDS) as answer:
            if answer.is_error:
                yield _line("no-supervisor")
                return
            async for line in answer.aiter_lines():
                yield line.encode() + b"\n"
    except httpx.HTTPError:
        yield _line("no-supervisor")


def _line(error: str) -> bytes:
    """Return a failure as a line of JSON; `error` is its code, under which the page's texts have a sentence."""
    return orjson.dumps({"error": error}) + b"\n"


def _given(value: Given | None, name: str) -> Given:
    if value is None:
        raise HTTPException(404, f"this sandbox was started without a {name}")
    return value
