"""uvicorn's HTTP/1.1 protocol with timeouts for slow requests and a limit of connections, and a transport that joins small writes."""

import asyncio
import json
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from state.clock import read_boottime

HEAD_WITHIN: Final = 10.0
"""Seconds in which the head of a request (request line and headers) must arrive, from the start of the connection or of the request."""
REST_WITHIN: Final = 5.0
"""Seconds that a caller may go on sending a body after its request has been answered."""


class LimitedProtocol(H11Protocol):
    """The HTTP protocol of one connection, which is closed if the head (request line and headers) of a request does not arrive in time.

    Heads above 64 KB are refused by the library h11.
    """

    most = 1000
    """Maximum number of connections; `build_protocol` makes a class with another limit."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Create the protocol of one connection; uvicorn passes the arguments."""
        super().__init__(*args, **kwargs)
        self._head: asyncio.TimerHandle | None = None
        self._rest: asyncio.TimerHandle | None = None
        self._since = read_boottime()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout for the first request. If there are too many connections, close the one that has been idle longest.

        If none is idle, refuse the new connection with a 503 instead.
        """
        super().connection_made(BufferedTransport(transport, self.loop))  # type: ignore[arg-type]
        if len(self.connections) > self.most and not self._discard_idle():
            transport.write(_build_refusal(503, "unavailable", "Too many connections."))
            transport.close()
            return
        self._start_head_timer()

    def data_received(self, data: bytes) -> None:
        """Process received data, and start or stop the timeout for the head of a request.

        For the first request of a connection `connection_made` starts the timeout. For each later one it starts here, at the first byte of
        the request. It stops when the head is complete.
        """
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._cancel_head_timer()
        elif self._head is None and not self.transport.is_closing() and self.conn.trailing_data[0]:
            self._start_head_timer()
        if self._rest is not None and self.conn.their_state is not h11.SEND_BODY:
            self._rest.cancel()
            self._rest = None

    def on_response_complete(self) -> None:
        """After an answer, keep the connection for `REST_WITHIN` seconds if the request's body was not read to its end.

        If the connection were closed at once, the caller might not receive the answer.
        """
        self._since = read_boottime()
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY and self._rest is None and not self.transport.is_closing():
            self._rest = self.loop.call_later(REST_WITHIN, self.transport.abort)

    def send_400_response(self, msg: str) -> None:
        """Answer a request that is not valid HTTP with an error in the API's form, and close the connection.

        Nothing is logged, because anybody could fill the log with such requests.
        """
        del msg
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            self.transport.write(_build_refusal(400, "invalid_http", "This is no HTTP/1.1 request."))
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel all timers of the connection."""
        self._cancel_head_timer()
        if self._rest is not None:
            self._rest.cancel()
        super().connection_lost(exc)

    def _discard_idle(self) -> bool:
        """Close the connection that has been idle longest; return whether there was one."""
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
        """Whether no request is being answered on this connection."""
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
    """Return a protocol class that allows `most` connections at once."""
    return type("PatientOnce", (LimitedProtocol,), {"most": most})


def _build_refusal(status: int, code: str, message: str) -> bytes:
    body = json.dumps({"error": {"code": code, "message": message}}).encode()
    words = {400: "Bad Request", 503: "Service Unavailable"}[status]
    head = f"HTTP/1.1 {status} {words}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


MAX_BUFFERED: Final = 64 * 1024
"""Maximum number of buffered bytes; if more are written they are sent at once, so that a slow reader is noticed."""


class BufferedTransport:
    """Wraps a transport and joins small writes: the writes of one iteration of the event loop are sent together, in order."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        """Wrap `transport`; nothing is buffered yet."""
        self._transport, self._loop = transport, loop
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Buffer the data until the end of this iteration of the event loop; with more than `MAX_BUFFERED` bytes, send them at once."""
        if not data:
            return
        if not self._pieces:
            self._loop.call_soon(self._flush)
        self._pieces.append(data)
        self._size += len(data)
        if self._size > MAX_BUFFERED:
            self._flush()

    def close(self) -> None:
        """Send what is buffered, then close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._pieces:
            whole = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
            self._pieces.clear()
            self._size = 0
            self._transport.write(whole)

    def __getattr__(self, name: str) -> Any:
        """Return the attribute `name` of the wrapped transport; called for everything that this class does not define itself."""
        return getattr(self._transport, name)
