"""A finished run of the journal becomes a test that plays to the same end."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engines.scenarios.playing import compare, play_dialogue
from engines.scenarios.recording import complete_recording, read_recording
from orchestrator.domain.errors import FileUnavailable
from orchestrator.engines.shared.file_access import Downloaded
from orchestrator.rehearsals.case import Given
from orchestrator.rehearsals.recorded_nodes import NotRecordable
from orchestrator.rehearsals.script import Script
from tests.unit.engines.scenarios.scenario_kit import TYPES, a_scenario_world, ask, click, say, scenario, start, texts
from tests.unit.runs.runs_kit import RUN, work_through
from tests.unit.spine_kit import World, message

RUN_ID = RUN.removeprefix("run:")


async def record(world: World) -> Any:
    """The run of the world as a complete recording, with what was read of it."""
    recorded = await read_recording(RUN_ID, world.store, TYPES)
    return recorded, (await complete_recording(recorded, TYPES)).dialogue


async def test_a_run_with_questions_a_model_an_effect_and_a_child_is_played_again(tmp_path: Path) -> None:
    """Typed answers, buttons, wrong answers, the model's words and what the database of effects gave are all in the test."""
    child = scenario(ask("more", "Ещё?", buttons=["Да", "Нет"]))
    steps = (
        ask("age", type="integer"),
        {"id": "write", "type": "llm_request", "params": {"prompt": "Возраст {age}"}},
        {"id": "read", "type": "bitrix_call", "params": {"method": "crm.deal.get", "params": {"id": 481}, "output_var": "deal"}},
        {"id": "sub", "type": "execute_sub_scenario", "params": {"sub_scenario_id": "child", "output_mapping": ["more"]}},
        say("{llm_result}: {deal.TITLE}, {more}, {text}"),
    )
    async with a_scenario_world(tmp_path, *steps, others={"child": child}) as world:
        world.model.will("Понятно")
        await work_through(world, start(), message("много"), message("17"))
        await world.work(click(world, 1))
        recorded, dialogue = await record(world)
    assert dialogue.inputs == ["много", "17", Given(press="Нет")]
    assert dialogue.mocks["plan/write"] == "Понятно"
    title = dialogue.mocks["plan/read"]["TITLE"]
    assert dialogue.expect.messages[-1] == f"Понятно: {title}, Нет, {{text}}"
    assert dialogue.expect.variables["age"] == 17
    assert [one.method for one in dialogue.expect.effects] == ["crm.deal.get"]
    assert set(recorded.documents) == {"plan", "child"}
    played = await play_dialogue("plan", recorded.documents, TYPES, dialogue, Script(dialogue))
    assert compare(dialogue.expect, played) == []


async def test_a_run_that_waits_or_is_not_there_is_not_recorded(tmp_path: Path) -> None:
    """The reason is said."""
    async with a_scenario_world(tmp_path, ask()) as world:
        with pytest.raises(NotRecordable, match="there is no run"):
            await read_recording(RUN_ID, world.store, TYPES)
        await world.work(start())
        with pytest.raises(NotRecordable, match="has not ended yet"):
            await read_recording(RUN_ID, world.store, TYPES)


async def test_a_failed_run_is_a_test_of_its_failure(tmp_path: Path) -> None:
    """What it failed with is what the test expects."""
    branch = {"id": "choose", "type": "branch", "condition": "missing > 5", "branches": {"if": "choose"}}
    async with a_scenario_world(tmp_path, say("Начнём"), branch) as world:
        await world.work(start())
        _, dialogue = await record(world)
    assert (dialogue.expect.outcome, dialogue.expect.code) == ("failed", "scenario-condition-failed")
    assert dialogue.expect.messages == ["Начнём"]


async def test_a_run_that_ends_otherwise_when_played_again_is_not_recorded(tmp_path: Path) -> None:
    """A test that is red from its first day helps nobody."""
    async with a_scenario_world(tmp_path, say("Привет")) as world:
        await world.work(start())
        recorded = await read_recording(RUN_ID, world.store, TYPES)
    recorded.run = replace(recorded.run, status="cancelled")
    with pytest.raises(NotRecordable, match="played again it ends as done"):
        await complete_recording(recorded, TYPES)


READ = {"id": "new-deal", "type": "bitrix_call", "params": {"method": "crm.deal.get", "params": {"id": 481}, "output_var": "deal"}}


async def test_a_run_that_had_other_variables_or_effects_is_not_recorded(tmp_path: Path) -> None:
    """That it ends alike is not enough: the test would be one of another conversation."""
    async with a_scenario_world(tmp_path, ask("age", type="integer"), READ) as world:
        await work_through(world, start(), message("17"))
        recorded = await read_recording(RUN_ID, world.store, TYPES)
    assert [str(one) for one in recorded.effects] == ["plan/new-deal: crm.deal.get"]
    assert recorded.dialogue.mocks.keys() == {"plan/new-deal"}
    with pytest.raises(NotRecordable, match=r"the run did nothing more, and played again it does plan/new-deal: crm\.deal\.get"):
        await complete_recording(replace(recorded, effects=()), TYPES)
    refused = {"plan/new-deal": {"refused": "x"}}
    with pytest.raises(NotRecordable, match="ended as done , and played again it ends as failed"):
        await complete_recording(replace(recorded, dialogue=recorded.dialogue.model_copy(update={"mocks": refused})), TYPES)
    with pytest.raises(NotRecordable, match="only the run has the variable more"):
        await complete_recording(replace(recorded, run=replace(recorded.run, result={**recorded.run.result, "more": 1})), TYPES)
    with pytest.raises(NotRecordable, match="only the run that was played again has the variable age"):
        await complete_recording(replace(recorded, run=replace(recorded.run, result={})), TYPES)


async def test_a_variable_with_another_value_is_told_and_not_looked_at(tmp_path: Path) -> None:
    """Such as one that depends on the hour; what else the run had is looked at."""
    async with a_scenario_world(tmp_path, ask("age", type="integer"), READ) as world:
        await work_through(world, start(), message("17"))
        recorded = await read_recording(RUN_ID, world.store, TYPES)
    completed = await complete_recording(replace(recorded, run=replace(recorded.run, result={**recorded.run.result, "age": 18})), TYPES)
    assert completed.left_out == ["age: the run had 18, played again it is 17"]
    assert completed.dialogue.expect.variables.keys() == {"deal"}
    assert (await complete_recording(recorded, TYPES)).dialogue.expect.variables.keys() == {"age", "deal"}


async def test_the_day_and_the_person_of_a_run_are_those_of_its_test(tmp_path: Path) -> None:
    """What is calculated from the day comes out as it did, whenever the test is played; what every run has is not looked at."""
    steps = ({"type": "calculate", "params": {"values": {"due": "add_days(today, 3)"}}}, say("{due} {employee_id} {time_zone}"))
    async with a_scenario_world(tmp_path, *steps) as world:
        await world.work(start())
        said = texts(world)
        _, dialogue = await record(world)
    assert dialogue.expect.messages == said
    assert set(dialogue.expect.variables) == {"due"}


async def test_a_step_back_is_recorded_as_one(tmp_path: Path) -> None:
    """It must not become an empty answer, which would make a test of another conversation."""
    plan = scenario(ask("name", step="name"), ask("sum", step="sum", buttons=["Да"]), say("{name} {sum}"), allow_back=True)
    async with a_scenario_world(tmp_path, plan) as world:
        await work_through(world, start(), message("Иван"))
        await world.work(click(world, 1))
        await work_through(world, message("Пётр"), message("5"))
        said = texts(world)[-1]
        _, dialogue = await record(world)
    assert dialogue.inputs == ["Иван", Given(press="scenario-back"), "Пётр", "5"]
    assert dialogue.expect.messages is not None
    assert dialogue.expect.messages[-1] == said == "Пётр 5"


async def test_files_of_hosts_are_recorded_as_they_came_and_failed(tmp_path: Path) -> None:
    """The same step fails, then comes: its mocks say so, the content is no part of them, and the recording plays to the same end."""
    answers = [FileUnavailable("the host answered 404", why="status", status="404"), None]

    async def download(_url: str, _limit: int, /, *, fetches: bool) -> Downloaded | None:
        assert fetches
        if (error := answers.pop(0)) is not None:
            raise error
        return Downloaded(content=b"%PDF 1")

    send = {"id": "send", "type": "telegram_send_document", "params": {"url": "https://h.example/a.pdf", "on_refused": "no"}}
    loop = {"type": "branch", "condition": "true", "branches": {"if": "send"}}
    async with a_scenario_world(tmp_path, send, {"type": "end"}, say("нет", id="no"), loop, download=download) as world:
        await world.work(start())
        recorded, dialogue = await record(world)
    assert dialogue.mocks == {"plan/send": {"each": [{"failed": "the host answered 404"}, None]}}
    assert dialogue.expect.messages == ["нет", "📎 a.pdf"]
    played = await play_dialogue("plan", recorded.documents, TYPES, dialogue, Script(dialogue))
    assert compare(dialogue.expect, played) == []


async def test_a_run_that_a_missing_file_ended_is_a_test_of_that(tmp_path: Path) -> None:
    """The code is the same, whatever the reason was."""

    async def download(_url: str, _limit: int, /, *, fetches: bool) -> Downloaded | None:
        raise FileUnavailable(f"closed {fetches}", why="closed")

    send = {"id": "send", "type": "telegram_send_document", "params": {"url": "https://h.example/a.pdf"}}
    async with a_scenario_world(tmp_path, send, download=download) as world:
        await world.work(start())
        _, dialogue = await record(world)
    assert (dialogue.expect.outcome, dialogue.expect.code) == ("failed", "scenario-download")
