"""The sample configurations of docs/models.md: each is loaded, what goes out for it is seen on a socket, and its service's answers are read.

The answers stand in the forms that the services really have: thinking in a field or in the text, a last chunk without choices, errors.
"""

import io
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from dotenv import dotenv_values

from bot.composition.model_checks import find_doubts, find_mute_reason
from bot.composition.model_providers import Providers, build_providers
from bot.settings.model_plan import load_plan
from bot.settings.settings import Settings
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import ModelOptions, ModelRequest, ModelTool
from tests.unit.model_client.loopback_kit import Seen, Service, reply, serving
from tests.unit.model_client.test_model_client import sse

PAGE = (Path(__file__).resolve().parents[4] / "docs" / "models.md").read_text(encoding="utf-8")
SAMPLES = dict(re.findall(r"^### (\w[^\n]*)\n```ini\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE))
ASK = ({"role": "system", "content": "Правила."}, {"role": "user", "content": "Привет"})
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def load(name: str, folder: Path, **over: Any) -> Settings:
    """Return the settings of a sample, as they are read from a .env file."""
    path = folder / ".env"
    path.write_text(SAMPLES[name], encoding="utf-8")
    if "GIGACHAT_CA_FILE" in SAMPLES[name]:
        over["gigachat_ca_file"] = None
    return Settings(_env_file=path, **over)  # type: ignore[call-arg]  # an argument of pydantic-settings


class Detour(httpx.AsyncBaseTransport):
    """Brings every request to a service on loopback, with the host that it was meant for in its headers."""

    def __init__(self, service: Service) -> None:
        self.service, self.addresses = service, list[str]()
        self.inner = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.addresses.append(str(request.url))
        request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=self.service.port)
        return await self.inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self.inner.aclose()


CASES: dict[str, dict[str, Any]] = yaml.safe_load(
    (Path(__file__).resolve().parents[3] / "corpus" / "model_services.yaml").read_text("utf-8")
)
"""Of each service: the address, the key and the fields of a request, its answer, and with which error body it refuses."""


def answer_of(name: str) -> bytes:
    """Return the stream with which the service answers."""
    return f"{CASES[name].get('comment', '')}\n\n".encode().lstrip() + sse(*CASES[name]["answer"])


@asynccontextmanager
async def built(name: str, folder: Path, *answers: bytes) -> AsyncIterator[tuple[Providers, Service, Detour]]:
    """Build the models of a sample over a service on loopback that gives these answers."""
    left = list(answers)

    def answer(request: Seen) -> bytes:
        if request.path.endswith("/oauth"):
            return reply({"access_token": "access", "expires_at": 9e12})
        return left.pop(0)

    async with serving(answer) as service:
        settings = load(name, folder)
        detour = Detour(service)
        made = build_providers(settings, transports=dict.fromkeys(load_plan(settings).providers, detour))
        try:
            yield made, service, detour
        finally:
            for client in made.clients.values():
                await client.aclose()


def test_every_provider_of_the_page_has_a_sample_and_every_sample_a_case() -> None:
    """A new one cannot be forgotten here."""
    assert set(SAMPLES) == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_sample_is_right_without_any_doubt(name: str, tmp_path: Path) -> None:
    """It loads, nothing of it is doubtful, somebody answers people, and every name in it is a setting."""
    settings = load(name, tmp_path)
    plan = load_plan(settings)
    assert list(find_doubts(plan, settings)) == []
    assert find_mute_reason(settings) == ""
    assert {one.lower() for one in dotenv_values(stream=io.StringIO(SAMPLES[name]))} <= Settings.model_fields.keys()


@pytest.mark.req("S004-16", "S004-18")
@pytest.mark.parametrize("name", CASES)
async def test_a_sample_sends_what_its_service_takes_and_reads_what_it_answers(name: str, tmp_path: Path) -> None:
    """The address, the key and each field of the body are those of the page; thinking is not part of the answer, tokens are counted."""
    case = CASES[name]
    stream = reply(answer_of(name), headers="Content-Type: text/event-stream\r\n")
    async with built(name, tmp_path, stream) as (models, service, detour):
        pieces: list[str] = []

        async def show(piece: str) -> None:
            pieces.append(piece)

        answer = await models.router.chat(ModelRequest(messages=ASK), show)
        sent = json.loads(service.seen[-1].body)
        assert detour.addresses[-1] == case["address"]
        assert sent == {**case["told"], "messages": list(ASK)}
        keys = [line.partition(": ")[2] for line in service.seen[-1].head.split("\r\n") if line.startswith("authorization:")]
        assert keys == ([case["key"]] if case["key"] else [])
        assert (answer.text, "".join(pieces), answer.prompt_tokens, answer.completion_tokens) == ("Да", "Да", 11, 7)


@pytest.mark.req("S004-20")
@pytest.mark.parametrize("name", CASES)
async def test_a_sample_says_why_its_service_refuses(name: str, tmp_path: Path) -> None:
    """In the words of the service, whatever the form of its error body; no key is in them."""
    case = CASES[name]
    refusal = reply(case["refusal"], case["status"])
    async with built(name, tmp_path, refusal, refusal, refusal) as (models, _, _detour):
        with pytest.raises(ModelClientError) as why:
            await models.router.chat(ModelRequest(messages=ASK))
        assert case["says"] in why.value.reason
        assert "your-key" not in why.value.reason


@pytest.mark.parametrize("name", CASES)
async def test_an_answer_that_is_not_streamed_is_read_too(name: str, tmp_path: Path) -> None:
    """Some proxies do not stream; thinking in the text is cut off for engines and kept for the engine that reads the whole answer."""
    message = {"role": "assistant", "content": "<think>\nСначала…\n</think>\n\nДа", "reasoning_content": None, "tool_calls": []}
    body = {
        "id": "x",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": USAGE,
    }
    async with built(name, tmp_path, reply(body), reply(body)) as (models, _, _detour):
        assert (await models.router.chat(ModelRequest(messages=ASK, role="tool"))).text == "Да"
        assert (await models.router.chat(ModelRequest(messages=ASK))).text == message["content"]


@pytest.mark.parametrize("name", CASES)
async def test_what_a_request_says_for_itself_goes_before_the_settings(name: str, tmp_path: Path) -> None:
    """And only what the model takes is sent; tools cannot be replaced by anything in the extra body."""
    own = ModelOptions(temperature=0, max_tokens=5, top_p=0.5, reasoning_effort="high", stop=("x",), seed=3)
    request = ModelRequest(messages=ASK, options=own, tools=(ModelTool(name="look"),))
    async with built(name, tmp_path, reply(answer_of(name))) as (models, service, _):
        await models.router.chat(request)
        sent = json.loads(service.seen[-1].body)
    assert sent.get("max_completion_tokens", sent.get("max_tokens")) == 5
    assert sent.get("reasoning_effort", sent.get("reasoning", {}).get("effort")) == "high"
    refused = {"OpenAI": {"temperature", "top_p", "stop"}, "GigaChat": {"stop", "seed"}}.get(name, set())
    assert {"temperature", "top_p", "stop", "seed"} - sent.keys() == refused
    assert sent.get("temperature") == {"OpenAI": None, "GigaChat": 0.001}.get(name, 0)
    assert sent["messages"] == list(ASK)
    assert len(sent["functions" if name == "GigaChat" else "tools"]) == 1
