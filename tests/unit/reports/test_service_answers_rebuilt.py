"""The models of services in the audit log: a log written anew from the journal has the same answers at the same places, each once."""

from pathlib import Path
from typing import Any

import pytest

from bot.composition.tool_services import build_service_clients
from orchestrator.reports.log_rebuild.rebuild import rebuild_logs
from orchestrator.services.http_client import DocumentClient
from orchestrator.sessions.paid_models import ATTACHED_MODELS
from state.audit_log.interaction_log import list_users, read_records
from tests.unit.engines.scenarios.scenario_kit import a_scenario_world
from tests.unit.engines.scenarios.scenario_kit import say as tell
from tests.unit.engines.scenarios.scenario_kit import start as start_scenario
from tests.unit.engines.tool_agent.ask_kit import call, say, settings
from tests.unit.engines.tool_agent.test_ask_turns import YES, asked
from tests.unit.runs.runs_kit import a_run_world, start, steps
from tests.unit.runtime.test_paid_models import QUESTION, a_library
from tests.unit.runtime.test_turns_go_on import decide
from tests.unit.services.rag.rag_kit import build_service, run_rag, write_files
from tests.unit.spine_kit import ANNA, World, message, raise_sum, reply, step

UNTOLD = {"rebuilt", "mode", "trace_id"}
"""What the two may differ in: the mode of a turn without a plan, and which input a record goes back to."""
ANSWER = {"model": "scripted", "provider": "openai", "failed_before": [], "tokens": {"prompt": 10, "completion": 5}}
ASK = step("ask_documents", {"question": QUESTION})


def compare_logs(world: World, folder: Path, kind: str) -> list[dict[str, Any]]:
    """The records of that type, after the same were found in a log that is written anew."""
    world.tools.audit.wait()
    rebuild_logs(world.sql, folder / "rebuilt", names={ANNA.key: ANNA.name})
    before, after = (
        [one for user in list_users(place) for one in read_records(place, user) if one["type"] == kind]
        for place in (world.logs, folder / "rebuilt")
    )
    for old, new in zip(before, after, strict=True):
        for call_ in (*old["executed_actions"], *new["executed_actions"]):
            call_.pop("proposed", None)  # the journal has it as it was judged
        for key in (old.keys() | new.keys()) - UNTOLD:
            assert new.get(key) == old.get(key), (old.get("iteration"), key)
    return before


def list_service_answers(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The answers to services that a record has, without how long they took."""
    return [{key: value for key, value in one.items() if key != "seconds"} for one in record.get("service_answers", ())]


@pytest.mark.parametrize(("tool", "given"), [("rag_search", "question"), ("generate_haiku", "theme")])
async def test_the_answer_stands_in_the_record_of_the_choice_that_asked_for_it(tmp_path: Path, tool: str, given: str) -> None:
    """The first record, of whether the request belongs here, has none; the second has the service's one."""
    async with a_library(tmp_path) as (world, _):
        world.model.will(YES, call(tool, **{given: QUESTION}), say("28 дней [1]"))
        await world.work(asked(world, QUESTION))
        found = compare_logs(world, tmp_path, "iteration")
        assert [list_service_answers(one) for one in found] == [[], [ANSWER]]


async def test_what_was_logged_before_a_card_is_not_logged_again_after_it(tmp_path: Path) -> None:
    """The documents are asked before the card and, of another question, after it: two records have one answer each."""
    async with a_library(tmp_path) as (world, _):
        world.model.will(reply(ASK, raise_sum()), say("28 дней [1]"))
        await world.work(message("сколько длится отпуск? и подними сумму сделки 481 до 1 200 000"))
        again = step("ask_documents", {"question": "отпуск сколько дней"})
        world.model.will_go_on(reply(again))
        world.model.will(say("28 дней [1]"), reply(text="28 дней."))
        await decide(world)
        found = compare_logs(world, tmp_path, "iteration")
        assert [list_service_answers(one) for one in found if "service_answers" in one] == [[ANSWER], [ANSWER]]


async def test_a_run_has_a_record_for_it(tmp_path: Path) -> None:
    """A scenario that searches the documents: the node of the service, of the model, and nothing else differs."""
    write_files(tmp_path / "docs", {"отпуск.md": "# Отпуск\n\nОтпуск длится 28 дней."})
    search = {"type": "rag_search", "params": {"query": QUESTION}}
    async with run_rag(build_service(tmp_path, find_models=lambda _: ATTACHED_MODELS)) as rag:
        clients = build_service_clients(settings(), ATTACHED_MODELS, documents=rag.embedded)
        async with a_scenario_world(
            tmp_path, search, tell("{rag_results.answer}"), find_documents=DocumentClient(clients, top_k=2).ask
        ) as world:
            world.model.will(say("28 дней [1]"))
            await world.work(start_scenario())
            found = compare_logs(world, tmp_path, "node")
            assert [one["tokens"] for one in found if one["what"] == "model"] == [ANSWER["tokens"]]
        await clients.aclose()


async def test_a_turn_inside_of_a_run_has_it_in_its_own_record(tmp_path: Path) -> None:
    """What the turn keeps is no node of the run, so it has no record of its own."""
    write_files(tmp_path / "docs", {"отпуск.md": "# Отпуск\n\nОтпуск длится 28 дней."})
    async with run_rag(build_service(tmp_path, find_models=lambda _: ATTACHED_MODELS)) as rag:
        clients = build_service_clients(settings(), ATTACHED_MODELS, documents=rag.embedded)
        async with a_run_world(tmp_path, {"plan": steps({"turn": QUESTION})}, services=clients) as world:
            world.model.will(reply(ASK), say("28 дней [1]"), reply(text="28 дней."))
            await world.work(start("plan"))
            compare_logs(world, tmp_path, "node")
            found = compare_logs(world, tmp_path / "again", "iteration")
            assert [list_service_answers(one) for one in found] == [[ANSWER], []]
        await clients.aclose()


async def test_the_reads_of_the_tool_agent_come_back(tmp_path: Path) -> None:
    """It records no plan: its calls stand in the record of the answer that asked for them, as they did."""
    async with a_library(tmp_path) as (world, _):
        world.model.will(YES, call("find_in_crm", name="Ромашка"))
        await world.work(asked(world, "найди Ромашку"))
        found = compare_logs(world, tmp_path, "iteration")
    searched = ["crm.deal.list", "crm.lead.list", "crm.contact.list", "crm.company.list"]
    assert [[one["method"] for one in record["executed_actions"]] for record in found] == [[], searched]
