"""The API behind its real server on loopback, and callers who write bytes of their own."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request

from bot.http_api.server.app import build_app
from bot.http_api.server.serving import bind_socket, serve
from bot.plugins.building import load_installed_engines
from tests.unit.bot.http_api.chat_kit import SITE, Door, a_door

PATIENCE = 30.0


@dataclass(frozen=True)
class Heard:
    """One answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        """The word of a refusal, which has the one form; what has not is told as it is."""
        told = json.loads(self.body) if self.headers.get("content-type") == "application/json" else {}
        in_form = set(told) == {"error"} and set(told["error"]) == {"code", "message"}
        return str(told["error"]["code"]) if in_form else repr(self.body[:100])

    @property
    def same(self) -> tuple[int, frozenset[tuple[str, str]], bytes]:
        """All of it, but for when it was and its trace id."""
        return self.status, frozenset(pair for pair in self.headers.items() if pair[0] not in {"date", "x-trace-id"}), self.body


class Wire:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, *parts: bytes) -> None:
        self.writer.write(b"".join(parts))

    async def answer(self, *, with_body: bool = True) -> Heard:
        """The next one."""
        async with asyncio.timeout(PATIENCE):
            first, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            body = await self.reader.readexactly(int(headers.get("content-length", "0"))) if with_body else b""
        assert first.startswith("HTTP/1.1 "), first
        return Heard(int(first.split()[1]), headers, body)

    async def ended(self) -> bytes:
        """What still comes until the other side hangs up."""
        async with asyncio.timeout(PATIENCE):
            with suppress(ConnectionError):
                return await self.reader.read()
        return b""


@dataclass
class Site:
    """Where it listens."""

    door: Door
    app: FastAPI
    port: int

    @asynccontextmanager
    async def wire(self) -> AsyncIterator[Wire]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            yield Wire(reader, writer)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def told(self, sent: bytes, *, with_body: bool = True) -> Heard:
        """The answer to that, on a connection of its own."""
        async with self.wire() as wire:
            wire.send(sent)
            return await wire.answer(with_body=with_body)


def request(verb: str, path: str, body: bytes | None = None, *, token: str = SITE, **headers: Any) -> bytes:
    """A proper request; a header of None is left out."""
    told = {"Host": "bot", "X-API-Key": token or None}
    told |= {"Content-Type": "application/json", "Content-Length": len(body)} if body is not None else {}
    told |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{name}: {value}" for name, value in told.items() if value is not None]
    return "\r\n".join([f"{verb} {path} HTTP/1.1", *lines, "", ""]).encode("latin-1") + (body or b"")


@asynccontextmanager
async def a_site(folder: Path, **over: Any) -> AsyncIterator[Site]:
    """The product behind its door; `/held` is answered when somebody sets `app.state.go`."""
    async with a_door(folder, http_rate_limit=0, **over) as door:
        app = build_app(*door.api.build_routers(door.world.orchestrator, load_installed_engines()), _held(), identity=door.api.identity)
        app.state.go, app.state.waiting = asyncio.Event(), 0
        with closing(bind_socket("127.0.0.1", 0)) as listener:
            serving = asyncio.ensure_future(serve(app, listener))
            await asyncio.sleep(0)
            try:
                yield Site(door, app, listener.getsockname()[1])
            finally:
                app.state.go.set()
                serving.cancel()
                await asyncio.gather(serving, return_exceptions=True)


def _held() -> APIRouter:
    router = APIRouter()

    @router.get("/held")
    async def held(request: Request) -> dict[str, bool]:
        request.app.state.waiting += 1
        await request.app.state.go.wait()
        return {"ok": True}

    return router
