"""A model host, or the token server of GigaChat, that never answers, trickles, sends without end or sends elsewhere: over a real socket."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import SecretStr

from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import EmbedRequest, ModelRequest
from orchestrator.model_client import client as client_module
from orchestrator.model_client import gigachat_token
from orchestrator.model_client.client import MAX_BODY, ModelClient
from orchestrator.model_client.gigachat_token import GigaChatToken
from orchestrator.model_client.providers import OpenAiProvider
from orchestrator.model_client.settings import ModelSettings
from tests.http_kit import Answer, Server, a_server

DEADLINE = 0.2
"""Seconds that a call may take here; each fault would go on for hours."""
TWO_GB = 2_000_000_000
Ask = Callable[[OpenAiProvider], Awaitable[Any]]
ASKS: dict[str, Ask] = {
    "stream": lambda provider: provider.chat(ModelRequest(messages=({"role": "user", "content": "?"},))),
    "plain": lambda provider: provider.client.post_chat_completions({"messages": [{"role": "user", "content": "?"}]}),
    "vectors": lambda provider: provider.embed(EmbedRequest(texts=["а"], model="e")),
}


async def never(_request: bytes, _writer: asyncio.StreamWriter) -> None:
    """Take the request and say nothing."""
    await asyncio.Event().wait()


async def trickle_head(_request: bytes, writer: asyncio.StreamWriter) -> None:
    """Send headers, a byte now and then."""
    writer.write(b"HTTP/1.1 200 OK\r\n")
    await trickle(b"x-padding: " + b"x" * 100_000, writer)


async def trickle_json(_request: bytes, writer: asyncio.StreamWriter) -> None:
    """Send a body, a byte now and then."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
    await trickle(b'{"choices": [' + b" " * 100_000, writer)


async def trickle_events(_request: bytes, writer: asyncio.StreamWriter) -> None:
    """Send events of which each is whole and says a little, for ever."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
    while True:
        writer.write(b'data: {"choices": [{"index": 0, "delta": {"content": "."}}]}\n\n')
        await writer.drain()
        await asyncio.sleep(0.01)


async def trickle(data: bytes, writer: asyncio.StreamWriter) -> None:
    """Send it byte by byte."""
    for byte in data:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.01)


def flood(head: bytes, piece: bytes) -> tuple[Answer, list[int]]:
    """Return an answer of 2 GB, and a list that holds how many bytes of it the other side took."""
    taken: list[int] = []

    async def answer(_request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        for _ in range(TWO_GB // len(piece)):
            writer.write(piece)
            await writer.drain()
            taken.append(len(piece))

    return answer, taken


PLAIN_HEAD = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {TWO_GB}\r\n\r\n".encode()
EVENT_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
ERROR_HEAD = b"HTTP/1.1 500 No\r\nContent-Type: application/json\r\n\r\n"
FLOODS = {
    "announced": (PLAIN_HEAD, b" " * 65_536),
    "without a line end": (EVENT_HEAD, b"x" * 65_536),
    "one event": (EVENT_HEAD, b"data: x\n" * 8_192),
    "comments": (EVENT_HEAD, b": ping\n\n" * 8_192),
    "an error": (ERROR_HEAD, b"x" * 65_536),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"x-a: b\r\n" * 8_192),
}


@asynccontextmanager
async def a_provider(server: Server, **settings: Any) -> AsyncIterator[OpenAiProvider]:
    """A provider on this host that tries once."""
    told = ModelSettings(base_url=f"http://127.0.0.1:{server.port}/v1", **{"total_deadline": DEADLINE, "max_attempts": 1, **settings})
    client = ModelClient(told)
    try:
        yield OpenAiProvider(client, model="m")
    finally:
        await client.aclose()


def begin_with_the_request(monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    """Let no time pass in this loop until the host has the request: a busy machine may need longer than the deadline to send it."""
    loop = asyncio.get_running_loop()
    run, held = loop.time, loop.time()
    late: list[float] = []

    def tell_time() -> float:
        if not server.received:
            return held
        if not late:
            late.append(run() - held)
        return run() - late[0]

    monkeypatch.setattr(loop, "time", tell_time)


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
@pytest.mark.parametrize("answer", [never, trickle_head, trickle_json, trickle_events])
async def test_a_host_that_never_comes_to_an_end_is_left_at_the_deadline(monkeypatch: pytest.MonkeyPatch, ask: Ask, answer: Answer) -> None:
    """However little comes however often: the deadline is that of the whole call, and the host is asked once."""
    async with a_server(answer) as server, a_provider(server) as provider:
        begin_with_the_request(monkeypatch, server)
        with pytest.raises(ModelClientError, match="in time"):
            await ask(provider)
        assert len(server.received) == 1


@pytest.fixture
def small_answers(monkeypatch: pytest.MonkeyPatch) -> int:
    """An answer holds a tenth of what it may hold, so that the tests are quick."""
    assert MAX_BODY <= 8 * 1024 * 1024
    monkeypatch.setattr(client_module, "MAX_BODY", MAX_BODY // 10)
    return MAX_BODY // 10


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
@pytest.mark.parametrize("name", FLOODS)
async def test_of_an_answer_of_2_gb_no_more_than_an_answer_can_hold_is_taken(ask: Ask, name: str, small_answers: int) -> None:
    """It ends as an error, and the rest is not read."""
    answer, taken = flood(*FLOODS[name])
    async with a_server(answer) as server, a_provider(server, total_deadline=60.0) as provider:
        with pytest.raises(ModelClientError):
            await ask(provider)
    assert sum(taken) < small_answers + 16_000_000  # what the sockets hold is sent and never read


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
async def test_a_packed_answer_is_refused_without_unpacking(ask: Ask, small_answers: int) -> None:
    """A few kilobytes that become many megabytes."""
    packed = gzip.compress(b" " * (10 * small_answers))
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n"

    async def answer(_request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(head.encode() + packed)
        await writer.drain()

    async with a_server(answer) as server, a_provider(server, total_deadline=60.0) as provider:
        with pytest.raises(ModelClientError, match="compressed answer"):
            await ask(provider)


def send_elsewhere(status: int, location: str) -> Answer:
    """Return an answer that sends to another place."""

    async def answer(_request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()

    return answer


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_host_that_sends_into_a_private_network_leads_nowhere(ask: Ask, status: int) -> None:
    """The key and the prompt stay where they were sent: nobody else is asked."""
    async with a_server(never) as inside:
        answer = send_elsewhere(status, f"http://127.0.0.1:{inside.port}/latest/meta-data/")
        async with a_server(answer) as server, a_provider(server, api_key=SecretStr("k"), total_deadline=60.0) as provider:
            with pytest.raises(ModelClientError):
                await ask(provider)
        assert (len(server.received), inside.received) == (1, [])


HOSTILE_TOKENS: dict[str, Answer] = {
    "never": never,
    "headers": trickle_head,
    "body": trickle_json,
    "2 GB": flood(*FLOODS["announced"])[0],
    "2 GB of an error": flood(*FLOODS["an error"])[0],
}


@pytest.mark.parametrize("answer", HOSTILE_TOKENS.values(), ids=HOSTILE_TOKENS)
async def test_a_token_server_that_never_comes_to_an_end_is_left(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> None:
    """All calls that wait for the token learn it, and it was asked for once."""
    monkeypatch.setattr(gigachat_token, "TOKEN_WITHIN", DEADLINE)
    async with a_server(answer) as server:
        begin_with_the_request(monkeypatch, server)
        token = GigaChatToken(f"http://127.0.0.1:{server.port}/oauth", SecretStr("Y3I="), "S")
        found = await asyncio.gather(*(token.build_headers() for _ in range(5)), return_exceptions=True)
        await token.aclose()
    assert [isinstance(one, ModelClientError) for one in found] == [True] * 5
    assert len(server.received) == 1


@pytest.mark.parametrize("status", [302, 307])
async def test_a_token_server_that_sends_elsewhere_gets_no_credentials_there(status: int) -> None:
    """They are as good as the key itself."""
    async with a_server(never) as inside, a_server(send_elsewhere(status, f"http://127.0.0.1:{inside.port}/oauth")) as server:
        token = GigaChatToken(f"http://127.0.0.1:{server.port}/oauth", SecretStr("Y3I="), "S")
        with pytest.raises(ModelClientError):
            await token.build_headers()
        await token.aclose()
    assert inside.received == []
