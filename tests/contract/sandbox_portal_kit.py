"""Helpers of the sandbox portal's tests: a clock that stands still, and a caller over HTTP in process or over loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from sandbox.portal.app import create_app
from sandbox.portal.portal import Portal, Settings
from tests.forker import forked

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Clock:
    """Shows one moment until it is moved."""

    moment: datetime = field(default=datetime(2026, 11, 21, 18, 0, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.moment

    def move(self, **by: float) -> None:
        self.moment += timedelta(**by)


@dataclass
class Caller:
    """Speaks REST and the control addresses to one portal."""

    http: httpx.AsyncClient
    clock: Clock | None = None
    portal: Portal | None = None

    async def send(self, method: str, params: Any = None, prefix: str = "/rest/1/sandbox/") -> httpx.Response:
        return await self.http.post(prefix + method, json=params or {})

    async def call(self, method: str, params: Any = None) -> dict[str, Any]:
        answer = await self.send(method, params)
        return dict(answer.json())

    async def result(self, method: str, params: Any = None) -> Any:
        body = await self.call(method, params)
        assert "result" in body, body
        return body["result"]

    async def arm(self, **fault: Any) -> None:
        assert (await self.http.post("/sandbox/faults", json=fault)).status_code == 200

    async def ledger(self, method: str = "") -> list[dict[str, Any]]:
        return list((await self.http.get("/sandbox/ledger", params={"method": method})).json()["calls"])


@contextlib.asynccontextmanager
async def in_process(**settings: Any) -> AsyncIterator[Caller]:
    """A portal behind httpx's ASGI transport; no limit of requests unless asked for."""
    clock = settings.setdefault("clock", Clock())
    settings.setdefault("bucket", None)
    app = create_app(Settings(**settings))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://portal.test") as http:
        yield Caller(http, clock, app.state.portal)
    await app.state.portal.events.aclose()
    app.state.portal.close()


@contextlib.asynccontextmanager
async def listener() -> AsyncIterator[tuple[str, asyncio.Queue[tuple[str, str]]]]:
    """A handler of events on loopback; the content type and the body of each POST lie in the queue."""
    got: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n") if b": " in line)
        body = await reader.readexactly(int(fields[b"content-length"]))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()
        got.put_nowait((fields[b"content-type"].decode(), body.decode()))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/events", got


@contextlib.asynccontextmanager
async def as_process(data: Path | None = None, *more: str) -> AsyncIterator[tuple[Caller, asyncio.subprocess.Process]]:
    """A portal as `python -m sandbox.portal` starts it, on a free port."""
    arguments = ["-m", "sandbox.portal", "--port", "0", "--bucket", "off", *(["--data", str(data)] if data else []), *more]
    process = await asyncio.create_subprocess_exec(
        *forked(*arguments), cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    first = json.loads(await asyncio.wait_for(process.stdout.readline(), 60))
    try:
        async with httpx.AsyncClient(base_url=first["portal"], timeout=10) as http:
            yield Caller(http), process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
