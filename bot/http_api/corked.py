"""A connection whose pieces of one moment go out together: the head of an answer and its body are one call of the system. Ring 3."""

import asyncio
from typing import Any, Final

MAX_BUFFERED: Final = 64 * 1024
"""Bytes that are kept back; more go out at once, so that a caller who reads slowly is noticed."""


class BufferedTransport:
    """Stands for a transport; what was written goes out before the loop waits again, in its order, and before a close."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        """Nothing is written yet."""
        self._transport, self._loop = transport, loop
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Keep it for the end of this moment."""
        if not data:
            return
        if not self._pieces:
            self._loop.call_soon(self._flush)
        self._pieces.append(data)
        self._size += len(data)
        if self._size > MAX_BUFFERED:
            self._flush()

    def close(self) -> None:
        """Send what there is, then close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._pieces:
            whole = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
            self._pieces.clear()
            self._size = 0
            self._transport.write(whole)

    def __getattr__(self, name: str) -> Any:
        """Everything else is the transport's own."""
        return getattr(self._transport, name)
