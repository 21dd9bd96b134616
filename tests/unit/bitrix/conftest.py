"""A controllable clock and a raw loopback portal: faults are made on the wire, never inside our code."""

import asyncio
import contextlib
import heapq
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.unit.bitrix.oauth_kit import Hour, Processes, World

Behaviour = Callable[[asyncio.StreamWriter], Awaitable[None]]


class FakeTime:
    """Stands still until told: `sleep` ends only when `advance` passes its hour, unless `flows` is set."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []
        self.flows = False
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self.flows:
            self.now += seconds
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now + seconds, next(self._numbers), waiting))
        await waiting

    async def settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    async def advance(self, seconds: float) -> None:
        await self.settle()
        end = self.now + seconds
        while self._sleepers and self._sleepers[0][0] <= end + 1e-9:
            self.now, _, waiting = heapq.heappop(self._sleepers)
            if not waiting.done():
                waiting.set_result(None)
            await self.settle()
        self.now = end


class LoopbackPortal:
    """Reads whole HTTP requests and then does what the next behaviour says; counts what it saw."""

    def __init__(self) -> None:
        self.behaviours: list[Behaviour] = []
        self.requests: list[bytes] = []
        self.seen = asyncio.Event()
        self.connections = 0
        self.port = 0
        self._open: set[asyncio.StreamWriter] = set()

    @property
    def webhook(self) -> str:
        return f"http://127.0.0.1:{self.port}/rest/1/topsecretcode/"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
                self.requests.append(head + await reader.readexactly(length))
                self.seen.set()
                await self.behaviours.pop(0)(writer)
        self._open.discard(writer)
        writer.close()

    def drop_idle(self) -> None:
        for writer in self._open:
            writer.close()


@pytest.fixture
def fake_time() -> FakeTime:
    """A clock that stands still until told."""
    return FakeTime()


@pytest.fixture
async def loopback() -> AsyncIterator[LoopbackPortal]:
    """A portal on 127.0.0.1 that misbehaves as told."""
    portal = LoopbackPortal()
    server = await asyncio.start_server(portal.serve, "127.0.0.1", 0)
    portal.port = server.sockets[0].getsockname()[1]
    yield portal
    portal.drop_idle()
    server.close()
    await server.wait_closed()


@pytest.fixture
def world() -> World:
    """A portal and its authorization server; nobody has an access token yet."""
    return World()


@pytest.fixture
async def processes(tmp_path: Path, world: World) -> AsyncIterator[Processes]:
    """A database for as many processes as a test starts."""
    made = Processes(tmp_path, world, Hour(datetime(2026, 11, 21, 12, tzinfo=UTC)))
    yield made
    await made.aclose()
