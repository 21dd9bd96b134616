"""Serves an ASGI app in the bot's event loop; `bot.composition.process` handles stop signals.

uvicorn has no timeout for slow heads, and no limit that closes silent connections: `test_hostile_slow.py`.
"""

import asyncio
import contextlib
import json
import resource
import socket
from collections.abc import Iterator
from typing import Any, Final

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from orchestrator.domain.errors import SettingsError
from state.clock import read_boottime

HEAD_WITHIN: Final = 10.0
"""Seconds for request line and headers, from the start of the connection or of the request."""
REST_WITHIN: Final = 5.0
"""Seconds that a caller may go on sending after its answer."""


class LimitedProtocol(H11Protocol):
    """Closed if a head does not arrive in time. h11 refuses heads above 64 KB."""

    most = 1000
    """Connections; `build_protocol` sets it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head: asyncio.TimerHandle | None = None
        self._rest: asyncio.TimerHandle | None = None
        self._since = read_boottime()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Above the limit the connection idle longest is closed; if none is idle, the new one gets 503."""
        super().connection_made(transport)
        if len(self.connections) > self.most and not self._discard_idle():
            transport.write(_build_refusal(503, "unavailable", "Too many connections."))
            transport.close()
            return
        self._start_head_timer()

    def data_received(self, data: bytes) -> None:
        """The timeout of a head starts at its first byte, of the first head in `connection_made`."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._cancel_head_timer()
        elif self._head is None and not self.transport.is_closing() and self.conn.trailing_data[0]:
            self._start_head_timer()
        if self._rest is not None and self.conn.their_state is not h11.SEND_BODY:
            self._rest.cancel()
            self._rest = None

    def on_response_complete(self) -> None:
        """For `REST_WITHIN` seconds if the body was not read to its end: closed at once, the caller might miss the answer."""
        self._since = read_boottime()
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY and self._rest is None and not self.transport.is_closing():
            self._rest = self.loop.call_later(REST_WITHIN, self.transport.abort)

    def send_400_response(self, msg: str) -> None:
        """In the API's form; not logged, since anybody could fill the log."""
        del msg
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            self.transport.write(_build_refusal(400, "invalid_http", "This is no HTTP/1.1 request."))
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_head_timer()
        if self._rest is not None:
            self._rest.cancel()
        super().connection_lost(exc)

    def _discard_idle(self) -> bool:
        """The one idle longest; False if there is none."""
        idle = [other for other in self.connections if isinstance(other, LimitedProtocol) and other is not self and other.is_idle]
        if not idle:
            return False
        eldest = min(idle, key=lambda other: other._since)  # noqa: SLF001 - an instance of this class
        eldest._cancel_head_timer()  # noqa: SLF001 - as above
        self.connections.discard(eldest)
        eldest.transport.abort()
        return True

    @property
    def is_idle(self) -> bool:
        """No request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _start_head_timer(self) -> None:
        self._since = read_boottime()
        self._head = self.loop.call_later(HEAD_WITHIN, self._close_slow)

    def _close_slow(self) -> None:
        self._head = None
        self.transport.close()

    def _cancel_head_timer(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None


def build_protocol(most: int) -> type[LimitedProtocol]:
    """`most` connections at once."""
    return type("PatientOnce", (LimitedProtocol,), {"most": most})


def _build_refusal(status: int, code: str, message: str) -> bytes:
    body = json.dumps({"error": {"code": code, "message": message}}).encode()
    words = {400: "Bad Request", 503: "Service Unavailable"}[status]
    head = f"HTTP/1.1 {status} {words}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


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
