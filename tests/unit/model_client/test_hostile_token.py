"""GigaChat's token over loopback: absurd ends, floods, a closed client, a proxy of the environment, and what health hears of it."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import SecretStr

from bot.composition.model_providers import build_providers
from bot.settings.settings import Settings
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import ModelRequest, ProviderUnavailable
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.gigachat_token import GigaChatToken
from orchestrator.model_client.settings import ModelSettings
from tests.unit.model_client.loopback_kit import FINE, Answer, Seen, Service, reply, serving

ASK = ({"role": "user", "content": "Привет"},)
CREDENTIALS = SecretStr("c2VjcmV0")


async def skip_pause(_seconds: float) -> None:
    """Skip a pause."""


def build_client(service: Service, heard: list[Any] | None = None) -> ModelClient:
    token = GigaChatToken(f"{service.base}/oauth", CREDENTIALS, "S")
    told = ModelSettings(base_url=f"{service.base}/v1", api_key=CREDENTIALS, key_name="GIGACHAT_CREDENTIALS")
    return ModelClient(told, sleep=skip_pause, heard=(heard if heard is not None else []).append, auth=token)


def give(token: bytes) -> Answer:
    """Return a service that gives this body as the token and answers everything else."""
    return lambda request: reply(token) if request.path == "/oauth" else FINE


@pytest.mark.parametrize(
    "ends",
    [
        "1000",
        f"{time.time() + 1800:.0f}",
        "-1",
        "null",
        "true",
        "NaN",
        "Infinity",
        "1" + "0" * 400,
        '"soon"',
        f"{time.time() * 1000 + 90_000:.0f}",
    ],
    ids=["past", "seconds", "negative", "null", "true", "NaN", "infinity", "endless", "word", "short"],
)
async def test_no_end_of_a_token_makes_a_flood_of_requests(ends: str) -> None:
    """Twenty calls one after another make one request for a token, whatever it says of its end."""
    async with serving(give(f'{{"access_token": "token", "expires_at": {ends}}}'.encode())) as service:
        client = build_client(service)
        for _ in range(20):
            assert (await client.stream_chat({"messages": list(ASK)})).text == "Привет"
        await client.aclose()
        assert service.list_paths().count("/oauth") == 1


@pytest.mark.parametrize(("life", "at"), [(1_800, 1_681), (90, 46), (1, 31)])
async def test_a_token_is_renewed_once_and_before_its_end(life: int, at: int) -> None:
    """Two minutes before, of a short-lived one after half of its life; a token that ends at once is used for a minute."""
    now = [1_000.0]

    def answer(_: Seen) -> bytes:
        return reply({"access_token": f"token-{len(service.seen)}", "expires_at": (now[0] + life) * 1000})

    async with serving(answer) as service:
        token = GigaChatToken(f"{service.base}/oauth", CREDENTIALS, "S", clock=lambda: now[0], wall=lambda: now[0])
        first = await token.build_headers()
        now[0] += at - 2
        assert [await token.build_headers() for _ in range(5)] == [first] * 5
        assert len(service.seen) == 1
        now[0] += 2
        assert await token.build_headers() == first
        for _ in range(10_000):  # the new one comes over the wire, and nobody waits for it
            if await token.build_headers() != first:
                break
            await asyncio.sleep(0)
        assert [await token.build_headers() for _ in range(5)] == [{"Authorization": "Bearer token-2"}] * 5
        assert len(service.seen) == 2
        await token.aclose()


async def test_a_clock_that_is_set_back_ends_no_token() -> None:
    """The life of a token is measured by a clock that nobody sets."""
    wall = [10_000.0]
    body = b'{"access_token": "token", "expires_at": 11800000}'
    async with serving(give(body)) as service:
        token = GigaChatToken(f"{service.base}/oauth", CREDENTIALS, "S", wall=lambda: wall[0])
        await token.build_headers()
        for moved in (-9_000.0, 90_000.0):
            wall[0] += moved
            await token.build_headers()
        assert len(service.seen) == 1
        await token.aclose()


async def test_closing_the_client_is_an_error_for_calls_that_wait_for_a_token() -> None:
    """They are not cancelled: nobody has cancelled them."""
    begun = asyncio.Event()

    async def stall() -> AsyncIterator[bytes]:
        begun.set()
        await asyncio.Event().wait()
        yield b""

    async with serving(lambda _: stall()) as service:
        client = build_client(service)
        call = asyncio.create_task(client.stream_chat({"messages": list(ASK)}))
        await begun.wait()
        await client.aclose()
        with pytest.raises(ProviderUnavailable, match="closed"):
            await call


@pytest.mark.parametrize("answer", [reply(b"<html>"), reply({}, 500), reply({"message": "no such client"}, 401)])
async def test_health_hears_that_no_token_can_be_got(answer: bytes) -> None:
    """Without a token no call can be made, though the model itself is never asked."""
    heard: list[Any] = []
    async with serving(lambda _: answer) as service:
        client = build_client(service, heard)
        with pytest.raises(ModelClientError):
            await client.stream_chat({"messages": list(ASK)})
        assert isinstance(heard[-1], ModelClientError)
        await client.probe()
        assert isinstance(heard[-1], ModelClientError)
        await client.aclose()


async def test_a_probe_renews_a_token_that_was_revoked() -> None:
    """A revoked token is no reason to say that the provider is out of reach."""
    heard: list[Any] = []

    def answer(request: Seen) -> bytes:
        if request.path == "/oauth":
            return reply({"access_token": f"token-{service.list_paths().count('/oauth')}", "expires_at": 9e12})
        return reply({}, 401) if "bearer token-1" in request.head else reply({})

    async with serving(answer) as service:
        client = build_client(service, heard)
        await client.probe()
        await client.aclose()
    assert (heard, service.list_paths()) == ([None], ["/oauth", "/v1/models", "/oauth", "/v1/models"])


def answer_all(request: Seen) -> bytes:
    return reply({"access_token": "token", "expires_at": 9e12}) if request.path.endswith("/oauth") else FINE


async def ask_gigachat(base: str) -> str:
    """Return the answer of GigaChat at this address, as the program builds its client."""
    given = {"gigachat_api_base": f"{base}/v1", "gigachat_auth_url": f"{base}/oauth", "gigachat_credentials": "c2VjcmV0"}
    built = build_providers(Settings(_env_file=None, **given))  # type: ignore[call-arg,arg-type]  # arguments of pydantic-settings
    try:
        return (await built.router.chat(ModelRequest(messages=ASK))).text
    finally:
        for client in built.clients.values():
            await client.aclose()


async def test_credentials_for_this_machine_do_not_pass_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the token nor the calls of a GigaChat on loopback go to the proxy of the environment; both of another host do."""
    async with serving(answer_all) as proxy, serving(answer_all) as service:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.base)
        assert await ask_gigachat(service.base) == "Привет"
        assert (proxy.seen, service.list_paths()) == ([], ["/oauth", "/v1/chat/completions"])
        assert await ask_gigachat("http://gigachat.internal") == "Привет"
        assert proxy.list_paths() == [f"http://gigachat.internal/{path}" for path in ("oauth", "v1/chat/completions")]
