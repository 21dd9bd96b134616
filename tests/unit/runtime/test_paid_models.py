"""What services inside of the program ask models is paid by the person who asks: documents and haiku, in /ask and for the CRM agent."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from bot.composition.tool_services import build_service_clients
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import ModelAnswer, UnusableAnswer
from orchestrator.features.budgets.model_budget import UsageReader
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.providers import OpenAiProvider
from orchestrator.model_client.router import ModelRouter, Route
from orchestrator.model_client.settings import ModelSettings
from orchestrator.reports.stats import Counts, count_journal
from orchestrator.services.http_client import DocumentClient
from orchestrator.sessions.paid_models import ATTACHED_MODELS
from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, texts
from tests.unit.engines.scenarios.scenario_kit import say as tell
from tests.unit.engines.scenarios.scenario_kit import start as start_scenario
from tests.unit.engines.tool_agent.ask_kit import HAIKU_FAILED, call, say, settings
from tests.unit.engines.tool_agent.test_ask_turns import YES, asked, shown
from tests.unit.features.budgets.test_reservations import limit
from tests.unit.runtime.test_audit_log import everything, schema
from tests.unit.runtime.test_turns_go_on import decide
from tests.unit.services.rag.rag_kit import Rag, build_service, run_rag, write_files
from tests.unit.spine_kit import ANNA, NOW, World, a_world, message, reply, step

QUESTION = "сколько длится отпуск"
PASSAGE = "Отпуск длится 28 дней."


@asynccontextmanager
async def a_library(folder: Path) -> AsyncIterator[tuple[World, Rag]]:
    """The product with both services inside of it."""
    write_files(folder / "docs", {"отпуск.md": f"# Отпуск\n\n{PASSAGE}"})
    async with run_rag(build_service(folder, find_models=lambda _: ATTACHED_MODELS)) as rag:
        clients = build_service_clients(settings(), ATTACHED_MODELS, documents=rag.embedded)
        async with a_world(folder, services=clients) as world:
            yield world, rag
        await clients.aclose()


async def count_used(world: World) -> tuple[int, int]:
    """The tokens of the person's month, read and written."""
    await (await world.session()).flush()
    totals = await UsageReader(world.store, lambda: NOW).refresh(NOW)
    person = f"employee:{ANNA.bitrix_user_id}"
    used = [*totals.sum_by_model(person, 202611).values(), *totals.sum_estimates(person, 202611).values()]
    return sum(one[0] for one in used), sum(one[1] for one in used)


async def count_stats(world: World) -> Counts:
    """The totals of `sdelka journal stats`, whose tokens are those of the budget, in all and by day."""
    used = await count_used(world)
    counts = count_journal(world.sql)
    assert (counts.prompt_tokens, counts.completion_tokens) == used
    assert sum(day["tokens"] for day in counts.days.values()) == sum(used)
    return counts


def read_audit(world: World) -> list[dict[str, Any]]:
    """The records of iterations, each of the published form."""
    world.tools.audit.wait()
    found = [one for one in everything(world.logs) if one["type"] == "iteration"]
    for one in found:
        schema().validate(one)
    return found


@pytest.mark.parametrize(("tool", "given"), [("rag_search", "question"), ("generate_haiku", "theme")])
async def test_what_a_service_asks_for_a_turn_is_paid_by_its_person(tmp_path: Path, tool: str, given: str) -> None:
    """Three answers of 10 and 5 tokens count for the person, and the audit record says who gave the service its answer."""
    async with a_library(tmp_path) as (world, _):
        world.model.will(YES, call(tool, **{given: QUESTION}), say("28 дней [1]"))
        await world.work(asked(world, QUESTION))
        assert "28 дней" in shown(world)[-1]
        assert await count_used(world) == (30, 15)
        assert (await count_stats(world)).models == {"scripted": 3}
        (answer,) = read_audit(world)[-1]["service_answers"]
        assert (answer["model"], answer["provider"], answer["tokens"]) == ("scripted", "openai", {"prompt": 10, "completion": 5})


async def test_a_remembered_answer_costs_nothing(tmp_path: Path) -> None:
    """The second time the service asks no model, so only the agent's own two answers are added."""
    async with a_library(tmp_path) as (world, _):
        world.model.will(YES, call("rag_search", question=QUESTION), say("28 дней [1]"))
        await world.work(asked(world, QUESTION))
        world.model.will(YES, call("rag_search", question=QUESTION))
        await world.work(asked(world, QUESTION))
        assert await count_used(world) == (50, 25)
        assert "service_answers" not in read_audit(world)[-1]


@pytest.mark.parametrize(("tool", "given", "told"), [("rag_search", "question", PASSAGE), ("generate_haiku", "theme", HAIKU_FAILED)])
async def test_nobody_gets_an_answer_that_is_not_paid(tmp_path: Path, tool: str, given: str, told: str) -> None:
    """The agent's own two answers use the budget up: documents give their passages, haiku the seed's error, and no model is asked."""
    async with a_library(tmp_path) as (world, _):
        limit(world, 30)
        world.model.will(YES, call(tool, **{given: QUESTION}))
        await world.work(asked(world, QUESTION))
        assert told in shown(world)[-1]
        assert await count_used(world) == (20, 10)


async def test_a_model_that_fails_costs_nothing_and_leaves_the_passages(tmp_path: Path) -> None:
    """The reservation is given back: neither an answer nor an estimate counts."""
    async with a_library(tmp_path) as (world, _):
        world.model.will(YES, call("rag_search", question=QUESTION), ModelClientError("no route"))
        await world.work(asked(world, QUESTION))
        assert PASSAGE in shown(world)[-1]
        assert await count_used(world) == (20, 10)
        assert (await count_stats(world)).failures == {"no route": 1}


async def test_an_answer_that_cannot_be_used_is_paid_and_counted_as_a_failure(tmp_path: Path) -> None:
    """The person gets the passages; the budget and the statistics have the tokens, which are in no audit record of an answer."""
    async with a_library(tmp_path) as (world, _):
        cut = UnusableAnswer(
            "cut off",
            answer=ModelAnswer(text="", model="scripted", prompt_tokens=7, completion_tokens=3, finish_reason="length", seconds=0.1),
        )
        world.model.will(YES, call("rag_search", question=QUESTION), cut)
        await world.work(asked(world, QUESTION))
        assert PASSAGE in shown(world)[-1]
        assert await count_used(world) == (27, 13)
        counts = await count_stats(world)
        assert (counts.models, counts.failures) == ({"scripted": 2}, {"cut off": 1})
        assert "service_answers" not in read_audit(world)[-1]


async def test_documents_of_the_crm_agent_are_paid_and_named(tmp_path: Path) -> None:
    """`ask_documents` costs its person what its model wrote; the audit record of the call says which model that was."""
    async with a_library(tmp_path) as (world, _):
        world.model.will(reply(step("ask_documents", {"question": QUESTION})), say("28 дней [1]"), reply(text="28 дней."))
        await world.work(message(QUESTION))
        (done,) = world.events("NodeDone")
        assert (done.data["model"], done.data["prompt_tokens"], done.data["user"]) == ("scripted", 10, ANNA.bitrix_user_id)
        (record,) = [one for one in read_audit(world) if "service_answers" in one]
        found = record["executed_actions"][0]["answer"]
        assert (found["answered_by"], found["model"]) == ("model", "scripted")
        assert (await count_stats(world)).models == {"scripted": 3}


async def test_who_asks_over_http_is_not_believed_to_pay(tmp_path: Path) -> None:
    """A request that no turn has made gets the passages, also with the token and a name, and no model is asked."""
    async with a_library(tmp_path) as (_, rag):
        found = await rag.ask(QUESTION, token=True, roles=["admin"], asked_by=ANNA.key)
        assert (found["answered_by"], found["model"]) == ("passages", "")


async def refuse(_request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused")


async def hang(_request: httpx.Request) -> httpx.Response:
    await asyncio.Event().wait()
    raise AssertionError


async def die(_request: httpx.Request) -> httpx.Response:
    async def begin() -> AsyncIterator[bytes]:
        yield b'{"choices": [{"mess'
        raise httpx.ReadError("gone")

    return httpx.Response(200, content=begin())


def build_route(name: str, transport: httpx.AsyncBaseTransport) -> Route:
    """A provider that has half a second for an answer, with all its attempts."""
    about = ModelSettings(base_url="http://model/v1", api_key=SecretStr("key"), total_deadline=0.5, max_attempts=1)
    return Route(name=name, provider=OpenAiProvider(ModelClient(about, transport=transport), model=name))


def build_answers(messages: Sequence[dict[str, Any]]) -> httpx.MockTransport:
    """A provider that gives these messages one after the other."""
    left = list(messages)

    def answer(_request: httpx.Request) -> httpx.Response:
        made = left.pop(0)
        body = {"model": "second-model", "choices": [{"message": made, "finish_reason": "tool_calls" if "tool_calls" in made else "stop"}]}
        return httpx.Response(200, json=body)

    return httpx.MockTransport(answer)


@pytest.mark.parametrize("dead", [refuse, hang, die])
async def test_the_audit_record_names_who_answered_after_a_fallback(tmp_path: Path, dead: Any) -> None:
    """The first provider refuses, hangs or dies in the middle; the second answers the agent and the documents, and is named for both."""
    wish = {"id": "c1", "type": "function", "function": {"name": "rag_search", "arguments": json.dumps({"question": QUESTION})}}
    second = build_answers([{"content": "да"}, {"content": "", "tool_calls": [wish]}, {"content": "28 дней [1]"}])
    async with a_library(tmp_path) as (world, _):
        router = ModelRouter([build_route("first", httpx.MockTransport(dead)), build_route("second", second)], {})
        world.orchestrator.tools = replace(world.tools, model=router)
        await asyncio.wait_for(world.work(asked(world, QUESTION)), 10)
        assert shown(world)[-1].startswith("28 дней")
        records = read_audit(world)
        assert [(one["provider"], one["failed_before"], one["model"]) for one in records] == [("second", ["first"], "second-model")] * 2
        (answer,) = records[-1]["service_answers"]
        assert (answer["provider"], answer["failed_before"], answer["model"]) == ("second", ["first"], "second-model")


async def test_documents_of_a_run_are_paid_by_its_person(tmp_path: Path) -> None:
    """A scenario that searches the documents pays for their model, has its answer, and a record of its own names who gave it."""
    write_files(tmp_path / "docs", {"отпуск.md": f"# Отпуск\n\n{PASSAGE}"})
    search = {"type": "rag_search", "params": {"query": QUESTION}}
    async with run_rag(build_service(tmp_path, find_models=lambda _: ATTACHED_MODELS)) as rag:
        clients = build_service_clients(settings(), ATTACHED_MODELS, documents=rag.embedded)
        find = DocumentClient(clients, top_k=2).ask
        async with a_scenario_world(tmp_path, search, tell("{rag_results.answer}"), find_documents=find) as world:
            world.model.will(say("28 дней [1]"))
            await world.work(start_scenario())
            assert texts(world)[0].startswith("28 дней")
            assert await count_used(world) == (10, 5)
            assert (await count_stats(world)).models == {"scripted": 1}
            world.tools.audit.wait()
            (record,) = [one for one in everything(world.logs) if one["type"] == "node" and one["what"] == "model"]
            schema().validate(record)
            assert (record["model"], record["provider"]) == ("scripted", "openai")
        await clients.aclose()


async def test_a_chat_reads_each_source_once(tmp_path: Path) -> None:
    """The title stands above its passage only, and the passage in its quote only, whoever made the answer; over HTTP the answer names it."""
    async with a_library(tmp_path) as (world, rag):
        world.model.will(YES, call("rag_search", question=QUESTION), say("28 дней [1]"))
        await world.work(asked(world, QUESTION))
        head, _, rest = shown(world)[-1].partition("\nотпуск.md, файл от ")
        assert (head, rest.partition("\n")[2]) == ("28 дней\n\nОтпуск", PASSAGE)
        world.model.will(YES, call("rag_search", question="отпуск сколько дней"), ModelClientError("no route"))
        await world.work(asked(world, "отпуск сколько дней"))
        told = shown(world)[-1]
        assert (told.count("Отпуск\n"), told.count(PASSAGE)) == (1, 1)
        found = await rag.ask(QUESTION)
        assert PASSAGE in found["answer"]
        assert PASSAGE not in found["plain_answer"]


async def test_a_search_that_a_card_asked_about_gives_passages_and_asks_no_model_more(tmp_path: Path) -> None:
    """Whoever presses pays for nothing and waits for no model: the agent reads the passages when its turn goes on, and answers itself."""
    async with a_library(tmp_path) as (world, _):
        world.model.will(reply(step("ask_documents", {"question": QUESTION}, requires_confirmation=True)))
        await world.work(message(QUESTION))
        world.model.will_go_on(reply(text="Отпуск — 28 дней."))
        await decide(world)
        assert PASSAGE in world.model.prompts[-1][-1]["content"]
        assert len(world.model.prompts) == 2
        assert world.events("NodeDone") == []
        (done,) = world.events("CallSucceeded")
        assert (done.data["result"]["answered_by"], done.data["result"]["model"]) == ("passages", "")
        assert await count_used(world) == (20, 10)
