"""An HTTP host for tests: plain sockets on the loopback, which keep what came and answer as a test orders, also in no way that is HTTP."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Answer = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Server:
    """A host on this machine: what it received, and how it answers."""

    answer: Answer
    port: int = 0
    received: list[bytes] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read one request and answer it."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            size = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
            request = head + await reader.readexactly(size)
            self.received.append(request)
            await self.answer(request, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def reply(body: bytes = b'{"ok": true}', status: str = "200 OK", **headers: str) -> Answer:
    """A host that answers everybody the same."""
    lines = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }

    async def answer(_request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {status}\r\n".encode() + b"".join(f"{n}: {v}\r\n".encode() for n, v in lines.items()) + b"\r\n" + body)
        await writer.drain()

    return answer


@asynccontextmanager
async def a_server(answer: Answer) -> AsyncIterator[Server]:
    """A running host."""
    made = Server(answer)
    running = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = running.sockets[0].getsockname()[1]
    async with running:
        yield made
