"""The wire of the lab's outsides: HTTP on a loopback port, as little of it as our clients speak. Knows nothing of who answers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request. `gone` says whether who sent it has hung up."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    gone: Callable[[], bool]

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]


Answering = Callable[[Asked], Awaitable[tuple[int, bytes] | None]]
"""Status and JSON text; None ends the connection without an answer."""


@asynccontextmanager
async def serving(answering: Answering) -> AsyncIterator[int]:
    """Answer until the block ends; the port. What `answering` raised is raised then: else a fault of the lab looks like a troubled wire."""
    tasks: set[asyncio.Task[None]] = set()
    failed: list[BaseException] = []

    def finished(task: asyncio.Task[None]) -> None:
        tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            failed.append(error)

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(_connection(reader, writer, answering))
        tasks.add(task)
        task.add_done_callback(finished)

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=2**22)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # the transports close in the loop's next round
    if failed:
        raise failed[0]


async def _connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answering: Answering) -> None:
    try:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while (answer := await answering(await _asked(reader))) is not None:
                status, content = answer
                head = b"HTTP/1.1 %d x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % (status, len(content))
                writer.write(head + content)
                await writer.drain()
    finally:
        writer.close()


async def _asked(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(path=head[0].split()[1], headers=headers, body=body, gone=reader.at_eof)
