"""A few slow answers of the portal hold up nobody else."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from bitrix.client.client import BitrixClient
from bitrix.limits.limiter import Limiter

SLOW = 30


class Slow:
    """A portal whose lists do not end until they are let, and whose other answers come at once."""

    def __init__(self) -> None:
        self.listing = 0
        self.all_listing = asyncio.Event()
        self.let = asyncio.Event()
        self.talks: set[asyncio.Task[None] | None] = set()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.talks.add(asyncio.current_task())
        try:
            await self._talk(reader, writer)
        finally:
            writer.close()

    async def over(self) -> None:
        """Every connection has ended."""
        await asyncio.wait([talk for talk in self.talks if talk])
        await asyncio.sleep(0)  # the transport of the last one closes its socket

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            length = 0
            while (header := await reader.readline()).strip():
                if header.lower().startswith(b"content-length:"):
                    length = int(header.split(b":")[1])
            await reader.readexactly(length)
            if b".list" in line:
                self.listing += 1
                if self.listing == SLOW:
                    self.all_listing.set()
                await self.let.wait()
            body = b'{"result": true, "time": {}}'
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            await writer.drain()


@pytest.fixture
async def slow() -> AsyncIterator[tuple[Slow, BitrixClient]]:
    """The portal, and a client with little patience for a free connection."""
    portal = Slow()
    server = await asyncio.start_server(portal, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        async with BitrixClient(f"http://127.0.0.1:{port}/rest/1/code/", limiter=Limiter.create_unlimited(), connect_timeout=0.5) as client:
            yield portal, client
        portal.let.set()
        await portal.over()


async def test_thirty_slow_calls_keep_no_place_from_the_next(slow: tuple[Slow, BitrixClient]) -> None:
    """While thirty lists are on their way, another person's read is sent and answered; with ten places it ended as NotSent."""
    portal, client = slow
    lists = [asyncio.ensure_future(client.call("crm.deal.list", {}, repeatable=True)) for _ in range(SLOW)]
    async with asyncio.timeout(20):
        await portal.all_listing.wait()
        assert (await client.call("crm.deal.get", {"id": 1}, repeatable=True)).result is True
    portal.let.set()
    assert [answer.result for answer in await asyncio.gather(*lists)] == [True] * SLOW
