"""A web host that trickles, floods or sends elsewhere: every call ends in time, and a write says what is known of it."""

import asyncio

import pytest

from orchestrator.gate.call.ports import CallResult, Rejected, Succeeded, Unknown
from orchestrator.performers.http import MAX_ANSWER
from tests.http_kit import Answer, a_server, reply
from tests.unit.performers.test_http import a_call, a_performer, hang

TWO_GB = 2_000_000_000
PIECE = b"x" * 65_536


async def trickle(data: bytes, writer: asyncio.StreamWriter) -> None:
    """Send it byte by byte."""
    for byte in data:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.01)


def slow(beginning: bytes, rest: bytes) -> Answer:
    """A host that sends the beginning at once and the rest byte by byte."""

    async def answer(_request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(beginning)
        await trickle(rest * 100_000, writer)

    return answer


def endless(beginning: bytes, piece: bytes = PIECE) -> tuple[Answer, list[int]]:
    """A host that sends 2 GB, and a list that holds how many bytes of it were taken."""
    taken: list[int] = []

    async def answer(_request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(beginning)
        for _ in range(TWO_GB // len(piece)):
            writer.write(piece)
            await writer.drain()
            taken.append(len(piece))

    return answer, taken


SLOW: dict[str, tuple[Answer, type[CallResult]]] = {
    "status line": (slow(b"HTTP/1.1 2", b"0"), Unknown),
    "headers": (slow(b"HTTP/1.1 200 OK\r\nx-padding: ", b"x"), Unknown),
    "body": (slow(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", b"x"), Succeeded),
    "chunks": (slow(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"), Succeeded),
    "body of a refusal": (slow(b"HTTP/1.1 422 No\r\nContent-Type: text/plain\r\n\r\n", b"x"), Rejected),
    "body of an error": (slow(b"HTTP/1.1 500 No\r\nContent-Type: text/plain\r\n\r\n", b"x"), Unknown),
    "interim answers": (slow(b"", b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"), Unknown),
}


@pytest.mark.parametrize("name", SLOW)
@pytest.mark.parametrize("method", ["get", "post"])
async def test_an_answer_that_comes_byte_by_byte_is_left_in_time(method: str, name: str) -> None:
    """A read has failed. Of a write the status says whether it was done, if it came; it was sent once."""
    answer, kind = SLOW[name]
    async with a_server(answer) as server:
        performer = a_performer(seconds=0.2)
        params = {"text": "x"} if method == "post" else {}
        result = await performer.execute(a_call(method, f"http://api.example.com:{server.port}/", **params))
        await performer.aclose()
    assert isinstance(result, Rejected if method == "get" else kind)
    assert len(server.received) == 1


FLOODS = {
    "announced": (b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2000000000\r\n\r\n", PIECE, Succeeded),
    "in chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"8000\r\n" + b"x" * 0x8000 + b"\r\n", Succeeded),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"x-a: b\r\n" * 8_192, Unknown),
    "one header": (b"HTTP/1.1 200 OK\r\nx-a: ", PIECE, Unknown),
    "a refusal": (b"HTTP/1.1 422 No\r\nContent-Type: text/plain\r\n\r\n", PIECE, Rejected),
    "an error": (b"HTTP/1.1 500 No\r\nContent-Type: text/plain\r\n\r\n", PIECE, Unknown),
    "interim answers": (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 2_000, Unknown),
}


@pytest.mark.parametrize("name", FLOODS)
@pytest.mark.parametrize("method", ["get", "post"])
async def test_of_2_gb_no_more_than_an_answer_can_hold_is_taken(method: str, name: str) -> None:
    """A write that the host has carried out or refused is known to be so, whatever comes after its status."""
    beginning, piece, kind = FLOODS[name]
    answer, taken = endless(beginning, piece)
    async with a_server(answer) as server:
        performer = a_performer(seconds=0.3 if name == "interim answers" else 5.0)
        params = {"text": "x"} if method == "post" else {}
        result = await performer.execute(a_call(method, f"http://api.example.com:{server.port}/", **params))
        await performer.aclose()
    assert isinstance(result, Rejected if method == "get" else kind)
    assert name == "interim answers" or sum(taken) < MAX_ANSWER + 16_000_000  # what the sockets hold is sent and never read


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 305, 307, 308])
@pytest.mark.parametrize("method", ["get", "post", "put", "patch", "delete"])
async def test_a_host_that_sends_into_a_private_network_leads_nowhere(method: str, status: int) -> None:
    """Nobody else is asked, by whatever header it is told to: the data stays with the host that the card named."""
    async with a_server(hang) as inside:
        place = f"http://127.0.0.1:{inside.port}/latest/meta-data/"
        more = {
            "Location": place,
            "Refresh": f"0; url={place}",
            "Content_Location": place,
            "Alt_Svc": f'http/1.1="127.0.0.1:{inside.port}"',
        }
        async with a_server(reply(b"", f"{status} Moved", **more)) as server:
            performer = a_performer()
            params = {"text": "secret"} if method in {"post", "put", "patch"} else {}
            await performer.execute(a_call(method, f"http://api.example.com:{server.port}/", **params))
            await performer.aclose()
        assert (len(server.received), inside.received) == (1, [])
