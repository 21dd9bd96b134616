"""A small HTTP server for the page of the demo: it restores what a scene needs, starts over, and kills the bot in the middle of a call."""

import asyncio
import contextlib
import json
import socket
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import httpx
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel

from sandbox.demo.installation import Language
from sandbox.demo.restore import Needs, SceneFailed, Stage, prepare_scene, set_language, start_over
from sandbox.demo.scene import play

_TIMEOUT = 90.0
"""Seconds that a whole scene may take."""


@dataclass
class Supervisor:
    """What the HTTP server controls; `stage` is None until everything has been started."""

    address: str
    stage: Stage | None = None
    rounds: Counter[str] = field(default_factory=Counter)
    """How often each scene was begun."""
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the bot is stopped, killed or restored, so that two pages of the demo do not do it at once."""

    def get_stage(self) -> Stage:
        """Return the running demo. Raises SceneFailed before everything has started."""
        if self.stage is None:
            raise SceneFailed("starting")
        return self.stage


class Asked(BaseModel):
    """A scene that the page asks for: whose it is, what it needs, and what the person writes in it."""

    scene: str = ""
    person: int = 0
    deals: list[int] = []
    reason: str = ""
    words: str = ""


class Chosen(BaseModel):
    """The language that the page was switched to."""

    language: Language


class _Server(uvicorn.Server):
    """A uvicorn server that does not handle signals, because the demo's own handlers must also stop the other processes."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Replace uvicorn's method that installs signal handlers; install none."""
        yield


async def serve_supervisor(stack: contextlib.AsyncExitStack) -> Supervisor:
    """Start the HTTP server on a free loopback port and return its `Supervisor`; the server is stopped when `stack` is closed."""
    listener = socket.create_server(("127.0.0.1", 0))
    supervisor = Supervisor(address=f"http://127.0.0.1:{listener.getsockname()[1]}")
    server = _Server(uvicorn.Config(_build_app(supervisor), log_level="error", lifespan="off"))
    serving = asyncio.ensure_future(server.serve(sockets=[listener]))

    async def close() -> None:
        server.should_exit = True
        await serving

    stack.push_async_callback(close)
    return supervisor


def _build_app(supervisor: Supervisor) -> FastAPI:
    app = FastAPI()

    @app.get("/health")
    async def health() -> dict[str, object]:
        return {"ok": True, "starts": supervisor.stage.bot.starts if supervisor.stage else 0}

    @app.post("/demo/prepare")
    async def prepare(asked: Asked) -> dict[str, object]:
        needs = Needs(person=asked.person, deals=asked.deals, reason=asked.reason)
        async with supervisor.busy, _open_client() as client:
            await prepare_scene(client, supervisor.get_stage(), needs)
        supervisor.rounds[asked.scene] += 1
        return {"round": supervisor.rounds[asked.scene]}

    @app.post("/demo/restart")
    async def restart() -> dict[str, object]:
        async with supervisor.busy, _open_client() as client:
            await start_over(client, supervisor.get_stage())
            supervisor.rounds.clear()
        return {"ok": True}

    @app.post("/demo/language")
    async def language(chosen: Chosen) -> dict[str, object]:
        async with supervisor.busy, _open_client() as client:
            await set_language(client, supervisor.get_stage(), chosen.language)
        return {"language": chosen.language}

    @app.post("/demo/kill")
    async def kill(asked: Asked) -> StreamingResponse:
        return StreamingResponse(_play_kill(supervisor, asked), media_type="application/x-ndjson")

    app.add_exception_handler(SceneFailed, _show_failure)
    app.add_exception_handler(httpx.HTTPError, _show_failure)
    return app


@contextlib.asynccontextmanager
async def _open_client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
        yield client


async def _show_failure(_request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"code": _find_code(error)}, status_code=502)


def _find_code(error: Exception) -> str:
    """Return the code under which the page's texts explain the failure `error`."""
    return str(error) if isinstance(error, SceneFailed) else "silent"


async def _play_kill(supervisor: Supervisor, asked: Asked) -> AsyncIterator[bytes]:
    """Play the scene and yield its progress as JSON lines; if the scene fails, the last line has the code of the failure."""
    try:
        async with supervisor.busy, _open_client() as client, asyncio.timeout(_TIMEOUT):
            async for line in play(client, supervisor.get_stage(), asked.person, asked.words):
                yield _encode(line)
    except (httpx.HTTPError, SceneFailed, TimeoutError) as error:
        yield _encode({"error": _find_code(error)})


def _encode(line: dict[str, object]) -> bytes:
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"
