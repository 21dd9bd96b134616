"""A model service on loopback that answers each request as a test says, with or without TLS."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.unit.model_client.test_model_client import GOOD, sse


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One request as it came."""

    path: str
    head: str
    """The request line and the headers, in lower case."""
    body: bytes


def reply(body: object = b"", status: int = 200, *, headers: str = "") -> bytes:
    """Return an HTTP response; a body that is not bytes is sent as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"HTTP/1.1 {status} Said\r\nContent-Length: {len(content)}\r\n{headers}\r\n".encode() + content


FINE = reply(sse(*GOOD), headers="Content-Type: text/event-stream\r\n")
Answer = Callable[[Seen], bytes | AsyncIterator[bytes]]
"""Returns the answer to a request, or an iterator over its parts, each of which is sent at once."""


@dataclass
class Service:
    """A service whose answers come from `answer`."""

    answer: Answer
    scheme: str = "http"
    port: int = 0
    seen: list[Seen] = field(default_factory=list)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def base(self) -> str:
        """The address without a path."""
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def list_paths(self) -> list[str]:
        """Return the paths that were asked for, in order."""
        return [one.path for one in self.seen]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                sizes = [line.partition(":")[2] for line in head.lower().split("\r\n") if line.startswith("content-length:")]
                body = await reader.readexactly(int(sizes[0])) if sizes else b""
                one = Seen(path=head.split(" ")[1], head=head.lower(), body=body)
                self.seen.append(one)
                made = self.answer(one)
                async for part in _iterate(made):
                    writer.write(part)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


async def _iterate(made: bytes | AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    if isinstance(made, bytes):
        yield made
        return
    async for part in made:
        yield part


@asynccontextmanager
async def serving(answer: Answer, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Service]:
    """Run a service until the block ends."""
    service = Service(answer, scheme="https" if tls else "http")
    listener = await asyncio.start_server(service.serve, "127.0.0.1", 0, ssl=tls)
    service.port = listener.sockets[0].getsockname()[1]
    try:
        yield service
    finally:
        listener.close()
        for task in service.tasks:
            task.cancel()
        await asyncio.gather(*service.tasks)
        await asyncio.sleep(0)  # the transports close in the loop's next round
