"""A finished run of a workflow becomes a test that gives the same text and operations, and is red once the workflow is broken."""

import asyncio
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.rehearsing.case_file import write_cases
from engines.workflows.playing import (
    PlayableWorkflow,
    WorkflowCase,
    WorkflowCaseFile,
    check_workflow_cases,
    compare_workflow,
    play_workflow,
)
from engines.workflows.recording import (
    CompletedWorkflow,
    HeardInput,
    RecordedWorkflow,
    complete_workflow_recording,
    read_workflow_recording,
)
from orchestrator.documents.reading import read_document
from orchestrator.documents.writing import write_document
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.taint import Value
from orchestrator.engines.shared.launch import TEXT
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.rehearsals.case import Given
from orchestrator.rehearsals.recorded_nodes import NotRecordable
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.engines.scenarios.terminal.scenario_files import stand_alone
from tests.unit.engines.workflows.played_kit import a_workflow_world, code, start
from tests.unit.engines.workflows.terminal.workflow_files import call
from tests.unit.engines.workflows.test_callbacks import Stream, streamed
from tests.unit.engines.workflows.test_record_runs import answers, change, meanwhile, on_deal
from tests.unit.engines.workflows.workflow_kit import TYPES, parameter, prompt, tuum, workflow
from tests.unit.runs import runs_kit
from tests.unit.runs.runs_kit import RUN, work_through
from tests.unit.runs.test_runs_wait import click, order
from tests.unit.spine_kit import World, message, press

RUN_ID = RUN.removeprefix("run:")
SILENT = ModelClientError("no answer in 60 s")
QUERY = {"runeType": "query", "method": "crm.deal.list", "params": {"filter": {"COMPANY_ID": "{{company}}"}}, "output": "rows"}
PLAN: Mapping[str, Any] = workflow(
    {"tuum": "deals"},
    tuum(
        "told", promptRunes=[prompt("Сделки: {{deals}}")], aiService="tool", isStreaming=True,
        chunkCallback=code('{"pieces": (pieces or 0) + 1}', consumes="pieces", produces="pieces"),
        inputMappings={"deals": "deals", "pieces": "start"},
        mainScript=code('{"text": ai_error or ai_final_output}', consumes="ai_final_output ai_error", produces="text"),
        outputMappings={"text": "text", "pieces": "pieces"},
    ),
    tuum("propose", {**change("COMMENTS", "{{text}}", "+="), "entityId": "481"}),
    triggerParameters=[parameter("company"), {**parameter("start", type="number"), "required": False, "default": 0}],
    terminal={"rawText": "text"},
)  # fmt: skip
DEALS = tuum("deals", QUERY, outputMappings={"deals": "rows"})


async def record(world: World) -> tuple[RecordedWorkflow, CompletedWorkflow]:
    """The run of the world, and the complete test."""
    recorded = await read_workflow_recording(RUN_ID, world.store)
    async with ScriptRunner() as scripts:
        return recorded, await complete_workflow_recording(recorded, TYPES, scripts)


async def play(document: Mapping[str, Any], case: WorkflowCase, tuums: Mapping[str, object] | None = None) -> list[str]:
    """What differs when the test is played with this workflow, after its file was written and read."""
    ids = [one.get("tuumId", one.get("tuum")) for one in document["tuums"]]
    read = read_document(write_cases([case])).require_document()
    assert list(check_workflow_cases(read, ids)) == []
    (again,) = WorkflowCaseFile.model_validate(read.data).tests
    playable = PlayableWorkflow(key="dossier", document=document, tuums=tuums or {}, types=TYPES)
    async with ScriptRunner() as scripts:
        return compare_workflow(again.expect, await play_workflow(playable, again, scripts))


async def accept(world: World) -> None:
    """Consent to the card that waits."""
    (card,) = [row for row in world.outbox() if row.kind == "card"]
    await world.work(press(card.body, key=RUN))


async def test_a_run_of_a_program_is_played_again(tmp_path: Path) -> None:
    """Reads by their methods, answers and operations stand in the test; with a broken workflow it is red."""
    async with a_workflow_world(tmp_path, PLAN, tuums={"deals": DEALS}) as world:
        world.model.will("Всё идёт")
        await world.work(start(company="7"))
        await accept(world)
        assert world.portal.written("crm.deal.update")
        _, completed = await record(world)
    case = completed.case
    assert (case.parameters, case.inputs) == ({"company": "7"}, [])
    assert set(case.queries) == {"crm.deal.list", "crm.deal.get"}
    assert case.answers == {"told": "Всё идёт"}
    assert (case.expect.parts, case.expect.finished) == (["Всё идёт"], ["deals", "told", "propose"])
    assert [one.modify_operator for one in case.expect.operations or ()] == ["+="]
    assert await play(PLAN, case, {"deals": DEALS}) == []
    broken = {**PLAN, "tuums": [*PLAN["tuums"][:2], tuum("propose", {**change("COMMENTS", "{{text}}!", "+="), "entityId": "481"})]}
    (_, *differences) = await play(broken, case, {"deals": DEALS})
    assert any("Всё идёт!" in one for one in differences)


async def test_what_came_in_pieces_is_left_out_and_named(tmp_path: Path) -> None:
    """Nobody keeps in how many pieces an answer came: a variable that counts them is not looked at."""
    async with a_workflow_world(tmp_path, PLAN, tuums={"deals": DEALS}) as world:
        world.model.will("Всё идёт")
        await world.work(start(company="7"))
        await accept(world)
        recorded, _ = await record(world)
    result = recorded.run.result
    many = replace(recorded, run=replace(recorded.run, result={**result, "globals": {**result["globals"], "pieces": 12}}))
    async with ScriptRunner() as scripts:
        completed = await complete_workflow_recording(many, TYPES, scripts)
    assert completed.left_out == ["pieces: the run had 12, played again it is 1"]
    assert "pieces" not in completed.case.expect.globals
    assert completed.case.expect.globals["text"] == "Всё идёт"


async def test_a_silent_model_and_a_retry_become_the_test_of_what_came_at_last(tmp_path: Path) -> None:
    """A failure that a main script took is in the test; what «Повторить» has done anew is there as it was done anew."""
    document = workflow(
        tuum("soft", promptRunes=[prompt("a")], aiService="tool", mainScript=code('{"t": ai_error}', consumes="ai_error", produces="t"),
             outputMappings={"soft": "t"}),
        tuum("hard", promptRunes=[prompt("b {{soft}}")], aiService="tool", outputMappings={"hard": "ai_final_output"}),
        terminal={"rawText": "hard"},
    )  # fmt: skip
    async with a_workflow_world(tmp_path, document) as world:
        world.model.will(SILENT, SILENT)
        await world.work(start())
        world.model.will("Готово")
        await world.work(order("retry"))
        _, completed = await record(world)
    assert completed.case.answers == {"soft": {"failed": "no answer in 60 s"}, "hard": "Готово"}
    assert completed.case.expect.globals == {"soft": "no answer in 60 s", "hard": "Готово"}
    assert await play(document, completed.case) == []


async def test_a_run_that_failed_is_a_test_of_its_failure(tmp_path: Path) -> None:
    """Its code and words are expected; a workflow that succeeds then is red."""
    document = workflow(tuum("hard", promptRunes=[prompt("b")], aiService="tool", outputMappings={"hard": "ai_final_output"}))
    async with a_workflow_world(tmp_path, document) as world:
        world.model.will(SILENT)
        await world.work(start())
        _, completed = await record(world)
    expect = completed.case.expect
    assert (expect.is_success, expect.error_code, expect.operations) == (False, "TuumExecutionFailed", [])
    assert await play(document, completed.case) == []
    healed = {**document, "tuums": [{**document["tuums"][0], "mainScript": code("1")}]}
    assert await play(healed, completed.case) != []


async def test_a_run_with_a_conflict_is_the_test_of_what_it_proposed(tmp_path: Path) -> None:
    """A test changes nothing and asks nobody whose value stays; which record was typed is in it."""
    document = on_deal(change("OPPORTUNITY", 120000), change("TITLE", "Роза"))
    async with a_workflow_world(tmp_path, document) as world:
        world.model.will(meanwhile(world, OPPORTUNITY="150000.00", TITLE="Лютик"))
        await work_through(world, runs_kit.start("dossier", engine="workflow"), message("481"))
        for side in (1, 0):
            asked = [one for one in answers(world) if one["actions"]][-1]
            await world.work(click(*asked["actions"][side]["words"]))
        await accept(world)
        _, completed = await record(world)
    assert completed.case.inputs == ["481"]
    assert completed.case.expect.messages == ["[workflow-record-which]"]
    assert set(completed.case.queries) == {"_block/input", "_block/temp/1"}
    assert [one.attribute_key for one in completed.case.expect.operations or ()] == ["OPPORTUNITY", "TITLE"]
    assert await play(document, completed.case) == []


async def test_what_a_retry_read_anew_stands_in_the_test_as_in_a_run_without_one(tmp_path: Path) -> None:
    """A sum could not be computed, somebody mended the field, and «Повторить» read the record once more."""
    document = on_deal(change("OPPORTUNITY", 500, "+="))
    async with a_workflow_world(tmp_path, document) as world:
        world.portal.records["deal", 481]["OPPORTUNITY"] = "много"
        world.model.will("итог")
        await world.work(start(deal="481"))
        world.portal.records["deal", 481]["OPPORTUNITY"] = "1000"
        await world.work(order("retry"))
        await accept(world)
        _, completed = await record(world)
    queries = completed.case.queries
    assert {name: one["OPPORTUNITY"] for name, one in queries.items()} == {
        "_block/input": "много",
        "_block/temp/1": "1000",
        "apply/crm.deal.get": "1000",
    }
    assert await play(document, completed.case) == []


async def test_an_answer_that_broke_off_breaks_off_in_the_test(tmp_path: Path) -> None:
    """The part that had come, and why no more did."""
    document = streamed("{'count': count + 1}", '{"all": f"{ai_final_output}: {ai_error}"}')
    async with a_workflow_world(tmp_path, document) as world:
        Stream(world, ["Добрый ", "день"], fails=True)
        await world.work(start())
        _, completed = await record(world)
    assert completed.case.answers == {"write": {"chunks": ["Добрый день"], "failed": "the stream broke off"}}
    assert completed.case.expect.parts == ["Добрый день: the stream broke off"]
    assert await play(document, completed.case) == []


async def test_buttons_are_pressed_by_the_words_that_they_have_in_a_test(tmp_path: Path) -> None:
    """A person who reads English pressed "Skip", and the person of a test reads Russian."""
    document = workflow(
        tuum("say", prompt("{{client}} {{note}}"), outputMappings={"said": "Prompts"}),
        triggerParameters=[parameter("client"), {**parameter("note"), "required": False}],
    )
    async with a_workflow_world(tmp_path, document) as world:
        actor = runs_kit.ANNA.model_copy(update={"locale": "en"})
        await work_through(world, runs_kit.start("dossier", engine="workflow", actor=actor), message("Ромашка", actor=actor))
        (asked,) = [one for one in answers(world) if one["actions"]][-1:]
        assert asked["actions"][0]["label"]["args"]["label"] == "Skip"
        await world.work(click(*asked["actions"][0]["words"]))
        _, completed = await record(world)
    assert completed.case.inputs == ["Ромашка", Given(press="Пропустить")]
    assert await play(document, completed.case) == []


async def test_a_name_behind_the_command_finds_its_record_in_the_test(tmp_path: Path) -> None:
    """What was typed with the command, and the search that it led to."""
    document = on_deal(change("OPPORTUNITY", 120000))
    async with a_workflow_world(tmp_path, document) as world:
        world.model.will("итог")
        await world.work(runs_kit.start("dossier", engine="workflow", **{TEXT: Value("Ромашка", frozenset({"person"}))}))
        await accept(world)
        _, completed = await record(world)
    assert completed.case.text == "Ромашка"
    assert await play(document, completed.case) == []


@pytest.mark.parametrize(("run", "other", "why"), [
    ({"status": "failed", "code": "x"}, {}, "ended as failed x, and played again it ends as done"),
    ({"result": {"isSuccess": True, "rawText": "другой"}}, {}, "rawText: the run had"),
    ({}, {"inputs": [HeardInput("x", "ещё")]}, "asks for 1 inputs less"),
    ({"document": {"tuums": []}}, {}, "ended as done , and played again it ends as failed workflow-unreadable"),
])  # fmt: skip
async def test_a_run_that_would_come_otherwise_is_not_recorded(
    tmp_path: Path, run: dict[str, Any], other: dict[str, Any], why: str
) -> None:
    """A test that is red from its first day, or of another run, helps nobody."""
    async with a_workflow_world(tmp_path, PLAN, tuums={"deals": DEALS}) as world:
        world.model.will("Всё идёт")
        await world.work(start(company="7"))
        await accept(world)
        recorded, _ = await record(world)
    async with ScriptRunner() as scripts:
        with pytest.raises(NotRecordable, match=why):
            await complete_workflow_recording(replace(recorded, run=replace(recorded.run, **run), **other), TYPES, scripts)


async def test_a_run_that_waits_is_not_recorded(tmp_path: Path) -> None:
    """Nobody knows yet how it ends."""
    async with a_workflow_world(tmp_path, PLAN, tuums={"deals": DEALS}) as world:
        world.model.will("Всё идёт")
        await world.work(start(company="7"))
        with pytest.raises(NotRecordable, match="has not ended"):
            await record(world)


@pytest.mark.long
async def test_the_command_saves_a_run_as_a_test_that_is_green_until_the_workflow_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only its owner reads the file, and an existing one stays; the test is played beside the workflow."""
    stand_alone(monkeypatch, tmp_path)
    document = {**PLAN, "tuums": [DEALS, *PLAN["tuums"][1:]]}
    async with a_workflow_world(tmp_path, document, world_options={"store": open_store(build_sqlite_url(tmp_path / "sdelka.db"))}) as world:
        world.model.will("Всё идёт")
        await world.work(start(company="7"))
        await accept(world)
    plan, test = tmp_path / "plan.yaml", tmp_path / "plan.test.yaml"
    plan.write_text(write_document(document), encoding="utf-8")
    told = await asyncio.to_thread(call, "record", RUN[4:14], "--out", test.name)
    assert told[0] == 0, told
    assert stat.S_IMODE(test.stat().st_mode) == 0o600
    told = await asyncio.to_thread(call, "test", plan.name)
    assert told[0] == 0, told
    assert "covers 3 of 3 tuums (100 %)" in told[1]
    plan.write_text(plan.read_text(encoding="utf-8").replace("ai_error or ai_final_output", "ai_error"), encoding="utf-8")
    assert (await asyncio.to_thread(call, "test", plan.name))[0] == 1
    told = await asyncio.to_thread(call, "record", RUN[4:14], "--out", test.name)
    assert (told[0], "is not overwritten" in told[1]) == (2, True)
