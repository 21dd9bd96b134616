"""GigaChat: its token, its functions, and what a hostile host can do."""

import asyncio
import json
import logging
import uuid
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import ModelOptions, ModelRequest, ModelTool
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.gigachat_token import GigaChatToken
from orchestrator.model_client.providers import GigaChatProvider
from orchestrator.model_client.settings import ModelSettings
from tests.unit.model_client.test_model_client import sse

KEY = "c2VjcmV0LWNyZWRlbnRpYWxz"
ASK = ({"role": "user", "content": "Погода?"},)
WIDE = ModelTool(
    name="card", parameters={"type": "object", "properties": {f"f{n}": {"type": "string"} for n in range(20)}, "required": ["f19", "f0"]}
)


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"model": "GigaChat", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


class Sber:
    """The token server and the model server in one transport."""

    def __init__(self, *events: dict[str, Any]) -> None:
        self.events = events or (chunk({"content": "да"}), chunk({}, "stop"))
        self.tokens: list[str] = []
        self.forms: list[httpx.Request] = []
        self.chats: list[httpx.Request] = []
        self.refuse: set[str] = set()
        self.now = 1_000.0
        self.life = 1_800.0
        self.gate: asyncio.Event | None = None
        self.answer: Callable[[], httpx.Response] | None = None

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/oauth":
            self.forms.append(request)
            if self.gate is not None:
                await self.gate.wait()
            if self.answer is not None:
                return self.answer()
            self.tokens.append(f"token-{len(self.tokens) + 1}-abcdef")
            return httpx.Response(200, json={"access_token": self.tokens[-1], "expires_at": int((self.now + self.life) * 1000)})
        self.chats.append(request)
        if request.headers["authorization"].removeprefix("Bearer ") in self.refuse:
            return httpx.Response(401, json={"message": f"Token {request.headers['authorization']} expired"})
        return httpx.Response(200, content=sse(*self.events, "[DONE]"))

    def build_token(self) -> GigaChatToken:
        wire = httpx.MockTransport(self)
        clock = lambda: self.now  # noqa: E731
        return GigaChatToken("https://ngw/oauth", SecretStr(KEY), "SCOPE", transport=wire, clock=clock, wall=clock)

    def build_client(self) -> ModelClient:
        told = ModelSettings(base_url="https://giga/v1", api_key=SecretStr(KEY), key_name="GIGACHAT_CREDENTIALS", reports_usage=False)
        return ModelClient(told, transport=httpx.MockTransport(self), auth=self.build_token())

    def build_provider(self, **more: Any) -> GigaChatProvider:
        return GigaChatProvider(self.build_client(), model="GigaChat", embedding_model="Embeddings", **more)


async def test_the_token_is_got_by_credentials_and_shared() -> None:
    """Twenty calls at once make one request, with Basic, a RqUID and the scope as a form field; each call carries the token."""
    sber = Sber()
    provider = sber.build_provider()
    await asyncio.gather(*(provider.chat(ModelRequest(messages=ASK)) for _ in range(20)))
    (form,) = sber.forms
    assert form.headers["authorization"] == f"Basic {KEY}"
    assert uuid.UUID(form.headers["rquid"])
    assert form.content == b"scope=SCOPE"
    assert {one.headers["authorization"] for one in sber.chats} == {f"Bearer {sber.tokens[0]}"}
    assert "stream_options" not in json.loads(sber.chats[0].content)


async def test_a_token_is_renewed_in_the_background_before_its_end() -> None:
    """While the server of tokens hangs, no call waits: the old token still serves; later the new one does."""
    sber = Sber()
    token = sber.build_token()
    await token.build_headers()
    sber.now += 1_700
    sber.gate = asyncio.Event()
    async with asyncio.timeout(30):
        served = [await token.build_headers() for _ in range(5)]
    assert {one["Authorization"] for one in served} == {f"Bearer {sber.tokens[0]}"}
    sber.gate.set()
    for _ in range(20):
        await asyncio.sleep(0)
    assert (await token.build_headers())["Authorization"] == f"Bearer {sber.tokens[1]}"
    assert len(sber.forms) == 2
    await token.aclose()


class Timers:
    """The timers of the loop, which run when told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.set: list[tuple[float, Callable[[], object]]] = []
        monkeypatch.setattr(asyncio.get_running_loop(), "call_later", self.call_later)

    def call_later(self, seconds: float, act: Callable[[], object], *_: object) -> asyncio.TimerHandle:
        self.set.append((seconds, act))
        return asyncio.TimerHandle(0, lambda: None, (), asyncio.get_running_loop())


async def go_on() -> None:
    """Let tasks go on that wait for nothing."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_no_call_waits_while_the_token_is_renewed() -> None:
    """Of fifty calls side by side in the last second of a token, with a token server that does not answer, none is delayed."""
    sber = Sber()
    token = sber.build_token()
    await token.build_headers()
    sber.now += sber.life - 1
    sber.gate = asyncio.Event()
    calls = [asyncio.ensure_future(token.build_headers()) for _ in range(50)]
    await go_on()
    assert [call.done() for call in calls] == [True] * 50
    assert len(sber.forms) == 2
    sber.gate.set()
    await go_on()
    sber.now += 2
    late = [asyncio.ensure_future(token.build_headers()) for _ in range(50)]
    await asyncio.sleep(0)
    assert [call.result()["Authorization"] for call in late] == [f"Bearer {sber.tokens[1]}"] * 50
    await token.aclose()


async def test_a_token_is_renewed_although_nobody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """After hours of silence the first calls wait for nothing. A renewal that fails is tried again until the token ends, and no longer."""
    sber = Sber()
    token = sber.build_token()
    timers = Timers(monkeypatch)
    await token.build_headers()
    for number in range(5):
        seconds, fetch = timers.set.pop()
        assert seconds == sber.life - 120
        sber.now += seconds
        fetch()
        await go_on()
        assert len(sber.tokens) == number + 2
    sber.answer = lambda: httpx.Response(503)
    sber.now += timers.set[-1][0]
    tries = 0
    while timers.set:
        _, fetch = timers.set.pop()
        fetch()
        await go_on()
        tries += 1
        sber.now += 5
    assert 20 <= tries <= 25
    sber.answer = None
    assert (await token.build_headers())["Authorization"] == f"Bearer {sber.tokens[-1]}"
    await token.aclose()


async def test_a_renewal_that_fails_disturbs_nobody_while_the_token_lives() -> None:
    """It is tried again after a pause, not with each call."""
    sber = Sber()
    token = sber.build_token()
    await token.build_headers()
    sber.now += 1_700
    sber.answer = lambda: httpx.Response(500)
    for _ in range(10):
        await token.build_headers()
        await asyncio.sleep(0)
    assert len(sber.forms) == 2
    sber.now, sber.answer = sber.now + 6, None
    await token.build_headers()
    for _ in range(10):
        await asyncio.sleep(0)
    assert sber.tokens[1:] == ["token-2-abcdef"]


async def test_a_refused_token_is_renewed_once_and_the_call_repeated() -> None:
    """A second 401 is an error that names the setting and shows no secret."""
    sber = Sber()
    provider = sber.build_provider()
    await provider.chat(ModelRequest(messages=ASK))
    sber.refuse = {sber.tokens[0]}
    assert (await provider.chat(ModelRequest(messages=ASK))).text == "да"
    assert len(sber.tokens) == 2
    sber.refuse = {f"token-{n}-abcdef" for n in range(9)}
    with pytest.raises(ModelClientError, match="GIGACHAT_CREDENTIALS") as why:
        await provider.chat(ModelRequest(messages=ASK))
    assert len(sber.tokens) == 3
    assert not [secret for secret in (KEY, *sber.tokens) if secret in why.value.reason]


@pytest.mark.parametrize(
    "answer",
    [
        lambda: httpx.Response(200, content=b"x" * 200_000),
        lambda: httpx.Response(200, content=b"not json"),
        lambda: httpx.Response(200, json={"access_token": "a b\n"}),
        lambda: httpx.Response(200, json=["token"]),
        lambda: httpx.Response(302, headers={"location": "http://10.0.0.1/"}),
        lambda: httpx.Response(400, json={"message": f"bad credentials {KEY}"}),
    ],
)
async def test_a_hostile_token_server_is_an_error_without_secrets(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Too long, no JSON, no token, a redirect, or one that quotes the credentials."""
    sber = Sber()
    sber.answer = answer
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelClientError) as why:
        await sber.build_provider().chat(ModelRequest(messages=ASK))
    assert KEY not in why.value.reason + caplog.text
    assert sber.chats == []
    assert len(sber.forms) == 1 or "500" in why.value.reason


async def test_functions_take_the_place_of_tools_and_arguments_are_objects() -> None:
    """The request has functions, the answer a function_call; history with tool calls is translated too."""
    called = {"role": "assistant", "function_call": {"name": "weather", "arguments": {"city": "Омск"}}}
    sber = Sber(chunk(called), chunk({}, "function_call"))
    past: list[dict[str, Any]] = [
        *ASK,
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": '{"city": "Тверь"}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "тепло"},
    ]
    tool = ModelTool(name="weather", parameters={"type": "object", "properties": {"city": {"type": "string"}}})
    answer = await sber.build_provider().chat(ModelRequest(messages=past, tools=[tool], options=ModelOptions(json=True)))
    assert [(one.name, one.arguments) for one in answer.calls] == [("weather", {"city": "Омск"})]
    sent = json.loads(sber.chats[0].content)
    assert sent["function_call"] == "auto"
    assert sent["functions"][0]["name"] == "weather"
    assert not {"tools", "response_format"} & sent.keys()
    assert sent["messages"][0]["role"] == "system"
    assert sent["messages"][2]["function_call"] == {"name": "weather", "arguments": {"city": "Тверь"}}
    assert sent["messages"][3] == {"role": "function", "name": "weather", "content": '{"result": "тепло"}'}


async def test_wide_schemas_are_split_and_arguments_joined_again() -> None:
    """No object has more than eight properties, required ones stay required, and the caller sees the arguments of the tool."""
    called = {"function_call": {"name": "card", "arguments": {"part_1": {"f19": "a"}, "part_3": {"f18": "b"}, "f1": "c"}}}
    sber = Sber(chunk(called), chunk({}, "function_call"))
    answer = await sber.build_provider().chat(ModelRequest(messages=ASK, tools=[WIDE]))
    assert answer.calls[0].arguments == {"f19": "a", "f18": "b", "f1": "c"}
    sent = json.loads(sber.chats[0].content)["functions"][0]["parameters"]
    parts = list(sent["properties"].values())
    assert [len(one["properties"]) for one in parts] == [8, 8, 4]
    assert sorted(name for one in parts for name in one["properties"]) == sorted(WIDE.parameters["properties"])
    assert (sent["required"], parts[0]["required"]) == (["part_1"], ["f19", "f0"])


async def test_narrowing_keeps_what_is_required() -> None:
    """And the first others; more than eight required ones are an error that says what to do."""
    sber = Sber()
    await sber.build_provider(wide_schemas="narrow").chat(ModelRequest(messages=ASK, tools=[WIDE]))
    sent = json.loads(sber.chats[0].content)["functions"][0]["parameters"]
    assert sorted(sent["properties"]) == ["f0", "f1", "f19", "f2", "f3", "f4", "f5", "f6"]
    needy = ModelTool(name="card", parameters={**WIDE.parameters, "required": list(WIDE.parameters["properties"])})
    with pytest.raises(ModelClientError, match="wide_schemas: split"):
        await sber.build_provider(wide_schemas="narrow").chat(ModelRequest(messages=ASK, tools=[needy]))
