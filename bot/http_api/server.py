"""Serves the HTTP door in the loop of the bot, and leaves the stop signals to their one owner. Ring 3."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import uvicorn
from fastapi import FastAPI

from orchestrator.errors import SettingsError

_AT_ONCE = 2000
"""Connections, well above a storm of events: what comes beyond is answered 503, and the portal does not post it again."""
_STOP_WITHIN = 5


class _Server(uvicorn.Server):
    """uvicorn without signal handlers: `bot.running` has them."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take none."""
        yield


def listening(host: str, port: int) -> socket.socket:
    """A socket bound to that address; raises SettingsError when it is taken or not ours."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_AT_ONCE)
    except OverflowError:
        raise SettingsError(f"HTTP_PORT: {port} is no port") from None
    except OSError as error:
        raise SettingsError(f"HTTP_HOST and HTTP_PORT: {host}:{port} cannot be listened on ({error.strerror or error})") from None


async def serve(app: FastAPI, listener: socket.socket) -> None:
    """Answer until cancelled; requests under way are heard to their end, within a few seconds."""
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        backlog=_AT_ONCE,
        limit_concurrency=_AT_ONCE,
        timeout_keep_alive=_STOP_WITHIN,
        timeout_graceful_shutdown=_STOP_WITHIN,
    )
    server = _Server(config)
    serving = asyncio.ensure_future(server.serve(sockets=[listener]))
    try:
        await asyncio.shield(serving)
    finally:
        server.should_exit = True
        await asyncio.wait([serving])
        listener.close()
