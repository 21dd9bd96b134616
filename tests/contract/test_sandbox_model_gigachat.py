"""The demo model in the API of GigaChat: tokens that end, functions with objects, errors as the service writes them, HTTPS of its own."""

import json
import signal
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sandbox.model.app import create_app
from sandbox.model.gigachat import CREDENTIALS
from tests.contract.sandbox_model_kit import ROOT, a_model_server, turn
from tests.forker import forked

RQUID = "6f0b1291-c7f3-43c6-bb2e-9f3efb2dc98e"
BASIC = {"authorization": f"Basic {CREDENTIALS}", "rquid": RQUID}
SCOPE = {"scope": "GIGACHAT_API_PERS"}
HAIKU = {
    "name": "generate_haiku",
    "description": "Сочинить хайку на тему",
    "parameters": {"type": "object", "properties": {"theme": {"type": "string", "maxLength": 20}}, "required": ["theme"]},
}
SEARCH = {
    "name": "rag_search",
    "description": "Найти ответ на вопрос в документах компании",
    "parameters": {"type": "object", "properties": {"question": {"type": "string"}, "top_k": {"type": "integer", "default": 2}}},
}


class Clock:
    """A clock that stands until it is moved."""

    now = 1_795_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """The server's clock."""
    return Clock()


@pytest.fixture
async def client(clock: Clock) -> AsyncIterator[httpx.AsyncClient]:
    """A fresh model for each test."""
    transport = httpx.ASGITransport(app=create_app(now=clock))
    async with httpx.AsyncClient(transport=transport, base_url="http://model") as ready:
        yield ready


async def ask_token(client: httpx.AsyncClient) -> dict[str, Any]:
    """A new token."""
    answer = await client.post("/api/v2/oauth", headers=BASIC, data=SCOPE)
    assert answer.status_code == 200, answer.text
    return answer.json()  # type: ignore[no-any-return]  # an object


async def chat(client: httpx.AsyncClient, **body: Any) -> httpx.Response:
    """The answer to a chat request with a fresh token."""
    token = (await ask_token(client))["access_token"]
    given = {"model": "GigaChat-2-Max", "messages": [{"role": "user", "content": "привет"}], **body}
    return await client.post("/api/v1/chat/completions", json=given, headers={"authorization": f"Bearer {token}"})


async def test_a_token_serves_until_its_end_and_not_a_moment_longer(client: httpx.AsyncClient, clock: Clock) -> None:
    await client.post("/sandbox/gigachat", json={"token_seconds": 60})
    told = await ask_token(client)
    assert told["expires_at"] == int((clock.now + 60) * 1000)
    bearer = {"authorization": f"Bearer {told['access_token']}"}
    assert (await client.get("/api/v1/models", headers=bearer)).status_code == 200
    clock.now += 60
    refused = await client.get("/api/v1/models", headers=bearer)
    assert (refused.status_code, refused.json()) == (401, {"status": 401, "message": "Unauthorized"})
    assert (await client.get("/sandbox/health")).json()["tokens"] == {"asked": 1, "given": 1, "seconds": 60.0}


async def test_tokens_can_be_revoked_before_their_end(client: httpx.AsyncClient) -> None:
    bearer = {"authorization": f"Bearer {(await ask_token(client))['access_token']}"}
    await client.post("/sandbox/gigachat", json={"revoke": True})
    assert (await client.post("/api/v1/embeddings", json={"model": "Embeddings", "input": ["a"]}, headers=bearer)).status_code == 401


@pytest.mark.parametrize(
    ("headers", "form", "status", "code"),
    [
        ({"rquid": ""}, SCOPE, 400, 1),
        ({"rquid": "not-a-uuid"}, SCOPE, 400, 1),
        ({"authorization": ""}, SCOPE, 400, 4),
        ({"authorization": f"Bearer {CREDENTIALS}"}, SCOPE, 400, 4),
        ({"authorization": "Basic d3Jvbmc6d3Jvbmc="}, SCOPE, 401, 6),
        ({}, {}, 400, 5),
        ({}, {"scope": "GIGACHAT_API_ALL"}, 400, 7),
    ],
)
async def test_a_token_is_given_only_for_what_the_service_asks(
    client: httpx.AsyncClient, headers: dict[str, str], form: dict[str, str], status: int, code: int
) -> None:
    answer = await client.post("/api/v2/oauth", headers=BASIC | headers, data=form)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


@pytest.mark.parametrize("authorization", ["", "Bearer ", "Bearer made-up", f"Basic {CREDENTIALS}"])
async def test_nothing_is_answered_without_a_token(client: httpx.AsyncClient, authorization: str) -> None:
    for path, body in (("chat/completions", {"messages": [{"role": "user", "content": "a"}]}), ("embeddings", {"input": "a"})):
        answer = await client.post(f"/api/v1/{path}", json=body, headers={"authorization": authorization})
        assert answer.status_code == 401


@pytest.mark.req("S001-X3")
async def test_a_function_is_called_with_an_object_of_arguments(client: httpx.AsyncClient) -> None:
    body = {"messages": [{"role": "user", "content": "сочини хайку про зиму"}], "functions": [SEARCH, HAIKU], "function_call": "auto"}
    choice = (await chat(client, **body)).json()["choices"][0]
    assert choice["finish_reason"] == "function_call"
    assert choice["message"]["function_call"] == {"name": "generate_haiku", "arguments": {"theme": "сочини хайку про зим"}}
    assert choice["message"]["functions_state_id"]
    forced = {**body, "function_call": {"name": "rag_search", "partial_arguments": {"top_k": 5}}}
    call = (await chat(client, **forced)).json()["choices"][0]["message"]["function_call"]
    assert call == {"name": "rag_search", "arguments": {"question": "сочини хайку про зиму", "top_k": 5}}
    assert "function_call" not in (await chat(client, **{**body, "function_call": "none"})).json()["choices"][0]["message"]


@pytest.mark.parametrize(("kind", "status"), [("429", 429), ("401", 401), ("503", 503), ("422", 422), ("500", 500)])
async def test_ordered_errors_have_the_services_shape(client: httpx.AsyncClient, kind: str, status: int) -> None:
    """They come only in the API for which they are ordered, and are taken by the token's address too."""
    await client.post("/sandbox/faults", json={"kind": kind, "provider": "gigachat", "retry_after": 7})
    plain = await client.post("/v1/chat/completions", json={"messages": turn("мои сделки")})
    assert plain.status_code == 200
    answer = await chat(client)
    assert (answer.status_code, answer.json()["status"]) == (status, status)
    await client.post("/sandbox/faults", json={"kind": kind, "target": "token"})
    assert (await client.post("/api/v2/oauth", headers=BASIC, data=SCOPE)).status_code == status


async def test_https_is_trusted_by_the_sandboxs_own_authority_and_by_no_other(tmp_path: Path) -> None:
    async with a_model_server(tmp_path) as server:
        own = ssl.create_default_context(cafile=str(server.ca_file))
        async with httpx.AsyncClient(verify=own, base_url=server.tls) as client:
            told = (await client.get("/sandbox/health")).json()
            assert (told["gigachat"], told["ca_file"]) == (server.tls, str(server.ca_file))
            assert (await chat(client)).status_code == 200
        async with httpx.AsyncClient(base_url=server.tls, trust_env=False) as stranger:
            with pytest.raises(httpx.ConnectError, match="certificate verify failed"):
                await stranger.get("/sandbox/health")
        async with httpx.AsyncClient(base_url=server.url) as plain:
            assert (await plain.get("/sandbox/health")).json()["tokens"]["asked"] == 1


def test_the_program_tells_its_addresses_and_ends_on_a_signal_with_its_certificates() -> None:
    """Of two servers in one process a signal reaches only one, and both must end."""
    process = subprocess.Popen(forked("-m", "sandbox.model", "--tls-port", "0"), stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    try:
        told = json.loads(process.stdout.readline())
        own = ssl.create_default_context(cafile=told["ca_file"])
        health = httpx.get(f"{told['gigachat']}/sandbox/health", verify=own, trust_env=False).json()
        assert (health["gigachat"], health["ca_file"]) == (told["gigachat"], told["ca_file"])
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
        assert not Path(told["ca_file"]).exists()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
