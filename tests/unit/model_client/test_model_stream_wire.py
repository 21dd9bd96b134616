"""The model client against a real socket: reuse, drips, silence, broken connections."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from orchestrator.domain.errors import ModelClientError
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.settings import ModelSettings

PAYLOAD = {"messages": [{"role": "user", "content": "Привет"}]}
Script = Callable[[asyncio.StreamWriter], Awaitable[None]]


def event(content: str | None, finish: str | None = None) -> bytes:
    """Return one event of a streamed completion with unescaped text."""
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": finish}
    return f"data: {json.dumps({'model': 'm', 'choices': [choice]}, ensure_ascii=False)}\n\n".encode()


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
WHOLE = event("Привет, ") + event("мир 🙂") + event(None, "stop") + b"data: [DONE]\n\n"
END = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """Return `data` in chunked coding."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


@dataclass
class Server:
    """A loopback service that plays one script per request."""

    scripts: list[Script]
    connections: int = 0
    requests: int = 0
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests on one connection until the other side leaves."""
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                await reader.readexactly(size)
                self.requests += 1
                await self.scripts.pop(0)(writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(*scripts: Script, **settings: Any) -> AsyncIterator[tuple[Server, ModelClient]]:
    """Run a service with these scripts and a client that speaks to it."""
    server = Server(list(scripts))
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    client = ModelClient(ModelSettings(base_url=f"http://127.0.0.1:{port}/v1", **settings), sleep=no_pause)
    try:
        yield server, client
    finally:
        await client.aclose()
        listener.close()
        for task in server.tasks:
            task.cancel()
        await asyncio.gather(*server.tasks)


async def no_pause(_seconds: float) -> None:
    """Skip a pause."""


async def good(writer: asyncio.StreamWriter) -> None:
    """Send a whole answer at once."""
    writer.write(HEAD + chunk(WHOLE) + END)


async def byte_by_byte(writer: asyncio.StreamWriter) -> None:
    """Send a whole answer, each byte in a chunk of its own."""
    writer.write(HEAD)
    for byte in WHOLE:
        writer.write(chunk(bytes([byte])))
        await writer.drain()
    writer.write(END)


async def drip(writer: asyncio.StreamWriter) -> None:
    """Send keep-alive comments and never an answer."""
    writer.write(HEAD)
    await ping_for_ever(writer)


async def fall_silent(writer: asyncio.StreamWriter) -> None:
    """Send a piece, then only comments."""
    writer.write(HEAD + chunk(event("При")))
    await ping_for_ever(writer)


async def ping_for_ever(writer: asyncio.StreamWriter) -> None:
    """Send comments until the other side leaves."""
    while True:
        writer.write(chunk(b": ping\n\n"))
        await writer.drain()
        await asyncio.sleep(0.01)


async def break_off(writer: asyncio.StreamWriter) -> None:
    """Send a piece and cut the connection."""
    writer.write(HEAD + chunk(event("При")))
    await writer.drain()
    writer.transport.abort()


async def break_before(writer: asyncio.StreamWriter) -> None:
    """Cut the connection without a word."""
    writer.transport.abort()


async def break_after_the_end(writer: asyncio.StreamWriter) -> None:
    """Say that the answer is whole, then close without ending the body."""
    writer.write(HEAD + chunk(event("Привет", "stop")))
    await writer.drain()
    writer.close()


async def say_nothing(_writer: asyncio.StreamWriter) -> None:
    """Never answer."""
    await asyncio.Event().wait()


@pytest.mark.req("S004-16")
async def test_one_connection_serves_many_calls() -> None:
    """Streams that ended well leave their connection for the next call, and every byte boundary is harmless."""
    async with serving(good, byte_by_byte, good) as (server, client):
        for _ in range(3):
            assert (await client.stream_chat(PAYLOAD)).text == "Привет, мир 🙂"
        assert (server.requests, server.connections) == (3, 1)


@pytest.mark.req("S004-21")
@pytest.mark.parametrize("script", [drip, say_nothing])
async def test_the_deadline_covers_everything(script: Script) -> None:
    """A service that answers nothing, or drips for ever, is left at the deadline."""
    async with serving(script, total_deadline=0.2) as (_, client):
        with pytest.raises(ModelClientError, match="in time"):
            await client.stream_chat(PAYLOAD)


@pytest.mark.req("S004-21")
async def test_silence_in_the_middle_is_noticed() -> None:
    """Once text flowed, comments alone do not keep a call alive."""
    async with serving(fall_silent, silence=0.1) as (_, client):
        with pytest.raises(ModelClientError, match="silent"):
            await client.stream_chat(PAYLOAD)


@pytest.mark.req("S004-21")
async def test_nothing_is_tried_again_after_the_first_piece_was_shown() -> None:
    """A broken stream is asked for again only while nobody has seen a piece of it."""
    pieces: list[str] = []

    async def keep(piece: str) -> None:
        pieces.append(piece)

    async with serving(break_off, good) as (server, client):
        with pytest.raises(ModelClientError, match="broke"):
            await client.stream_chat(PAYLOAD, keep)
        assert (server.requests, pieces) == (1, ["При"])
    async with serving(break_off, break_before, good) as (server, client):
        assert (await client.stream_chat(PAYLOAD)).text == "Привет, мир 🙂"
        assert server.requests == 3


async def test_a_kept_connection_that_died_is_no_failure() -> None:
    """A connection that the service closed while idle costs a second attempt, not the turn."""
    async with serving(good, break_before, good) as (server, client):
        await client.stream_chat(PAYLOAD)
        assert (await client.stream_chat(PAYLOAD)).text == "Привет, мир 🙂"
        assert server.requests == 3


async def test_a_whole_answer_survives_a_broken_tail() -> None:
    """When the model has said that it is done, a connection cut afterwards loses nothing but the token counts."""
    async with serving(break_after_the_end) as (server, client):
        answer = await client.stream_chat(PAYLOAD)
        assert (answer.text, answer.prompt_tokens, server.requests) == ("Привет", 0, 1)


@pytest.mark.req("S004-21")
async def test_nobody_listens() -> None:
    """A port where nobody listens any more is a ModelClientError after the attempts are used up."""
    listener = await asyncio.start_server(Server([]).serve, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    listener.close()
    await listener.wait_closed()
    client = ModelClient(ModelSettings(base_url=f"http://127.0.0.1:{port}/v1"), sleep=no_pause)
    with pytest.raises(ModelClientError, match="cannot be reached"):
        await client.stream_chat(PAYLOAD)
    await client.aclose()


async def test_cancelling_a_call_ends_it_at_once() -> None:
    """A stopped turn stops its model call and the client stays usable."""
    started = asyncio.Event()

    async def hang(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(event("При")))
        await writer.drain()
        started.set()
        await asyncio.Event().wait()

    async with serving(hang, good) as (_, client):
        call = asyncio.ensure_future(client.stream_chat(PAYLOAD))
        await started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await client.stream_chat(PAYLOAD)).text == "Привет, мир 🙂"
