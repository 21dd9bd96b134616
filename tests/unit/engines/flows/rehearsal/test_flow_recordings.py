"""A finished run of a flow becomes a test that takes the same steps to the same end."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.rehearsing.case_file import write_cases
from engines.flows.playing import FlowCaseFile, check_flow_cases, compare_flow, play_flow
from engines.flows.recording import RecordedFlow, complete_flow_recording, read_flow_recording
from orchestrator.documents.reading import read_document
from orchestrator.rehearsals.case import Given
from orchestrator.rehearsals.recorded_nodes import NotRecordable
from tests.unit.engines.flows.flow_kit import SILENT, a_flow_world, flow, rest, start, start_in_chat, step
from tests.unit.engines.flows.test_operations import CLERK, LEAD, MAKER, NOTE, RAISE, RESULT, cards, propose
from tests.unit.engines.scenarios.scenario_kit import click
from tests.unit.runs.runs_kit import RUN
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import World, message, press
from tests.unit.spine_portal import says

RUN_ID = RUN.removeprefix("run:")
PARAMETERS = [{"name": "client", "description": "Для кого?"}, {"name": "note", "description": "Что ещё?", "required": False}]
PLAN = flow(
    step("draft", success="review", maxAttempts=2),
    step("review", fail=False),
    launchParameters=PARAMETERS,
    outputs={"resultPayload": {"draft": "$steps.draft.output.content", "offer": "$steps.review.output.offer"}},
)


async def record(world: World) -> tuple[RecordedFlow, Any]:
    """The run of the world, and the complete test."""
    recorded = await read_flow_recording(RUN_ID, world.store)
    return recorded, await complete_flow_recording(recorded)


async def test_a_run_that_was_started_by_a_program_is_played_again(tmp_path: Path) -> None:
    """Parameters, context, answers in JSON and the result stand in the file, which plays to the same end."""
    async with a_flow_world(tmp_path, PLAN) as (world, _):
        world.model.will("Черновик", json.dumps({"offer": None}))
        await world.work(start({"client": "Ромашка"}, {"deal": 481}))
        recorded, case = await record(world)
    assert case.parameters == {"client": "Ромашка"}
    assert case.context == {"deal": 481}
    assert case.expect.path == ["draft", "review"]
    assert case.expect.payload == {"draft": "Черновик", "offer": None}
    text = write_cases([case])
    assert list(check_flow_cases(read_document(text).require_document(), ["draft", "review"])) == []
    (read,) = FlowCaseFile.model_validate(read_document(text).require_document().data).tests
    played = await play_flow("plan", recorded.run.document, {}, read)
    assert compare_flow(read.expect, played) == []
    assert "payload" in text


async def test_a_run_of_a_chat_keeps_its_answers(tmp_path: Path) -> None:
    """What was typed, and the button that was pressed, in order."""
    async with a_flow_world(tmp_path, PLAN) as (world, _):
        world.model.will("Черновик", "Готово")
        await world.work(start_in_chat())
        await world.work(message("Ромашка"))
        await world.work(click(world, 0))
        _, case = await record(world)
    assert case.parameters is None
    assert case.inputs == ["Ромашка", Given(press="Пропустить")]
    assert case.expect.messages == ["Для кого?", "Что ещё?"]


async def test_attempts_without_an_answer_are_in_the_test(tmp_path: Path) -> None:
    """A silent model and an empty answer, each at its place."""
    async with a_flow_world(tmp_path, PLAN) as (world, _):
        world.model.will(SILENT, "Черновик", " ")
        await world.work(start({"client": "Ромашка"}))
        await rest(world)
        _, case = await record(world)
    assert case.answers == {"draft": {"each": [{"failed": "no answer in 60 s"}, "Черновик"]}, "review": " "}
    assert (case.expect.outcome, case.expect.failed_steps) == ("done", ["review"])


async def test_a_run_that_was_retried_is_the_test_of_what_it_did_at_last(tmp_path: Path) -> None:
    """The attempts before «Повторить» are forgiven, and would end the test."""
    plan = flow(
        step("first", success="second"), step("second", maxAttempts=2), outputs={"resultPayload": {"it": "$steps.second.output.content"}}
    )
    async with a_flow_world(tmp_path, plan) as (world, _):
        world.model.will("первый", SILENT, SILENT)
        await world.work(start({}))
        await rest(world)
        world.model.will(SILENT, "Готово")
        await world.work(order("retry"))
        await rest(world)
        await rest(world)
        _, case = await record(world)
    assert case.answers == {"first": "первый", "second": {"each": [{"failed": "no answer in 60 s"}, "Готово"]}}
    assert (case.expect.outcome, case.expect.payload) == ("done", {"it": "Готово"})


@pytest.mark.parametrize(("run", "other", "why"), [
    ({"status": "failed", "code": "x"}, {}, "ended as failed x, and played again it ends as done"),
    ({}, {"path": ["draft"]}, "the run did the steps draft, and played again it does draft, review"),
    ({"result": {"payload": {}}}, {}, "another result"),
])  # fmt: skip
async def test_a_run_that_would_come_otherwise_is_not_recorded(
    tmp_path: Path, run: dict[str, Any], other: dict[str, Any], why: str
) -> None:
    """A test that is red from its first day, or of another run, helps nobody."""
    async with a_flow_world(tmp_path, PLAN) as (world, _):
        world.model.will("Черновик", "Готово")
        await world.work(start({"client": "Ромашка"}))
        recorded, _ = await record(world)
    with pytest.raises(NotRecordable, match=why):
        await complete_flow_recording(replace(recorded, run=replace(recorded.run, **run), **other))


async def test_what_followed_a_failure_that_a_retry_has_undone_is_left_out(tmp_path: Path) -> None:
    """The handler was asked for the first step's failure, and anew for that of the second, which alone is on the way."""
    plan = flow(
        step("first", success="second", failure="handle", fail=True),
        step("second", failure="handle"),
        step("handle"),
        outputs={"resultPayload": {"told": "$steps.handle.output.content"}},
    )
    async with a_flow_world(tmp_path, plan) as (world, _):
        world.model.will(SILENT, "первый не вышел")
        await world.work(start())
        world.model.will("первый", SILENT, "второй не вышел")
        await world.work(order("retry"))
        await rest(world)
        _, case = await record(world)
    assert (case.expect.path, case.expect.failed_steps) == (["first", "second", "handle"], ["second"])
    assert case.expect.payload == {"told": "второй не вышел"}
    assert case.answers["handle"] == "второй не вышел"


async def test_a_failure_from_which_the_flow_went_on_stays_after_a_retry(tmp_path: Path) -> None:
    """The first step gave no answer, another did its part, and only the last was retried: the test plays all three."""
    plan = flow(step("first", failure="instead"), step("instead", success="last"), step("last"))
    async with a_flow_world(tmp_path, plan) as (world, _):
        world.model.will(SILENT, "вместо него", SILENT)
        await world.work(start())
        world.model.will("конец")
        await world.work(order("retry"))
        await rest(world)
        _, case = await record(world)
    assert (case.expect.path, case.expect.failed_steps) == (["first", "instead", "last"], ["first"])


async def test_a_run_that_waits_or_is_not_there_is_not_recorded(tmp_path: Path) -> None:
    """The reason is said."""
    async with a_flow_world(tmp_path, PLAN) as (world, _):
        with pytest.raises(NotRecordable, match="there is no run"):
            await read_flow_recording(RUN_ID, world.store)
        await world.work(start_in_chat())
        with pytest.raises(NotRecordable, match="has not ended yet"):
            await read_flow_recording(RUN_ID, world.store)


async def decide(world: World, *operations: Any) -> tuple[RecordedFlow, Any]:
    """The recording of a run whose agent proposes these operations, after a person approved their card."""
    world.model.will(propose(*operations))
    await world.work(start())
    for shown in cards(world):
        await world.work(press(shown.body, key=RUN))
    return await record(world)


async def test_a_run_that_made_a_record_is_played_again(tmp_path: Path) -> None:
    """Its number stands in the result, and in the test among what the operations give."""
    async with a_flow_world(tmp_path, flow(step("work"), outputs=RESULT), {"writer": MAKER}) as (world, _):
        _, case = await decide(world, LEAD)
    (made,) = case.expect.payload["done"]
    assert made["status"] == "succeeded"
    assert made["created"].startswith("lead:")
    assert case.operations["work"]["created"] == made["created"]
    read = read_document(write_cases([case])).document
    assert read is not None
    assert list(check_flow_cases(read, ["work"])) == []


async def test_a_run_of_which_some_operations_failed_is_played_again(tmp_path: Path) -> None:
    """The batch stopped at its first error: what failed and what was not run stands in the test."""
    answer = {"result": {"op01": 5}, "result_error": {"op02": {"error": "ACCESS", "error_description": "Нет прав"}}}
    plan = flow(step("work", fail=False), outputs=RESULT)
    async with a_flow_world(tmp_path, plan, CLERK) as (world, _):
        world.portal.will("batch", says(200, {"result": {**answer, "result_total": [], "result_next": [], "result_time": []}}))
        recorded, case = await decide(world, NOTE, RAISE, NOTE)
    told = [(one["status"], "Нет прав" in one.get("error", "")) for one in case.expect.payload["done"]]
    assert told == [("succeeded", False), ("failed", True), ("not_run", False)]
    wrong = case.model_copy(update={"operations": {"work": {"commands": {"op01": "perhaps"}}}})
    played = await play_flow("plan", recorded.run.document, recorded.agents, wrong)
    assert played.problem.startswith("operations.work of plan: commands.op01")


async def test_a_run_that_found_all_so_already_is_played_again(tmp_path: Path) -> None:
    """Nothing was sent, and the step counts as done."""
    async with a_flow_world(tmp_path, flow(step("work"), outputs=RESULT), CLERK) as (world, _):
        deal = world.portal.perform("crm.deal.get", {"id": 481})
        same = {"method": "crm.deal.update", "params": {"id": 481, "fields": {"TITLE": deal["TITLE"]}}}
        _, case = await decide(world, same)
        assert world.portal.written() == []
    assert [one["status"] for one in case.expect.payload["done"]] == ["already"]
    assert set(case.operations["work"]) == {"already"}
