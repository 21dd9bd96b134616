"""A portal for the directory's tests: documented answers behind a mock transport, or the sandbox portal in this process."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from bitrix.catalogue.catalogue import load_catalogue
from bitrix.client.client import BitrixClient
from bitrix.limits.limiter import Limiter
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader
from sandbox.portal.app import create_app
from sandbox.portal.portal import Settings
from tests.fixed_clock import FixedClock
from tests.unit.spine_portal import php

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
HOOK = "http://127.0.0.1:8080/rest/1/sandbox/"
CATALOGUE = load_catalogue(Path(__file__).resolve().parents[3] / "data" / "catalogue")
Answer = Callable[[dict[str, Any]], Any]


class SaysNo(Exception):
    """The portal refuses."""


@dataclass
class Portal:
    """Answers by method: the result, or a function of the parameters; `down` loses every request before it is sent."""

    answers: dict[str, Any]
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    down: bool = False
    hold: Callable[[str], Awaitable[None]] | None = None

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        method, params = request.url.path.rpartition("/")[2], json.loads(request.content)
        self.asked.append((method, params))
        if self.down:
            raise httpx.ConnectError("no route")
        body = self.answer(method, params)
        if self.hold is not None:
            await self.hold(method)
        return body

    def answer(self, method: str, params: dict[str, Any]) -> httpx.Response:
        if method == "batch":
            made = {key: self.result(*_command(text)) for key, text in params["cmd"].items()}
            results = {key: _bare(result) for key, result in made.items()}
            totals, nexts = ({key: result[name] for key, result in made.items() if _has(result, name)} for name in ("total", "next"))
            inner = {"result": results, "result_error": [], "result_total": totals or [], "result_next": nexts or [], "result_time": []}
            return httpx.Response(200, json={"result": inner})
        try:
            result = self.result(method, params)
        except SaysNo as error:
            return httpx.Response(400, json={"error": str(error), "error_description": "no"})
        return httpx.Response(200, json=result if isinstance(result, dict) and "result" in result else {"result": result})

    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method not in self.answers:
            raise SaysNo("ERROR_METHOD_NOT_FOUND")
        found = self.answers[method]
        return found(params) if callable(found) else found

    def count(self, method: str) -> int:
        return [name for name, _ in self.asked].count(method)


@dataclass
class Desk:
    """The directory over one portal."""

    reads: PortalReader
    naming: Naming
    clock: FixedClock
    portal: Portal


def _has(result: Any, name: str) -> bool:
    return isinstance(result, dict) and "result" in result and name in result


def _bare(result: Any) -> Any:
    return result["result"] if isinstance(result, dict) and "result" in result else result


def _command(text: str) -> tuple[str, dict[str, Any]]:
    method, _, query = text.partition("?")
    return method, php(query)


@asynccontextmanager
async def desk(answers: Mapping[str, Any]) -> AsyncIterator[Desk]:
    """The directory over documented answers."""
    portal, clock = Portal(dict(answers)), FixedClock(NOW)
    async with BitrixClient(HOOK, limiter=Limiter.create_unlimited(sleep=_at_once), transport=httpx.MockTransport(portal)) as client:
        reads = PortalReader(client, CATALOGUE, clock)
        yield Desk(reads, Naming(reads), clock, portal)


@asynccontextmanager
async def sandbox() -> AsyncIterator[Naming]:
    """The directory over the sandbox portal."""
    app = create_app(Settings(bucket=None, clock=lambda: NOW))
    async with BitrixClient(HOOK, limiter=Limiter.create_unlimited(), transport=httpx.ASGITransport(app)) as client:
        yield Naming(PortalReader(client, CATALOGUE, FixedClock(NOW)))
    await app.state.portal.events.aclose()
    app.state.portal.close()


async def _at_once(seconds: float) -> None:
    del seconds
