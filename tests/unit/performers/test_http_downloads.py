"""Files of other hosts over a real wire: what the performer gives, and that it reads no byte more than it may."""

import asyncio
import gzip

import pytest

from orchestrator.domain.errors import FileUnavailable
from orchestrator.domain.http_address import parse_address
from tests.http_kit import Answer, a_server, reply
from tests.unit.performers.test_http import a_performer

PDF = b"%PDF-1.7 \x00\xff"
LIMIT = 10_000


async def fetch(answer: Answer, *, private: bool = True, seconds: float = 5.0, limit: int = LIMIT) -> tuple[bytes, str, list[bytes]]:
    """What one download gives, and what the host received."""
    performer = a_performer(private=private, seconds=seconds)
    async with a_server(answer) as server:
        try:
            content, media_type = await performer.download(parse_address(f"http://api.example.com:{server.port}/a.pdf?v=1"), limit)
        finally:
            await performer.aclose()
        return content, media_type, server.received


async def test_a_file_comes_as_it_is() -> None:
    """Bytes that are no text, with the type that the host tells; nothing is sent along but the address."""
    content, media_type, (received,) = await fetch(reply(PDF, Content_Type="Application/PDF; x=1"))
    assert (content, media_type) == (PDF, "application/pdf")
    assert received.startswith(b"GET /a.pdf?v=1 HTTP/1.1\r\n")
    assert b"authorization" not in received.lower()
    assert b"cookie" not in received.lower()


def endless(length: str = "") -> Answer:
    """A host that announces `length` bytes, or none, and sends without end."""

    async def answer(_request: bytes, writer: asyncio.StreamWriter) -> None:
        announced = f"Content-Length: {length}\r\n" if length else ""
        writer.write(f"HTTP/1.1 200 OK\r\n{announced}Connection: close\r\n\r\n".encode())
        while not writer.is_closing():
            writer.write(b"x" * 1000)
            await writer.drain()
            await asyncio.sleep(0)

    return answer


async def silent(_request: bytes, _writer: asyncio.StreamWriter) -> None:
    """A host that takes the request and says nothing."""
    await asyncio.sleep(60)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (reply(b"gone", "404 Not Found"), "status"),
        (reply(b"", "302 Found", Location="http://api.example.com/b.pdf"), "status"),
        (reply(b"", "204 No Content"), "status"),
        (reply(PDF, "206 Partial Content"), "status"),
        (reply(b"x" * (LIMIT + 1)), "large"),
        (endless(), "large"),
        (endless("9" * 15), "large"),
        (reply(gzip.compress(PDF), Content_Encoding="gzip"), "unfit"),
        (reply(PDF, Content_Length="5000"), "unreached"),
        (silent, "unreached"),
    ],
)
async def test_what_is_no_whole_file_of_that_size_is_refused_with_a_reason(answer: Answer, why: str) -> None:
    """Each failure has its reason, an answer without end is cut off, and a host that hangs is left in time."""
    with pytest.raises(FileUnavailable) as raised:
        await fetch(answer, seconds=1.0)
    assert raised.value.why == why
    assert "/a.pdf" not in raised.value.reason


async def test_a_host_in_a_private_network_is_not_asked() -> None:
    """As for every request: the policy's list of hosts alone does not open it."""
    async with a_server(reply(PDF)) as server:
        performer = a_performer("10.0.0.1", private=False)
        with pytest.raises(FileUnavailable) as raised:
            await performer.download(parse_address(f"https://api.example.com:{server.port}/a.pdf"), LIMIT)
        await performer.aclose()
    assert (raised.value.why, server.received) == ("unreached", [])
