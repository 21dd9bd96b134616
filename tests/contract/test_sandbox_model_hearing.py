"""The demo model's ears, and what it makes of a message of somebody else: words of the sandbox's own voice files, nothing guessed."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from orchestrator.domain.errors import ModelClientError
from orchestrator.features.talking.feature import FORWARD_TEXTS
from orchestrator.model_client.settings import ModelSettings
from orchestrator.model_client.transcribe import Transcriber
from sandbox.model.app import create_app
from sandbox.telegram.speech import voice_file
from tests.contract.sandbox_model_kit import blocks, turn

SPOKEN = voice_file("подними сумму сделки Ромашка до 150 000", 3)
KEY = "sk-verysecret0123456789"


def _listener(handler: Callable[[httpx.Request], httpx.Response] | None = None, **more: Any) -> Transcriber:
    """The product's own client against the demo model, or against a scripted wire."""
    transport = httpx.MockTransport(handler) if handler else httpx.ASGITransport(app=create_app(now=lambda: 0.0))
    settings = ModelSettings(base_url="http://127.0.0.1:9/v1", api_key=SecretStr(KEY), **more)

    async def at_once(seconds: float) -> None:
        del seconds

    return Transcriber(settings, "gpt-4o-transcribe", transport=transport, sleep=at_once)


@pytest.mark.parametrize(("words", "seconds"), [("покажи мои сделки", 2), ("", 1)])
async def test_a_voice_message_is_transcribed(words: str, seconds: int) -> None:
    listener = _listener()
    assert await listener.transcribe(voice_file(words, seconds), language="ru") == words
    await listener.aclose()
    with pytest.raises(ModelClientError):
        await listener.transcribe(SPOKEN, language="ru")


async def test_what_is_sent_is_what_the_service_documents() -> None:
    """Multipart with file, model, language; the key in its header."""
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"text": "да"})

    assert await _listener(answer).transcribe(SPOKEN, language="ru") == "да"
    (request,) = seen
    assert (request.method, request.url.path) == ("POST", "/v1/audio/transcriptions")
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    for part in (b'name="model"\r\n\r\ngpt-4o-transcribe', b'name="language"\r\n\r\nru', b'filename="voice.ogg"', SPOKEN):
        assert part in request.content


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([500, 503, 200], ""),
        ([500, 500, 500], "500"),
        ([401], "OPENAI_API_KEY"),
        ([413], "413"),
        (["<html>502</html>", 200], ""),
        (["[]"], "no transcript"),
        (['{"text": 5}'], "no transcript"),
        ([httpx.ConnectError("x"), 200], ""),
        ([httpx.ReadTimeout("x")], "in time"),
    ],
)
async def test_a_service_that_fails_is_asked_again_only_where_that_helps(answers: list[Any], said: str) -> None:
    """And the key never stands in the reason."""
    script = list(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        del request
        found = script.pop(0)
        if isinstance(found, Exception):
            raise found
        if isinstance(found, str):
            return httpx.Response(200, content=found)
        return httpx.Response(found, json={"text": "да"} if found == 200 else {"error": {"message": f"broken {KEY}"}})

    if not said:
        assert await _listener(answer).transcribe(SPOKEN, language="ru") == "да"
    else:
        with pytest.raises(ModelClientError) as caught:
            await _listener(answer).transcribe(SPOKEN, language="ru")
        assert said in caught.value.reason
        assert KEY not in caught.value.reason
    assert script == []


async def test_a_hearing_can_be_given_up_at_once() -> None:
    """/stop: the connection is dropped, nobody waits for the service."""
    begun = asyncio.Event()

    class Slow(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            begun.set()
            await asyncio.get_running_loop().create_future()
            raise AssertionError(request)

    listener = Transcriber(ModelSettings(base_url="http://127.0.0.1:9/v1"), "m", transport=Slow())
    task = asyncio.ensure_future(listener.transcribe(SPOKEN, language="ru"))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"files": {"file": ("v.ogg", b"no recording")}, "data": {"model": "m"}}, 400),
        ({"files": {"file": ("v.ogg", SPOKEN)}}, 400),
        ({"data": {"model": "m"}}, 400),
        ({"files": {"file": ("v.ogg", SPOKEN)}, "data": {"model": "m", "response_format": "text"}}, 200),
    ],
)
async def test_the_sandbox_refuses_what_the_real_service_refuses(client: httpx.AsyncClient, body: dict[str, Any], status: int) -> None:
    assert (await client.post("/v1/audio/transcriptions", **body)).status_code == status
    await client.post("/sandbox/faults", json={"kind": "500", "target": "audio"})
    assert (await client.post("/v1/audio/transcriptions", **body)).status_code == 500


FORWARDED = "Иван Петров:\nнужна CRM на 20 мест\n+7 916 123-45-67, ivan@x.ru"


@pytest.mark.parametrize("wish", [FORWARD_TEXTS["lead"]["ru"], FORWARD_TEXTS["lead"]["en"], "заведи лид", "заведи лид из этого письма"])
async def test_a_lead_is_made_of_a_forwarded_message(client: httpx.AsyncClient, wish: str) -> None:
    quoted = f"{wish}\n\nForwarded or pasted text of somebody else:\n<<<DATA 7f\n{FORWARDED}\nDATA 7f>>>"
    (step,) = (await blocks(client, turn(quoted))).steps
    fields = step.params["fields"]
    assert (step.method, fields["TITLE"], fields["NAME"]) == ("crm.lead.add", "Иван Петров", "Иван Петров")
    assert (fields["PHONE"][0]["VALUE"], fields["EMAIL"][0]["VALUE"]) == ("+79161234567", "ivan@x.ru")
    assert fields["COMMENTS"].startswith("нужна CRM")


@pytest.mark.parametrize("wish", [FORWARD_TEXTS["task"]["ru"], FORWARD_TEXTS["task"]["en"]])
async def test_a_task_is_made_of_a_forwarded_message(client: httpx.AsyncClient, wish: str) -> None:
    quoted = f"{wish}\n\nForwarded or pasted text of somebody else:\n<<<DATA 7f\n{FORWARDED}\nDATA 7f>>>"
    (step,) = (await blocks(client, turn(quoted))).steps
    assert (step.method, step.params["fields"]["TITLE"]) == ("tasks.task.add", "нужна CRM на 20 мест")
    assert step.params["fields"]["DESCRIPTION"] == FORWARDED
