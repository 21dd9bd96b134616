"""The pieces of one moment go out together, in their order, and none is lost."""

import asyncio

import pytest

from bot.http_api.server.protocol import MAX_BUFFERED, BufferedTransport


class _Speaks(asyncio.Protocol):
    """Says its pieces to whoever comes, then leaves."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces
        self.kept_back = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        corked = BufferedTransport(transport, asyncio.get_running_loop())
        for piece in self._pieces:
            corked.write(piece)
            self.kept_back = max(self.kept_back, sum(map(len, corked._pieces)))
        corked.close()


@pytest.mark.req("S004-58")
@pytest.mark.parametrize(
    "pieces", [[b"head", b"", b"body"], [b"only"], [b""], [b"x" * MAX_BUFFERED, b"y", b"z" * 3 * MAX_BUFFERED, b"end"]]
)
async def test_what_was_written_before_a_close_arrives_whole(pieces: list[bytes]) -> None:
    """Order is kept, a close sends what is left, and no more than the bound is kept back."""
    speaker = _Speaks(pieces)
    server = await asyncio.get_running_loop().create_server(lambda: speaker, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        said = await asyncio.wait_for(reader.read(-1), 30)
        writer.close()
    assert said == b"".join(pieces)
    assert speaker.kept_back <= MAX_BUFFERED


class _Waits(asyncio.Protocol):
    """Says two pieces and stays."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        corked = BufferedTransport(transport, asyncio.get_running_loop())
        corked.write(b"head ")
        corked.write(b"body")


@pytest.mark.req("S004-58")
async def test_what_was_written_goes_out_without_a_close() -> None:
    """Nobody has to flush: the end of the moment does."""
    server = await asyncio.get_running_loop().create_server(_Waits, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        assert await asyncio.wait_for(reader.readexactly(9), 30) == b"head body"
        writer.close()
