"""The client of the services: over a real socket on loopback, with everything that can come back."""

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator

import httpx
import pytest

from orchestrator.domain.errors import ServiceFailed
from orchestrator.services import http_client
from orchestrator.services.http_client import ServiceClients
from tests.unit.model_client.loopback_kit import Answer, Seen, Service, reply, serving


async def post(answer: Answer) -> tuple[object, Service]:
    """Return what the client makes of an answer to POST /search, and the service that gave it."""
    async with serving(answer) as service:
        clients = ServiceClients({"rag": httpx.AsyncClient(base_url=service.base, trust_env=False)})
        try:
            return await clients.post("rag", "/search", {"question": "Когда?", "top_k": 2}), service
        finally:
            await clients.aclose()


@pytest.mark.req("S001-58", "S001-X5")
async def test_a_good_answer_is_its_object() -> None:
    """The body is sent as JSON to the path under the address."""
    found, service = await post(lambda _: reply({"answer": "Через два дня"}))
    assert found == {"answer": "Через два дня"}
    assert service.list_paths() == ["/search"]
    assert json.loads(service.seen[0].body) == {"question": "Когда?", "top_k": 2}


@pytest.mark.req("S001-62", "S001-72", "S001-X5", "S001-A7")
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (reply({"error": "Search failed"}, 500), 'HTTP 500: {"error": "Search failed"}'),
        (reply(b"moved", 302, headers="Location: http://10.0.0.1/\r\n"), "HTTP 302: moved"),
        (reply(b"<html>"), "the answer is not JSON"),
        (reply([1]), "the answer is not a JSON object"),
        (reply(b'{"answer": NaN}'), "the answer is not JSON"),
        (reply(b"[" * 50_000), "the answer is not JSON"),
        (reply(b"x" * 2_000_001), "the answer is longer than 2000000 bytes"),
        (b"nonsense\r\n\r\n", "the service cannot be asked (RemoteProtocolError)"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_every_other_answer_is_a_failure(answer: bytes, reason: str) -> None:
    """The reason has the status and the body, and no address."""
    with pytest.raises(ServiceFailed) as caught:
        await post(lambda _: answer)
    assert caught.value.reason == reason


@pytest.mark.req("S001-X5")
async def test_serving_that_is_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole request has its time, also while pieces of an answer keep coming."""
    assert (http_client.HEALTH_SECONDS, http_client.POST_SECONDS) == (5.0, 10.0)
    monkeypatch.setattr(http_client, "POST_SECONDS", 0.05)

    async def drip(_: Seen) -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
        while True:
            await asyncio.sleep(0.001)  # as fast as they can be written they keep the processor busy for ten seconds
            yield b" "

    with pytest.raises(ServiceFailed, match=r"no answer within 0\.05 seconds"):
        await post(drip)


@pytest.mark.req("S001-X5")
async def test_a_service_may_use_all_the_time_that_it_has() -> None:
    """A client at an address has no shorter limit of its own: an answer that comes after nine seconds of silence counts."""
    limits: list[object] = []

    def answer(request: httpx.Request) -> httpx.Response:
        limits.extend(request.extensions["timeout"].values())
        return httpx.Response(200, json={})

    clients = ServiceClients({"rag": httpx.AsyncClient(base_url="http://127.0.0.1:1", transport=httpx.MockTransport(answer))})
    await clients.post("rag", "/search", {})
    await clients.aclose()
    assert limits == [None] * 4


async def test_serving_that_is_not_there_is_a_failure() -> None:
    """Neither an unknown name nor a closed port raises anything else."""
    clients = ServiceClients({"rag": httpx.AsyncClient(base_url="http://127.0.0.1:1", trust_env=False)})
    with pytest.raises(ServiceFailed, match=r"cannot be asked \(ConnectError: Connection refused\)"):
        await clients.check_health("rag")
    with pytest.raises(ServiceFailed, match="is not set"):
        await clients.check_health("other")
    await clients.aclose()


@pytest.mark.req("S001-60")
@pytest.mark.parametrize(
    ("cause", "told"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "ConnectError: Name or service not known"),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number"), "ConnectError: TLS"),
        (TimeoutError(110, "user:secret@host"), "ConnectError: Connection timed out"),
        (ValueError("user:secret@host"), "ConnectError"),
    ],
)
async def test_why_a_service_cannot_be_asked_is_told_without_its_address(cause: Exception, told: str) -> None:
    """What the machine says of it, and nothing of texts that may quote a password."""

    def fail(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("user:secret@host") from cause

    clients = ServiceClients({"rag": httpx.AsyncClient(base_url="http://rag", transport=httpx.MockTransport(fail))})
    with pytest.raises(ServiceFailed) as refused:
        await clients.check_health("rag")
    assert refused.value.reason.startswith(f"the service cannot be asked ({told}")
    assert "secret" not in refused.value.reason
    await clients.aclose()
