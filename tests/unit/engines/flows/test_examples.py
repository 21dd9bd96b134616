"""The flows of engines/flows/examples: without findings, with agents that exist, each played whole, and named in their table."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import engines
from engines.flows.core.kind import AGENTS, FLOWS
from orchestrator.definitions.kinds import find_mistakes
from orchestrator.documents.reading import read_document
from state.canonical import dumps
from tests.unit.engines.flows.flow_kit import SILENT, a_flow_world, result, start
from tests.unit.engines.scenarios.scenario_kit import replies
from tests.unit.engines.tool_agent.ask_kit import call
from tests.unit.runs.runs_kit import RUN, index
from tests.unit.spine_kit import World, press

FOLDER = Path(engines.__file__).parent / "flows" / "examples"
FILES = [path for path in sorted(FOLDER.glob("*.yaml")) if not path.stem.endswith(".test")]
AGENT_FILES = sorted((FOLDER / "agents").glob("*.yaml"))


@cache
def load(path: Path) -> Mapping[str, Any]:
    """The data of an example."""
    document = read_document(path.read_text(encoding="utf-8")).document
    assert document is not None
    assert isinstance(document.data, Mapping)
    return document.data


def told(world: World) -> str:
    """The text of the last message, without its quotes."""
    return str(replies(world)[-1].body["parts"][0]["text"])


def agents() -> dict[str, Any]:
    """The examples' agents, by key."""
    return {path.stem: load(path) for path in AGENT_FILES}


@pytest.mark.parametrize("path", [*FILES, *AGENT_FILES], ids=lambda path: path.stem)
def test_an_example_has_no_finding_and_begins_with_a_comment(path: Path) -> None:
    """Neither an error nor a warning: what a reader copies is checked clean."""
    text = path.read_text(encoding="utf-8")
    found = find_mistakes(AGENTS if path in AGENT_FILES else FLOWS, read_document(text))
    assert [one for one in found if one.severity != "info"] == []
    assert text.startswith("# ")


def test_every_agent_is_used_and_every_used_one_is_there() -> None:
    """By its key, which is the name of its file; the key of a flow is the name of its file, too."""
    used = {step["agentVersionId"] for path in FILES for step in load(path)["steps"]}
    assert used == set(agents())
    assert [load(path)["flowId"] for path in FILES] == [path.stem for path in FILES]


def test_the_table_names_each_flow_with_its_agents() -> None:
    """The page is what a reader sees first."""
    rows = re.findall(r"^\| \[(\w+)\]\(\1\.yaml\) \|[^|]*\| ([^|]*) \|", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    told = {flow: set(names.split(", ")) for flow, names in rows}
    assert told == {path.stem: {step["agentVersionId"] for step in load(path)["steps"]} for path in FILES}


async def test_the_workshop_ends_with_a_solution_and_its_next_steps(tmp_path: Path) -> None:
    """Fields of the agents' JSON answers become the result, in words that people read."""
    async with a_flow_world(tmp_path, load(FOLDER / "solution_workshop.yaml"), agents()) as (world, _):
        world.model.will(
            dumps({"summary": "Склад не видит остатков", "requirements": ["Остатки раз в час"], "questions": []}),
            "```json\n" + dumps({"summary": "Выгрузка", "draft": "Выгружать остатки раз в час."}) + "\n```",
            dumps({"verdict": "Годится", "recommendations": ["Назначить ответственного", "Проверить права"]}),
        )
        await world.work(start({"problemStatement": "Продаём то, чего нет", "constraints": ["Без новых программ"]}))
        assert (index(world).status, result(world)["payload"]["solution"]) == ("done", "Выгружать остатки раз в час.")
        assert told(world) == (
            "**Решение**: Выгружать остатки раз в час.\n\n**Что делать дальше**:\n- Назначить ответственного\n- Проверить права"
        )


async def test_the_workshop_tries_a_smaller_solution_after_a_failure(tmp_path: Path) -> None:
    """The step that the seed named and forgot: the review then reads the smaller solution."""
    async with a_flow_world(tmp_path, load(FOLDER / "solution_workshop.yaml"), agents()) as (world, _):
        world.model.will("требования", SILENT, dumps({"summary": "Просто", "draft": "Звонить на склад."}), "хорошо")
        await world.work(start({"problemStatement": "Продаём то, чего нет"}))
        assert (index(world).status, result(world)["payload"]["simpler"]) == ("done", "Звонить на склад.")
        assert "Звонить на склад." in str(world.model.prompts[-1])


async def test_a_proposal_is_given_as_the_reviewer_left_it(tmp_path: Path) -> None:
    """With what was changed and what is to be asked."""
    async with a_flow_world(tmp_path, load(FOLDER / "proposal.yaml"), agents()) as (world, _):
        world.model.will("Черновик за 100 ₽", dumps({"offer": "Предложение за 90 ₽", "changes": ["Цена"], "questions": []}))
        await world.work(start({"client": "Ромашка", "subject": "Доставка", "amount": 90}))
        assert index(world).status == "done"
        (last,) = replies(world)[-1:]
        assert [part["text"] for part in last.body["parts"]] == [
            "**Предложение**: Предложение за 90 ₽\n\n**Что исправлено**:\n- Цена",
            "Черновик за 100 ₽",
        ], "what the reviewer wrote stands in the message already"


async def test_a_review_of_the_pipeline_reads_the_own_deals_and_proposes_to_dos_with_one_card(tmp_path: Path) -> None:
    """The person reads the deals in words, presses once, and the to-dos are there once."""
    planned = [
        {
            "method": "crm.activity.todo.add",
            "params": {"ownerTypeId": 2, "ownerId": number, "deadline": "2026-11-30T12:00:00+03:00", "title": "Позвонить"},
        }
        for number in (481, 482)
    ]
    async with a_flow_world(tmp_path, load(FOLDER / "pipeline_review.yaml"), agents()) as (world, _):
        world.model.will(
            call("crm_deal_list", params=dumps({"filter": {"CLOSED": "N", "ASSIGNED_BY_ID": 7}})),
            dumps({"summary": "Две сделки.", "deals": [{"id": 481, "title": "Ромашка", "closeDate": "2026-11-20", "risk": "срок прошёл"}]}),
            dumps({"advice": ["Позвонить в «Ромашку»"], "operations": planned}),
        )
        await world.work(start())
        (shown,) = [row for row in world.outbox() if row.kind == "card"]
        assert (index(world).status, world.portal.written()) == ("waiting", [])
        await world.work(press(shown.body, key=RUN))
        assert (index(world).status, len(world.portal.written("crm.activity.todo.add"))) == ("done", 2)
        assert told(world) == (
            "**Неделя**: Две сделки.\n\n**Требуют внимания**:\n- Ромашка; Закрытие: пт, 20 ноября; Риск: срок прошёл\n\n"
            "**Что сделать**:\n- Позвонить в «Ромашку»"
        )


async def test_a_review_without_the_to_dos_is_still_a_review(tmp_path: Path) -> None:
    """After a denied card the person has the summary and the advice."""
    planned = {"method": "crm.activity.todo.add", "params": {"ownerTypeId": 2, "ownerId": 481, "deadline": "2026-11-30T12:00:00+03:00"}}
    async with a_flow_world(tmp_path, load(FOLDER / "pipeline_review.yaml"), agents()) as (world, _):
        world.model.will(dumps({"summary": "Тихо.", "deals": []}), dumps({"advice": ["Отдохнуть"], "operations": [planned]}))
        await world.work(start())
        (shown,) = [row for row in world.outbox() if row.kind == "card"]
        await world.work(press(shown.body, approve=False, key=RUN))
        assert (index(world).status, world.portal.written()) == ("done", [])
        assert "Отдохнуть" in told(world)
