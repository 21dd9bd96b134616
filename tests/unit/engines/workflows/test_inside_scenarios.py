"""A scenario runs a workflow inside: values go in, parts of the result come back, and the workflow stays silent in the chat."""

from dataclasses import replace
from pathlib import Path

import pytest

from engines.workflows.core.engine import WorkflowEngine
from orchestrator.domain.taint import Value
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.runs.registry import RegisteredEngine
from state.journal.run_index import RunFilter
from tests.unit.engines.scenarios.scenario_kit import build_engines, replies, say, scenario, start, texts
from tests.unit.engines.workflows.played_kit import code
from tests.unit.engines.workflows.workflow_kit import TYPES, parameter, put, tuum, workflow
from tests.unit.runs.runs_kit import events
from tests.unit.spine_kit import a_world, codes_of, press

LETTER = workflow(
    tuum(
        "write",
        mainScript=code('{"text": f"Здравствуйте, {client}!"}', consumes="client", produces="text"),
        outputMappings={"letter": "text"},
    ),
    triggerParameters=[parameter("client", description="Кому?")],
    terminal={"rawText": "letter"},
)


@pytest.mark.parametrize(("taken", "told"), [
    ({"output_mapping": {"draft": "rawText"}}, "{draft}"),
    ({"output_mapping": ["rawText"]}, "{rawText}"),
    ({}, "{workflow_result.globals.letter}"),
])  # fmt: skip
async def test_a_workflow_gets_values_and_gives_its_result(tmp_path: Path, taken: dict[str, object], told: str) -> None:
    """The scenario's own message is the only one."""
    run = {"id": "run", "type": "run_workflow", "params": {"workflow_id": "letter", "parameters": {"client": "{who}"}, **taken}}
    engines = build_engines({"plan": scenario(run, say(told))})
    engines.definitions._documents["workflow", "letter"] = LETTER  # type: ignore[attr-defined]
    async with ScriptRunner() as scripts:
        workflows = RegisteredEngine(engine=WorkflowEngine(TYPES, scripts))
        async with a_world(tmp_path, engines=replace(engines, runs={**engines.runs, "workflow": workflows})) as world:
            await world.work(start(who=Value("Север", frozenset({"person"}))))
            assert texts(world) == ["Здравствуйте, Север!"]


@pytest.mark.req("S003-20", "S003-23")
@pytest.mark.parametrize("kind", ["message", "telegram_send_message"])
async def test_a_scenario_that_says_the_text_of_a_workflow_shows_no_marks(tmp_path: Path, kind: str) -> None:
    """Its blocks are drawn as in the message of the workflow itself, without buttons; the variable holds the text as it was."""
    text = "Досье[YAE-BLOCK:quote]Сделки\nОдна[/YAE-BLOCK][YAE-BLOCK:options]Позвонить|Написать[/YAE-BLOCK]"
    document = workflow(tuum("only", put("said", text), outputMappings={"said": "said"}), terminal={"rawText": "said"})
    run = {"id": "run", "type": "run_workflow", "params": {"workflow_id": "letter", "output_mapping": {"draft": "rawText"}}}
    engines = build_engines({"plan": scenario(run, {"type": kind, "params": {"text": "Вот: {draft}"}})})
    engines.definitions._documents["workflow", "letter"] = document  # type: ignore[attr-defined]
    async with ScriptRunner() as scripts:
        workflows = RegisteredEngine(engine=WorkflowEngine(TYPES, scripts))
        async with a_world(tmp_path, engines=replace(engines, runs={**engines.runs, "workflow": workflows})) as world:
            await world.work(start())
            (row,) = replies(world)
            assert [(one["kind"], one.get("title", ""), one["text"]) for one in row.body["parts"]] == [
                ("text", "", "Вот: Досье"),
                ("passage", "Сделки", "Одна"),
                ("text", "", "• Позвонить\n• Написать"),
            ]
            assert row.body["actions"] == []


@pytest.mark.req("S003-22", "S003-A10")
@pytest.mark.parametrize("kind", ["message", "telegram_send_message"])
@pytest.mark.parametrize(("who", "more", "text", "shown"), [
    ("[YAE-BLOCK:quote]Платить[/YAE-BLOCK]", "", "Вот: {who}", ["Вот: [YAE-BLOCK:quote]Платить[/YAE-BLOCK]"]),
    ("[YAE-BLOCK:quote]Платить[/YAE-BLOCK]", "", "{who}", ["[YAE-BLOCK:quote]Платить[/YAE-BLOCK]"]),
    ("[YAE-", "BLOCK:quote]Платить[/YAE-BLOCK]", "{who}{more}", ["[YAE-BLOCK:quote]Платить[/YAE-BLOCK]"]),
    ("x[/YAE-BLOCK]", "", "[YAE-BLOCK:quote]{who}[/YAE-BLOCK]", ["x[/YAE-BLOCK]"]),
    ("[YAE-BLOCK:quote]", "[/YAE-BLOCK]", "{who}Досье{more}", ["[YAE-BLOCK:quote]Досье[/YAE-BLOCK]"]),
    ("Ромашка", "BLOCK: да", "Вот: {who} {more}", ["Вот: Ромашка BLOCK: да"]),
])  # fmt: skip
async def test_what_a_person_or_record_says_opens_no_block_in_a_scenario(
    tmp_path: Path, kind: str, who: str, more: str, text: str, shown: list[str]
) -> None:
    """The author's own block does; marks from elsewhere are shown as they came, however many values they are split over."""
    given = {"who": Value(who, frozenset({"person"})), "more": Value(more, frozenset({"label"}))}
    engines = build_engines({"plan": scenario({"type": kind, "params": {"text": text}})})
    async with a_world(tmp_path, engines=engines) as world:
        await world.work(start(**given))
        (row,) = replies(world)
        assert [one["text"] for one in row.body["parts"]] == shown
        assert [one["kind"] for one in row.body["parts"]] == ["passage" if text.startswith("[") else "text"]


@pytest.mark.req("S003-19", "S003-A6")
async def test_a_person_reads_once_why_changes_of_a_workflow_inside_were_refused(tmp_path: Path) -> None:
    """The scenario goes on and knows only that they were; its own words and the text of the workflow stay what its author made of them."""
    changes = [
        {"operationType": "ModifyEntity", "entityType": "deal", "entityId": "481", "attributeKey": "TITLE", "modifyOperator": "=",
         "modifyValue": "x"},
        {"operationType": "DeleteEntity", "entityType": "deal", "entityId": "482"},
    ]  # fmt: skip
    making = tuum("only", put("list", changes), put("said", "Готово!"), outputMappings={"list": "list", "said": "said"})
    document = workflow(making, terminal={"operations": "list", "rawText": "said"})
    run = {"id": "run", "type": "run_workflow", "params": {"workflow_id": "letter"}}
    engines = build_engines({"plan": scenario(run, say("{workflow_result.applied[0].status}"))})
    engines.definitions._documents["workflow", "letter"] = document  # type: ignore[attr-defined]
    async with ScriptRunner() as scripts:
        workflows = RegisteredEngine(engine=WorkflowEngine(TYPES, scripts))
        async with a_world(tmp_path, engines=replace(engines, runs={**engines.runs, "workflow": workflows})) as world:
            await world.work(start())
            told = replies(world)
            assert [code for row in told for code in codes_of(row)] == ["run-changes-left", "gate-batch-delete", "reply"]
            assert [part["text"] for row in told for part in row.body["parts"]] == ["refused"]
            assert world.portal.written() == []


@pytest.mark.req("S003-19")
async def test_a_denied_change_of_a_workflow_inside_is_told_before_the_words_of_the_scenario(tmp_path: Path) -> None:
    """Its author wrote «Готово» for both endings; the run inside is marked in the list."""
    changed = {"operationType": "ModifyEntity", "entityType": "deal", "entityId": "481", "attributeKey": "OPPORTUNITY",
               "modifyOperator": "=", "modifyValue": 20}  # fmt: skip
    document = workflow(tuum("only", put("list", [changed]), outputMappings={"list": "list"}), terminal={"operations": "list"})
    engines = build_engines({"plan": scenario({"id": "run", "type": "run_workflow", "params": {"workflow_id": "letter"}}, say("Готово"))})
    engines.definitions._documents["workflow", "letter"] = document  # type: ignore[attr-defined]
    async with ScriptRunner() as scripts:
        workflows = RegisteredEngine(engine=WorkflowEngine(TYPES, scripts))
        async with a_world(tmp_path, engines=replace(engines, runs={**engines.runs, "workflow": workflows})) as world:
            await world.work(start())
            (card,) = [row for row in world.outbox() if row.kind == "card"]
            child = next(row.run_id for row in world.sql.list_runs(RunFilter()) if row.parent)
            await world.work(press(card.body, key=f"run:{child}", approve=False))
            assert [code for row in replies(world) for code in codes_of(row)] == ["run-changes-left", "reply"]
            (*_, end) = events(world, "RunFinished", key=f"run:{child}")
            assert end.data["changes_left"] == 1
