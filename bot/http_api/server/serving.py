"""Serves an ASGI app in the bot's event loop; `bot.composition.process` handles stop signals."""

import asyncio
import contextlib
import resource
import socket
from collections.abc import Iterator
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from bot.http_api.server.protocol import build_protocol
from orchestrator.domain.errors import SettingsError

_MAX_CONNECTIONS: Final = 2000
"""Further callers get 503. Far above any burst of portal events, which the portal never repeats."""
_RESERVED_FILES: Final = 256
"""Open files left for the database, the portal, the model and Telegram."""
_ACCEPT_BATCH: Final = 64
_UNREAD_MS: Final = 30_000
"""Milliseconds until a caller that reads nothing is cut off."""
_STOP_TIMEOUT: Final = 5
_MOST_OF_SOCKET: Final = 2 * 1024 * 1024
"""Bytes of one message of the console."""


class _Server(uvicorn.Server):
    """With a long queue of connections, without signal handlers."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """At most `_ACCEPT_BATCH` at a time: asyncio would accept all before any above the limit could be refused."""
        await super().startup(sockets=sockets)
        for listener in sockets or ():
            listener.listen(_MAX_CONNECTIONS)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def bind_socket(host: str, port: int) -> socket.socket:
    """Raises SettingsError if it is in use or no address of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        server = socket.create_server((host, port), family=family, backlog=_MAX_CONNECTIONS)
    except OverflowError:
        raise SettingsError(f"HTTP_PORT: {port} is no port") from None
    except OSError as error:
        raise SettingsError(f"HTTP_HOST and HTTP_PORT: {host}:{port} cannot be listened on ({error.strerror or error})") from None
    # inherited by accepted connections; without it an answer sent in two parts waits 40 ms
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD_MS)
    return server


def calculate_max_connections(files: int) -> int:
    """`files` is `ulimit -n`, negative for none."""
    return _MAX_CONNECTIONS if files < 0 else min(_MAX_CONNECTIONS, max(files - _RESERVED_FILES, files // 2))


async def serve(app: ASGIApp, listener: socket.socket, *, has_sockets: bool = False) -> None:
    """Until cancelled; then requests have `_STOP_TIMEOUT` seconds. The console needs `has_sockets`."""
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="error",  # callers' mistakes would fill the log
        access_log=False,
        lifespan="off",
        proxy_headers=False,  # which proxies to trust is decided by HTTP_TRUSTED_PROXIES alone, in `authentication`
        http=build_protocol(calculate_max_connections(resource.getrlimit(resource.RLIMIT_NOFILE)[0])),
        ws="websockets-sansio" if has_sockets else "none",
        ws_max_size=_MOST_OF_SOCKET,
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
