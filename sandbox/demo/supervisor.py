"""A small HTTP server in the process that runs the demo; with it the guided tour can kill the bot in the middle of a call."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import httpx
import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from sandbox.demo.processes import Child
from sandbox.demo.scene import Scene, SceneFailed, play


@dataclass
class Supervisor:
    """The address of the demo's HTTP server, and what the scene of the tour needs, which is set once it has started."""

    address: str
    bot: Child | None = None
    portal: str = ""
    telegram: str = ""

    def scene(self) -> Scene:
        """Return what the scene of the tour needs. Raises SceneFailed if the demo is still starting."""
        if self.bot is None:
            raise SceneFailed("демо ещё запускается")
        return Scene(bot=self.bot, portal=self.portal, telegram=self.telegram)


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
    server = _Server(uvicorn.Config(_app(supervisor), log_level="error", lifespan="off"))
    serving = asyncio.ensure_future(server.serve(sockets=[listener]))

    async def close() -> None:
        server.should_exit = True
        await serving

    stack.push_async_callback(close)
    return supervisor


def _app(supervisor: Supervisor) -> FastAPI:
    app = FastAPI()

    @app.get("/health")
    async def health() -> dict[str, object]:
        return {"ok": True, "starts": supervisor.bot.starts if supervisor.bot else 0}

    @app.post("/demo/kill")
    async def kill(asked: Asked) -> StreamingResponse:
        """Play the scene, and stream a sentence about each step as lines of JSON."""
        return StreamingResponse(_told(supervisor, asked.person), media_type="application/x-ndjson")

    return app


class Asked(BaseModel):
    """The request body of `POST /demo/kill`; `person` is the id of the person in whose chat the scene is played."""

    person: int
    chat_id: int | None = None


async def _told(supervisor: Supervisor, person: int) -> AsyncIterator[bytes]:
    try:
        async with httpx.AsyncClient(trust_env=False, timeout=30) as client, asyncio.timeout(90):
            async for line in play(client, supervisor.scene(), person):
                yield json.dumps({"text": line}, ensure_ascii=False).encode() + b"\n"
    except (httpx.HTTPError, SceneFailed, TimeoutError) as error:
        yield json.dumps({"error": f"Сцена не удалась: {error or type(error).__name__}"}, ensure_ascii=False).encode() + b"\n"
