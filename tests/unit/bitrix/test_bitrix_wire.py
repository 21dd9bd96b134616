"""The client over real sockets: faults that only a wire can make."""

import asyncio
import contextlib
import json
import logging
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest

from bitrix.client.client import BitrixClient
from bitrix.errors import NotSent, OutcomeUnknown
from bitrix.limits.limiter import Limiter
from bitrix.masking import install_log_filter


def answer(body: Any, *, status: str = "200 OK", length: Any = None, headers: str = "") -> bytes:
    """The bytes of one HTTP answer."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    size = len(data) if length is None else length
    return f"HTTP/1.1 {status}\r\nContent-Length: {size}\r\n{headers}\r\n".encode() + data


def says(data: bytes) -> Callable[[asyncio.StreamWriter], Awaitable[None]]:
    """Answer with these bytes."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()

    return behave


async def reset(writer: asyncio.StreamWriter) -> None:
    """Send a TCP reset."""
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


async def hang_up(writer: asyncio.StreamWriter) -> None:
    """Close politely."""
    writer.close()


async def stay_silent(writer: asyncio.StreamWriter) -> None:
    """Never answer."""
    await asyncio.sleep(3_600)


async def drip(writer: asyncio.StreamWriter) -> None:
    """Answer one header at a time, for ever."""
    writer.write(b"HTTP/1.1 200 OK\r\n")
    with contextlib.suppress(ConnectionError):
        while True:
            writer.write(b"X-Slow: 1\r\n")
            await writer.drain()
            await asyncio.sleep(0.02)


async def half_and_hang_up(writer: asyncio.StreamWriter) -> None:
    """Break off in the middle of the body."""
    writer.write(answer(b'{"result": tr', length=500))
    await writer.drain()
    writer.close()


OK = says(answer({"result": 1}))
FAULTS = {
    "reset after the request was read": reset,
    "closed without an answer": hang_up,
    "silence": stay_silent,
    "half an answer": half_and_hang_up,
    "a page of a proxy": says(answer(b"<html>Bad gateway</html>", status="502 Bad Gateway")),
    "no HTTP at all": says(b"hello\r\n\r\n"),
}


@pytest.fixture
async def client(loopback: Any, request: pytest.FixtureRequest) -> AsyncIterator[BitrixClient]:
    """Retries do not wait; only where the portal is silent does a read time out soon."""
    silence = getattr(request.node, "callspec", None) and request.node.callspec.params.get("fault") == "silence"
    limiter, patience = Limiter.create_unlimited(sleep=lambda _: asyncio.sleep(0)), 0.2 if silence else 5.0
    async with BitrixClient(loopback.webhook, limiter=limiter, connect_timeout=1.0, read_timeout=patience) as made:
        yield made


@pytest.mark.parametrize("connection", ["new", "kept alive"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_lost_write(loopback: Any, client: Any, fault: str, connection: str) -> None:
    """A write with a lost answer is unknown and sent once."""
    loopback.behaviours = [OK] * (connection == "kept alive") + [FAULTS[fault], OK]
    if connection == "kept alive":
        await client.call("profile", {})
    seen = len(loopback.requests)
    with pytest.raises(OutcomeUnknown) as caught:
        await client.call("crm.deal.add", {"fields": {}})
    assert len(loopback.requests) - seen == 1
    assert loopback.connections == 1
    assert caught.value.__context__ is None
    assert "topsecretcode" not in str(caught.value)


@pytest.mark.parametrize("fault", FAULTS)
async def test_lost_read(loopback: Any, client: Any, fault: str) -> None:
    """A read with a lost answer is asked again."""
    loopback.behaviours = [FAULTS[fault], OK]
    assert (await client.call("crm.deal.get", {"id": 1}, repeatable=True)).result == 1
    assert len(loopback.requests) == 2


async def test_reuse(loopback: Any, client: Any) -> None:
    """Calls share one connection."""
    loopback.behaviours = [OK] * 5
    for _ in range(5):
        await client.call("crm.deal.add", {})
    assert (len(loopback.requests), loopback.connections) == (5, 1)


async def test_idle_close(loopback: Any, client: Any) -> None:
    """A connection closed while idle costs a write nothing."""
    loopback.behaviours = [OK, OK]
    await client.call("profile", {})
    loopback.drop_idle()
    await asyncio.sleep(0.01)
    assert (await client.call("crm.deal.add", {})).result == 1
    assert (len(loopback.requests), loopback.connections) == (2, 2)


async def test_drip(loopback: Any) -> None:
    """An answer that drips for ever is given up."""
    loopback.behaviours = [drip]
    limiter = Limiter.create_unlimited(sleep=lambda _: asyncio.sleep(0))
    async with BitrixClient(loopback.webhook, limiter=limiter, connect_timeout=0.05, read_timeout=0.1) as client:
        with pytest.raises(OutcomeUnknown, match="in time"):
            await client.call("crm.deal.add", {})
    assert len(loopback.requests) == 1


async def test_closed_port() -> None:
    """A closed port proves that nothing was sent."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/rest/1/topsecretcode/"
        async with BitrixClient(address, limiter=Limiter.create_unlimited(sleep=lambda _: asyncio.sleep(0))) as client:
            with pytest.raises(NotSent, match="no connection to the portal"):
                await client.call("crm.deal.add", {})


async def test_tls_failure(loopback: Any) -> None:
    """A failed TLS handshake proves that nothing was sent."""
    address = loopback.webhook.replace("http:", "https:")
    limiter = Limiter.create_unlimited(sleep=lambda _: asyncio.sleep(0))
    async with BitrixClient(address, limiter=limiter, connect_timeout=0.05) as client:
        with pytest.raises(NotSent):
            await client.call("crm.deal.add", {})
    assert loopback.requests == []


async def test_cancelled_call(loopback: Any, client: Any) -> None:
    """A cancelled call is not repeated and the client lives on."""
    loopback.behaviours = [stay_silent, OK]
    running = asyncio.ensure_future(client.call("crm.deal.add", {}))
    await asyncio.wait_for(loopback.seen.wait(), 30)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert len(loopback.requests) == 1
    assert (await client.call("crm.deal.get", {})).result == 1


async def test_close_while_running(loopback: Any) -> None:
    """Closing the client ends a running call as unknown."""
    loopback.behaviours = [stay_silent]
    async with BitrixClient(loopback.webhook, limiter=Limiter.create_unlimited()) as client:
        running = asyncio.ensure_future(client.call("crm.deal.add", {}))
        await asyncio.wait_for(loopback.seen.wait(), 30)
        await client.aclose()
        with pytest.raises(OutcomeUnknown):
            await running


@pytest.mark.req("S004-42", "S004-A12")
async def test_library_logs(loopback: Any, client: Any, caplog: Any) -> None:
    """Nothing logged at DEBUG names the webhook once the filter is on."""
    names = ("httpx", "httpcore")
    before = {name: logging.getLogger(name).level for name in names}
    loopback.behaviours = [OK]
    caplog.set_level(logging.DEBUG)
    install_log_filter()
    try:
        await client.call("profile", {})
    finally:
        for name in names:
            logging.getLogger(name).setLevel(before[name])

    assert "topsecretcode" not in caplog.text


async def test_no_place_in_time(loopback: Any) -> None:
    """A call for which no connection was free in time was certainly not sent."""
    loopback.behaviours = [stay_silent, OK]
    one = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=1))
    limiter = Limiter.create_unlimited(sleep=lambda _: asyncio.sleep(0))
    async with BitrixClient(loopback.webhook, limiter=limiter, transport=one, connect_timeout=0.05) as client:
        running = asyncio.ensure_future(client.call("crm.deal.add", {}))
        await asyncio.wait_for(loopback.seen.wait(), 30)
        with pytest.raises(NotSent, match="no connection to the portal"):
            await client.call("crm.deal.add", {})
        waiting = asyncio.ensure_future(client.call("crm.deal.add", {}))
        await asyncio.sleep(0)
        await client.aclose()
        with pytest.raises((NotSent, OutcomeUnknown)):
            await waiting
        with pytest.raises(OutcomeUnknown):
            await running

    assert len(loopback.requests) == 1
