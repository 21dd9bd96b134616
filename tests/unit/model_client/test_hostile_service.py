"""What a hostile or broken service on loopback can do with a request: compression, dates, endless pages, silence, certificates."""

import asyncio
import gzip
import logging
import ssl
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from bot.composition.model_providers import build_providers
from bot.settings.settings import Settings
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import ModelRequest, ProviderUnavailable
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.failures import RejectedRequest, TryAgainError
from orchestrator.model_client.gigachat_token import GigaChatToken
from orchestrator.model_client.settings import ModelSettings
from orchestrator.model_client.transcribe import Transcriber
from sandbox.model import authority
from state.canonical import dumps
from tests.unit.model_client.loopback_kit import FINE, Seen, Service, reply, serving
from tests.unit.model_client.test_model_client import delta, sse

PAYLOAD = {"messages": [{"role": "user", "content": "Привет"}]}
KEY = "very-secret-0123456789"
BOMB = reply(gzip.compress(gzip.compress(b" " * 30_000_000)), headers="Content-Encoding: gzip, gzip\r\n")


async def skip_pause(_seconds: float) -> None:
    """Skip a pause."""


def build_client(service: Service, heard: list[Any] | None = None, **settings: Any) -> ModelClient:
    told = ModelSettings(base_url=f"{service.base}/v1", **settings)
    return ModelClient(told, sleep=skip_pause, heard=(heard if heard is not None else []).append)


async def test_a_small_compressed_answer_cannot_fill_the_memory() -> None:
    """No part of the client asks for compression, and an answer that comes compressed is not unpacked."""
    async with serving(lambda _: BOMB) as service:
        client, token = build_client(service), GigaChatToken(f"{service.base}/oauth", SecretStr("a2V5"), "S")
        listener = Transcriber(ModelSettings(base_url=f"{service.base}/v1"), "m", sleep=skip_pause)
        asking = (
            client.stream_chat(PAYLOAD),
            client.post_chat_completions(PAYLOAD),
            client.post_embeddings({"input": "а"}),
            token.build_headers(),
            listener.transcribe(b"x", language="ru"),
        )
        for one in asking:
            with pytest.raises(ModelClientError, match="compressed"):
                await one
        assert all("accept-encoding: identity" in one.head for one in service.seen)
        for closed in (client, token, listener):
            await closed.aclose()


@pytest.mark.parametrize("body", [b'{"text": "' + b"x" * 1_100_000 + b'"}', b"x" * 3_000_000])
async def test_an_endless_transcript_is_not_read_to_its_end(body: bytes) -> None:
    """It is an error once it is longer than a transcript can be."""
    async with serving(lambda _: reply(body)) as service:
        listener = Transcriber(ModelSettings(base_url=f"{service.base}/v1"), "m", sleep=skip_pause)
        with pytest.raises(ModelClientError, match="more than a transcript"):
            await listener.transcribe(b"x", language="ru")
        await listener.aclose()


@pytest.mark.req("S004-21", "S001-6")
@pytest.mark.parametrize(
    ("wait", "attempts"),
    [
        ("604800", 1),
        ("99999999999", 1),
        ("Mon, 01 Jan 2024 00:00:00 +99999999999999999999", 3),
        ("Mon, 01 Jan 99999 00:00:00 GMT", 3),
        ("Mon, 08 Jan 2024 00:00:00 GMT", 1),
    ],
)
async def test_an_absurd_retry_after_is_no_error_of_our_own(wait: str, attempts: int) -> None:
    """A wait beyond the deadline is not begun, and one that is no time is ignored."""
    headers = f"Retry-After: {wait}\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\n"
    async with serving(lambda _: reply({}, 503, headers=headers)) as service:
        client = build_client(service)
        with pytest.raises(TryAgainError, match="503"):
            await client.stream_chat(PAYLOAD)
        assert len(service.seen) == attempts
        await client.aclose()


@pytest.mark.req("S001-6")
@pytest.mark.parametrize("error", [{"code": 429, "message": "slow"}, {"code": "503"}, {"type": "overloaded_error"}, {"status": 500}])
async def test_a_busy_service_that_says_so_in_its_answer_is_asked_again(error: object) -> None:
    """Some services send status 200 and then an error; once text was shown nothing is repeated."""
    was_shown, shown = asyncio.Event(), list[str]()

    async def show(piece: str) -> None:
        shown.append(piece)
        was_shown.set()

    async def answer_in_parts() -> AsyncIterator[bytes]:
        first, second = sse(delta("да")), sse({"error": error})
        yield f"HTTP/1.1 200 OK\r\nContent-Length: {len(first + second)}\r\n\r\n".encode() + first
        await was_shown.wait()
        yield second

    answers: list[Any] = [reply(sse({"error": error})), FINE, answer_in_parts()]
    async with serving(lambda _: answers.pop(0)) as service:
        client = build_client(service)
        assert (await client.stream_chat(PAYLOAD)).text == "Привет"

        with pytest.raises(ModelClientError, match="reports an error"):
            await client.stream_chat(PAYLOAD, show)
        assert (shown, len(service.seen)) == (["да"], 3)
        await client.aclose()


@pytest.mark.req("S001-11", "S001-X6")
async def test_the_error_tells_status_and_body_in_a_text_that_can_be_stored() -> None:
    """Also of a page, in one line; of a page that quotes the key the rest."""
    page = f"<h1>Not\n\x00 here</h1> {KEY} \ud800".encode("utf-8", "surrogatepass")
    async with serving(lambda _: reply(page, 404)) as service:
        client = build_client(service, api_key=SecretStr(KEY))
        with pytest.raises(RejectedRequest, match=r"404: <h1>Not \S here</h1> \*\*\*") as caught:
            await client.post_chat_completions(PAYLOAD)
        dumps(caught.value.reason)
        await client.aclose()


@pytest.mark.req("S001-5", "S001-A8")
@pytest.mark.parametrize("name", ["post_chat_completions", "post_embeddings"])
async def test_a_request_that_is_not_answered_within_its_time_is_given_up(name: str) -> None:
    """One attempt has a limit of its own, 30 seconds by default, inside of the deadline; it is not repeated."""
    assert ModelSettings().request_timeout == 30

    async def stall() -> AsyncIterator[bytes]:
        await asyncio.Event().wait()
        yield b""

    async with serving(lambda _: stall()) as service:
        client = build_client(service, request_timeout=0.05)
        with pytest.raises(ProviderUnavailable, match=r"within 0\.05 seconds"):
            await getattr(client, name)(PAYLOAD | {"input": "а"})
        assert len(service.seen) == 1
        await client.aclose()


@pytest.mark.req("S001-4")
async def test_a_message_that_is_too_long_is_neither_sent_nor_cut() -> None:
    """The error says how long it is, how long it may be, and which setting says so."""
    async with serving(lambda _: FINE) as service:
        client = build_client(service, message_limit=10)
        for content in ("x" * 11, [{"type": "text", "text": "x" * 11}]):
            with pytest.raises(RejectedRequest, match=r"11 characters, and at most 10 are sent \(MODEL_MESSAGE_LIMIT\)"):
                await client.stream_chat({"messages": [*PAYLOAD["messages"], {"role": "user", "content": content}]})
        with pytest.raises(RejectedRequest, match="11 characters"):
            await client.post_embeddings({"input": ["а", "x" * 11]})
        assert service.seen == []
        await client.stream_chat({"messages": [{"role": "user", "content": "x" * 10}]})
        await client.aclose()


@pytest.mark.parametrize(("status", "works"), [(200, True), (404, True), (302, False), (401, False), (500, False)])
async def test_a_probe_believes_no_redirect_and_reads_no_body(status: int, works: bool) -> None:  # noqa: FBT001 - as pytest hands it in
    """A page of a network's own login is no model service, and a list of models may be endless."""
    head = f"HTTP/1.1 {status} Said\r\nLocation: /login\r\nContent-Length: 10000000000\r\n\r\n"
    heard: list[Any] = []
    async with serving(lambda _: head.encode() + b"x") as service:
        client = build_client(service, heard)
        await client.probe()
        await client.aclose()
    assert [one is None for one in heard] == [works]


def build_tls(made: authority.Certificates) -> ssl.SSLContext:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(made.server, made.key)
    return tls


def answer_all(request: Seen) -> bytes:
    return reply({"access_token": "token", "expires_at": 9e12}) if request.path == "/oauth" else FINE


@pytest.mark.parametrize("kind", ["openai", "gigachat"])
@pytest.mark.parametrize(
    ("fault", "says"),
    [("unknown", "does not trust"), ("expired", "has expired"), ("other host", "is for another (host|address)"), ("", "")],
)
async def test_what_is_wrong_with_a_certificate_is_said_and_not_tried_again(
    kind: str, fault: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is sent to a service whose certificate is not trusted, not even the credentials."""
    fresh = getattr(ssl.create_default_context, "__wrapped__", ssl.create_default_context)
    monkeypatch.setattr(ssl, "create_default_context", fresh)  # the tests keep one for all clients
    monkeypatch.setattr(authority, "_WEEK", timedelta(minutes=-1 if fault == "expired" else 60))
    if fault == "other host":
        monkeypatch.setattr(authority, "_list_names", lambda _: [authority.x509.DNSName("elsewhere.example")])
    made = authority.make_certificates(tmp_path)
    async with serving(answer_all, tls=build_tls(made)) as service:
        given: dict[str, Any] = {"openai_api_base": f"{service.base}/v1", "openai_api_key": KEY}
        if kind == "gigachat":
            given = {"gigachat_api_base": f"{service.base}/v1", "gigachat_auth_url": f"{service.base}/oauth", "gigachat_credentials": KEY}
            given |= {"gigachat_ca_file": None if fault == "unknown" else made.authority}
        elif fault != "unknown":
            monkeypatch.setattr(ssl, "create_default_context", lambda **_: fresh(cafile=made.authority))
        built = build_providers(Settings(_env_file=None, **given))  # type: ignore[call-arg]  # an argument of pydantic-settings
        asking = built.router.chat(ModelRequest(messages=PAYLOAD["messages"]))
        if fault:
            with pytest.raises(ProviderUnavailable, match=says):
                await asking
            assert service.seen == []
        else:
            assert (await asking).text == "Привет"
        for client in built.clients.values():
            await client.aclose()


async def test_no_secret_is_in_what_a_verbose_request_logs(caplog: pytest.LogCaptureFixture) -> None:
    """Neither the credentials, nor the token with which the request was made, nor the one before it."""
    tokens = iter(["token-first-1", "token-second-2", "token-third-3"])
    given: list[str] = []

    def answer(request: Seen) -> bytes:
        if request.path == "/oauth":
            given.append(next(tokens))
            return reply({"access_token": given[-1], "expires_at": 9e12})
        if given[-1] != "token-second-2":
            return reply({"message": "expired"}, 401)
        return reply({"choices": [], "echo": [*given, "c2VjcmV0"]})

    async with serving(answer) as service:
        token = GigaChatToken(f"{service.base}/oauth", SecretStr("c2VjcmV0"), "S")
        client = ModelClient(ModelSettings(base_url=f"{service.base}/v1", api_key=SecretStr("c2VjcmV0")), auth=token)
        with caplog.at_level(logging.DEBUG):
            await client.post_chat_completions(PAYLOAD, verbose=True)
        await client.aclose()
    assert [one for one in (*given, "c2VjcmV0") if one in caplog.text] == []
    assert len(given) == 2
