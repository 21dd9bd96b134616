"""uvicorn's HTTP/1.1 protocol with timeouts for slow requests and a limit of connections.

uvicorn has neither: it waits for a head that never ends, and has a caller above its limit wait or be refused, instead of closing a silent
connection. `tests/unit/bot/http_api/test_hostile_slow.py` holds what this adds; its cost is two timers a request.
"""

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
        super().connection_made(transport)
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
