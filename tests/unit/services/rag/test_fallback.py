"""An answer from documents comes from the second provider while its time lasts, and the service says which model wrote it."""

import asyncio
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.providers import OpenAiProvider
from orchestrator.model_client.router import ModelRouter, Route
from orchestrator.model_client.settings import ModelSettings
from tests.unit.services.rag.rag_kit import build_service, run_rag, write_files

BODY = {"model": "вторая", "choices": [{"message": {"content": "28 дней [1]"}, "finish_reason": "stop"}]}


def build_route(name: str, answer: httpx.AsyncBaseTransport) -> Route:
    """A provider behind this wire."""
    client = ModelClient(ModelSettings(base_url="http://model/v1", api_key=SecretStr("key")), transport=answer)
    return Route(name=name, provider=OpenAiProvider(client, model=name))


async def hang(_request: httpx.Request) -> httpx.Response:
    """Take a request and never answer."""
    await asyncio.Event().wait()
    raise AssertionError


async def refuse(_request: httpx.Request) -> httpx.Response:
    """Be dead."""
    raise httpx.ConnectError("refused")


@pytest.mark.parametrize("dead", [hang, refuse])
async def test_the_second_provider_answers_within_the_time_of_an_answer(tmp_path: Path, dead: object) -> None:
    """One that hangs and one that refuses: neither costs the person the answer."""
    second = httpx.MockTransport(lambda _: httpx.Response(200, json=BODY))
    router = ModelRouter([build_route("первая", httpx.MockTransport(dead)), build_route("вторая", second)], {})  # type: ignore[arg-type]
    service = build_service(tmp_path, find_models=lambda _: router)
    service.answer_seconds = service._writer._seconds = 0.8
    write_files(tmp_path / "docs", {"отпуск.md": "# Отпуск\n\nОтпуск длится 28 дней."})
    async with run_rag(service) as rag:
        found = await asyncio.wait_for(rag.ask("сколько длится отпуск"), 10)
    assert (found["answered_by"], found["model"]) == ("model", "вторая")
    assert found["answer"].startswith("28 дней")
