"""Serves the data that the page shows beside the chat: deals and calls of the portal, the audit log, and the guided tour.

Everything is read-only except one action of the tour, which kills the bot through the supervisor.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TypeVar

import httpx
import orjson
import yaml
from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import StreamingResponse

from sandbox.telegram.audit import read_audit
from sandbox.telegram.deals import Portal
from sandbox.telegram.settings import TelegramSandboxSettings
from sandbox.telegram.storage.people import BOT
from sandbox.telegram.wire import JsonObject

_TOUR = Path(__file__).with_name("tour.yaml")
_SUPERVISOR_SECONDS = 120.0
Given = TypeVar("Given")


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
    def tour() -> JsonObject:
        return {"tour": yaml.safe_load(_TOUR.read_text(encoding="utf-8"))["tour"]}

    @router.post("/kill")
    async def kill(request: Request) -> StreamingResponse:
        address = f"{_given(settings.supervisor_url, 'supervisor').rstrip('/')}/demo/kill"
        lines = _relayed(client, address, await request.body())
        return StreamingResponse(lines, media_type="application/x-ndjson")

    return router


async def _relayed(client: httpx.AsyncClient, address: str, body: bytes) -> AsyncIterator[bytes]:
    """Yield the lines with which the supervisor reports its progress. A failure is yielded as a last line, since the answer has begun."""
    headers = {"content-type": "application/json"}
    try:
        async with client.stream("POST", address, content=body, headers=headers, timeout=_SUPERVISOR_SECONDS) as answer:
            if answer.is_error:
                yield _line(f"Супервизор ответил {answer.status_code}")
                return
            async for line in answer.aiter_lines():
                yield line.encode() + b"\n"
    except httpx.HTTPError as error:
        yield _line(f"Супервизор недоступен: {type(error).__name__}")


def _line(error: str) -> bytes:
    return orjson.dumps({"error": error}) + b"\n"


def _given(value: Given | None, name: str) -> Given:
    if value is None:
        raise HTTPException(404, f"this sandbox was started without a {name}")
    return value
