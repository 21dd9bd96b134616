"""A haiku whose provider takes the request and never answers, on loopback: in time the seed's sentence, or the poem of the next one."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from bot.composition.model_providers import build_providers
from bot.composition.tool_services import build_service_clients
from bot.settings.settings import Settings
from orchestrator.services.haiku import app as haiku
from orchestrator.sessions.paid_models import ATTACHED_MODELS
from tests.unit.engines.tool_agent.ask_kit import HAIKU_FAILED, settings
from tests.unit.engines.tool_agent.test_ask_turns import asked, shown
from tests.unit.model_client.loopback_kit import Answer, Seen, Service, reply, serving
from tests.unit.model_client.test_model_client import completion
from tests.unit.spine_kit import a_world

POEM = "старый пруд\nпрыгнула лягушка\nвсплеск"
SHORT = 0.6
"""Seconds of the time that is under test; all other limits are far longer than `LATE`."""
LATE = 60.0
WISH = {"id": "c1", "type": "function", "function": {"name": "generate_haiku", "arguments": json.dumps({"theme": "пруд"})}}


async def hang(_: Seen) -> AsyncIterator[bytes]:
    """Take the request and say nothing until the connection is closed."""
    await asyncio.Event().wait()
    yield b""


def write_poem(_: Seen) -> bytes:
    """Answer with a poem."""
    return reply(completion(POEM))


def is_poem_wanted(seen: Seen) -> bool:
    """Whether the request is that of the haiku service, by its temperature."""
    return bool(json.loads(seen.body).get("temperature") == haiku.TEMPERATURE)


def choose_haiku(then: Callable[[Seen], Any]) -> Answer:
    """A provider that tells the agent to write a haiku, and is `then` when it shall write it."""

    def answer(seen: Seen) -> bytes | AsyncIterator[bytes]:
        if is_poem_wanted(seen):
            return then(seen)  # type: ignore[no-any-return]
        wanted = "tools" in json.loads(seen.body)
        return reply(completion(None, "tool_calls", tool_calls=[WISH]) if wanted else completion("да"))

    return answer


def configure(folder: Path, *services: Service, deadline: float = 100.0) -> Settings:
    """The settings with these providers, each the fallback of the one before it."""
    names = [f"p{number}" for number, _ in enumerate(services)]
    providers = {
        name: {"kind": "openai", "base": f"{one.base}/v1", "model": name, "timeout": deadline, "deadline": deadline}
        for name, one in zip(names, services, strict=True)
    }
    roles = {"agent": names, "tool": [*names]}
    file = folder / "models.yaml"
    file.write_text(yaml.safe_dump({"providers": providers, "roles": roles}), encoding="utf-8")
    return settings(models_file=file)


async def ask_service(about: Settings) -> httpx.Response:
    """Return the answer of the haiku service."""
    models = build_providers(about)
    transport = httpx.ASGITransport(app=haiku.build_app(models.router))
    async with httpx.AsyncClient(transport=transport, base_url="http://haiku") as client:
        told = await asyncio.wait_for(client.post("/generate_haiku", json={"theme": "пруд"}), LATE)
    for one in models.clients.values():
        await one.aclose()
    return told


async def ask_agent(folder: Path, about: Settings) -> str:
    """Return the last message of a chat in which a haiku was asked for, with the service inside of the program."""
    models = build_providers(about)
    async with AsyncExitStack() as stack:
        for client in models.clients.values():
            stack.push_async_callback(client.aclose)
        clients = build_service_clients(about, ATTACHED_MODELS)
        stack.push_async_callback(clients.aclose)
        world = await stack.enter_async_context(a_world(folder, services=clients))
        world.orchestrator.tools = replace(world.tools, model=models.router)
        await asyncio.wait_for(world.work(asked(world, "хайку о пруде")), LATE)
        return shown(world)[-1]


@pytest.mark.req("S001-69", "S001-72", "S001-X7")
@pytest.mark.parametrize("limit", ["of the provider", "of the service"])
async def test_one_that_hangs_ends_in_time_with_the_seeds_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    """Either limit alone ends the request: that of the provider's settings, and that of the service for all providers together."""
    if limit == "of the service":
        monkeypatch.setattr(haiku, "SECONDS", SHORT)
    async with serving(choose_haiku(hang)) as provider:
        about = configure(tmp_path, provider, deadline=SHORT if limit == "of the provider" else 100.0)
        started = time.monotonic()
        assert await ask_agent(tmp_path, about) == HAIKU_FAILED
        assert time.monotonic() - started < LATE
        assert sum(map(is_poem_wanted, provider.seen)) >= 1


@pytest.mark.req("S001-73", "S001-X7")
async def test_the_service_by_itself_names_no_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over HTTP the caller of a service whose only provider hangs gets the one sentence for a failure."""
    monkeypatch.setattr(haiku, "SECONDS", SHORT)
    async with serving(hang) as provider:
        told = await ask_service(configure(tmp_path, provider))
    assert (told.status_code, told.json()) == (500, {"error": "Generation failed"})


@pytest.mark.req("S001-75", "S001-X7")
async def test_the_next_provider_writes_it_while_the_time_lasts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first has its share of the time only; the second is asked once, and its poem is what the person reads."""
    monkeypatch.setattr(haiku, "SECONDS", 2 * SHORT)
    async with serving(choose_haiku(hang)) as first, serving(write_poem) as second:
        told = await ask_agent(tmp_path, configure(tmp_path, first, second))
        assert told.startswith("Хайку: старый пруд | прыгнула лягушка | всплеск")
        assert len(second.seen) == 1
        assert sum(map(is_poem_wanted, first.seen)) >= 1


async def test_two_that_hang_end_in_the_time_of_one_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fallback does not add time of its own."""
    monkeypatch.setattr(haiku, "SECONDS", 2 * SHORT)
    async with serving(hang) as first, serving(hang) as second:
        told = await ask_service(configure(tmp_path, first, second))
        assert (told.status_code, len(first.seen), len(second.seen)) == (500, 1, 1)
