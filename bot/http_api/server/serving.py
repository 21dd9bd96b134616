"""Serves the HTTP door in the loop of the bot, and leaves the stop signals to their one owner. Ring 3."""

import asyncio
import contextlib
import resource
import socket
from collections.abc import Iterator
from typing import Final

import uvicorn
from fastapi import FastAPI

from bot.http_api.server.protocol import build_protocol
from orchestrator.domain.errors import SettingsError

_MAX_CONNECTIONS: Final = 2000
"""Connections, well above a storm of events: what comes beyond is answered 503, and the portal does not post it again."""
_RESERVED_FILES: Final = 256
"""Open files that are left to the database, the portal, the model and Telegram, however many connections come."""
_ACCEPT_BATCH: Final = 64
_UNREAD_MS: Final = 30_000
"""A caller that takes nothing of its answer for so long is gone."""
_STOP_TIMEOUT: Final = 5


class _Server(uvicorn.Server):
    """uvicorn without signal handlers: `bot.process` has them; and with a queue before the door that is longer than one step through it."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """What is accepted in one go is bounded: asyncio takes as many as may wait, before the first is turned away again."""
        await super().startup(sockets=sockets)
        for listener in sockets or ():
            listener.listen(_MAX_CONNECTIONS)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take none."""
        yield


def bind_socket(host: str, port: int) -> socket.socket:
    """A socket bound to that address; raises SettingsError when it is taken or not ours."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        made = socket.create_server((host, port), family=family, backlog=_MAX_CONNECTIONS)
    except OverflowError:
        raise SettingsError(f"HTTP_PORT: {port} is no port") from None
    except OSError as error:
        raise SettingsError(f"HTTP_HOST and HTTP_PORT: {host}:{port} cannot be listened on ({error.strerror or error})") from None
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # inherited by what is accepted; else an answer in two parts waits 40 ms
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD_MS)
    return made


def calculate_max_connections(files: int) -> int:
    """How many connections a process that may open so many files (`ulimit -n`) can bear without harm to its other work."""
    return _MAX_CONNECTIONS if files < 0 else min(_MAX_CONNECTIONS, max(files - _RESERVED_FILES, files // 2))


async def serve(app: FastAPI, listener: socket.socket) -> None:
    """Answer until cancelled; requests under way are heard to their end, within a few seconds."""
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="error",  # what callers do wrong is no news, and would fill the log
        access_log=False,
        lifespan="off",
        proxy_headers=False,  # whom to believe says HTTP_TRUSTED_PROXIES alone, in `identity`
        http=build_protocol(calculate_max_connections(resource.getrlimit(resource.RLIMIT_NOFILE)[0])),
        ws="none",
        server_header=False,
        backlog=_ACCEPT_BATCH,
        timeout_keep_alive=_STOP_TIMEOUT,
        timeout_graceful_shutdown=_STOP_TIMEOUT,
    )
    server = _Server(config)
    serving = asyncio.ensure_future(server.serve(sockets=[listener]))
    try:
        await asyncio.shield(serving)
    finally:
        server.should_exit = True
        await asyncio.wait([serving])
        listener.close()
