"""What the program sends to GigaChat is accepted by a service as strict as the real one, over HTTPS and with tokens."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from bot.composition.model_providers import build_providers
from bot.settings.settings import Settings
from orchestrator.domain.models import EmbedRequest, ModelOptions, ModelRequest, ModelTool
from orchestrator.model_client.router import ModelRouter
from sandbox.model.gigachat import CREDENTIALS
from tests.contract.sandbox_model_kit import a_model_server, observed, said, turn
from tests.contract.test_sandbox_model_gigachat import SEARCH, chat, client, clock

__all__ = ["client", "clock"]


@asynccontextmanager
async def a_router(folder: Path) -> AsyncIterator[tuple[ModelRouter, httpx.AsyncClient]]:
    """The program's router over a sandbox GigaChat, and a client for the sandbox's own controls."""
    async with a_model_server(folder) as server:
        settings = Settings(  # type: ignore[call-arg]  # an argument of pydantic-settings
            _env_file=None,
            gigachat_credentials=SecretStr(CREDENTIALS),
            gigachat_api_base=f"{server.tls}/api/v1",
            gigachat_auth_url=f"{server.tls}/api/v2/oauth",
            gigachat_ca_file=server.ca_file,
        )
        built = build_providers(settings)
        async with httpx.AsyncClient(base_url=server.url) as control:
            yield built.router, control
        for one in built.clients.values():
            await one.aclose()


async def test_the_crm_agent_can_be_served_by_gigachat(tmp_path: Path) -> None:
    """Its prompt has two system messages, of which GigaChat takes one; the state in the second arrives."""
    current = {"deal": {"id": 481, "label": "Ромашка"}}
    messages = turn("подними сумму до 150 000", said("THOUGHT: …"), observed({"status": "done"}), current=current)
    async with a_router(tmp_path) as (router, control):
        answer = await router.chat(ModelRequest(messages=messages, options=ModelOptions(json=True)))
        assert answer.provider == "gigachat"
        sent = (await control.get("/sandbox/requests")).json()["requests"][-1]["messages"]
    assert [one["role"] for one in sent] == ["system", "user", "assistant", "user"]
    assert sent[0]["content"].startswith(messages[0]["content"])
    assert messages[1]["content"] in sent[0]["content"]


@pytest.mark.req("S001-X3")
async def test_tools_of_any_shape_and_earlier_calls_are_accepted(tmp_path: Path) -> None:
    """Wide and bare objects, several calls that another provider made, results that are no JSON, and vectors beside them."""
    wide: dict[str, Any] = {f"f{number}": {"type": "string"} for number in range(20)}
    tool = ModelTool(name="card", parameters={"type": "object", "properties": {**wide, "data": {"type": "object"}}})
    call = {"id": "a", "function": {"name": "card", "arguments": '{"f19": "x"}'}}
    past: list[dict[str, Any]] = [
        {"role": "user", "content": "запиши"},
        {"role": "system", "content": "Отвечай кратко."},
        {"role": "assistant", "content": None, "tool_calls": [call, {**call, "id": "b"}]},
        {"role": "tool", "tool_call_id": "a", "content": "готово"},
        {"role": "tool", "tool_call_id": "b", "content": None},
        {"role": "user", "content": "спасибо"},
    ]
    async with a_router(tmp_path) as (router, control):
        rule = {"answers": [{"tool_calls": [{"name": "card", "arguments": {"part_1": {"f0": "a"}, "part_3": {"f18": "b"}}}]}]}
        await control.post("/sandbox/script", json=rule)
        answer = await router.chat(ModelRequest(messages=past, role="tool", tools=[tool]))
        assert [(one.name, one.arguments, one.problem) for one in answer.calls] == [("card", {"f0": "a", "f18": "b"}, "")]
        assert len((await router.embed(EmbedRequest(texts=["а"] * 100))).vectors) == 100


@pytest.mark.parametrize(
    ("messages", "status", "says"),
    [
        ([{"role": "system", "content": "a"}, {"role": "system", "content": "b"}], 422, "must be the first"),
        ([{"role": "user", "content": "a"}, {"role": "system", "content": "b"}], 422, "must be the first"),
        ([{"role": "tool", "content": "{}", "tool_call_id": "a"}], 422, "unknown role tool"),
        ([{"role": "function", "name": "f", "content": "готово"}], 422, "must be JSON"),
        ([{"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "{}"}}], 400, "invalid JSON"),
    ],
)
async def test_the_sandbox_refuses_what_gigachat_refuses(
    client: httpx.AsyncClient, messages: list[dict[str, Any]], status: int, says: str
) -> None:
    """Else a test would pass and the first request to the real service fail."""
    answer = await chat(client, messages=messages)
    assert (answer.status_code, says in answer.json()["message"]) == (status, True)


async def test_the_sandbox_refuses_objects_without_properties(client: httpx.AsyncClient) -> None:
    """At the top, below it and in lists, by the path that the service names."""
    bare = {"type": "object"}
    for parameters, path in (
        (bare, "properties"),
        ({"type": "object", "properties": {"data": bare}}, "properties.data.properties"),
        ({"type": "object", "properties": {"rows": {"type": "array", "items": bare}}}, "properties.rows.items.properties"),
    ):
        answer = await chat(client, functions=[{**SEARCH, "parameters": parameters}])
        assert (answer.status_code, answer.json()["message"]) == (422, f"Field '{path}' is missing")
