"""Sends events to the open chat pages and tests at once. A receiver that is too slow is disconnected."""

import asyncio
from collections.abc import AsyncIterator

import orjson

from sandbox.telegram.wire import JsonObject

_BACKLOG = 2_000
_KEEPALIVE_SECONDS = 15.0


class Hub:
    """Distributes events to all open event streams."""

    def __init__(self) -> None:
        self._watchers: set[asyncio.Queue[JsonObject | None]] = set()
        self._closed = False

    def publish(self, kind: str, chat_id: int, **details: object) -> None:
        """Send an event to every stream. `chat_id` is the chat that the event is about, or 0 if it concerns all chats."""
        event = {"kind": kind, "chat_id": chat_id, **details}
        for queue in list(self._watchers):
            if queue.qsize() >= _BACKLOG:
                self._watchers.discard(queue)
                queue.put_nowait(None)
            else:
                queue.put_nowait(event)

    def close(self) -> None:
        """End every stream, so that the server can stop."""
        self._closed = True
        for queue in self._watchers:
            queue.put_nowait(None)

    async def stream(self, chat_id: int | None = None) -> AsyncIterator[bytes]:
        """Yield events as the bytes of a server-sent event stream, until the hub closes or the receiver is too slow.

        With a `chat_id`, only events about this chat and those that concern all chats are yielded.
        """
        queue: asyncio.Queue[JsonObject | None] = asyncio.Queue()
        if self._closed:
            return
        self._watchers.add(queue)
        try:
            yield b": ready\n\n"
            while True:
                try:
                    event = await asyncio.wait_for(queue.get(), _KEEPALIVE_SECONDS)
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                if event is None:
                    return
                if chat_id is None or event["chat_id"] in {chat_id, 0}:
                    yield b"data: " + orjson.dumps(event) + b"\n\n"
        finally:
            self._watchers.discard(queue)
