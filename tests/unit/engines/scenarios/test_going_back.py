"""«назад» goes to the question before, in scenarios with and without its button, and in the questions before a run begins."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.rehearsals.case import Given
from tests.unit.engines.flows.flow_kit import a_flow_world, flow, start_in_chat, step
from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, ask, say, start
from tests.unit.engines.scenarios.test_steering import NOTE
from tests.unit.rehearsals.test_rehearsals import play
from tests.unit.runs.chat_kit import Chat
from tests.unit.runs.runs_kit import index
from tests.unit.spine_kit import message

NAME, SUM = ask("name", "Имя?", step="name"), ask("sum", "Сумма?", step="sum", type="integer")


@pytest.mark.parametrize("words", ["назад", "вернись назад, пожалуйста", "back"])
async def test_a_word_asks_the_question_before_anew(tmp_path: Path, words: str) -> None:
    """Also where the author has allowed no button for it; what was answered since is forgotten, and the chat says what happened."""
    shout = {"type": "update_context", "params": {"updates": {"shout": "{shout}{name}!"}}}
    plan = {"name": "Проба", "steps": [NAME, shout, SUM, say("{name} {sum} {shout}")], "initial_context": {"shout": ""}}
    async with a_scenario_world(tmp_path, plan) as world:
        chat = Chat(world)
        for row in (start(), message("Иван"), message(words)):
            await world.work(row)
        assert chat.texts[-1] == "Имя?"
        assert "run-went-back" in chat.codes
        await world.work(message("Пётр"))
        await world.work(message("5"))
        assert chat.texts[-1] == "Пётр 5 Пётр!"


@pytest.mark.parametrize("given", [[NAME], [NAME, NOTE, SUM]])
async def test_where_there_is_no_way_back_the_chat_says_so(tmp_path: Path, given: list[dict[str, Any]]) -> None:
    """At the first question, and behind something that was done; the question stays open, and the words are no answer."""
    async with a_scenario_world(tmp_path, *given, say("{name}")) as world:
        chat = Chat(world)
        await world.work(start())
        if len(given) > 1:
            await world.work(message("Иван"))
        await world.work(message("назад"))
        assert chat.codes[-1] == "run-no-way-back"
        assert index(world).status == "waiting"
        await world.work(message("5"))
        assert index(world).status == "done"


async def test_an_answer_of_the_author_that_says_back_is_an_answer(tmp_path: Path) -> None:
    """It has a step of its own."""
    plan = (NAME, ask("way", "Куда?", step="way", next_step_map={"назад": "name"}), say("{way}"))
    async with a_scenario_world(tmp_path, *plan) as world:
        chat = Chat(world)
        for row in (start(), message("Иван"), message("назад")):
            await world.work(row)
        assert chat.texts[-1] == "Имя?"
        assert "run-went-back" not in chat.codes


async def test_the_questions_before_a_flow_begins_go_back_too(tmp_path: Path) -> None:
    """The answer before is given anew, and the first question has none before it."""
    plan = flow(step("work"), launchParameters=[{"name": "city"}, {"name": "sum", "type": "number"}, {"name": "why"}])
    async with a_flow_world(tmp_path, plan) as (world, _):
        chat = Chat(world)
        await world.work(start_in_chat())
        for words in ("назад", "Томск", "5", "назад", "назад", "Омск", "6", "так"):
            if words == "так":
                world.model.will("готово")
            await world.work(message(words))
        assert chat.codes.count("run-no-way-back") == 1
        assert chat.texts[:6] == ["city", "sum", "why", "sum", "city", "sum"]
        assert '"parameters":{"city":"Омск","sum":6,"why":"так"}' in str(world.model.prompts[0][-1]["content"])


async def test_a_trial_is_left_and_gone_back_in_as_a_chat() -> None:
    """The same words; under `text` of a test they are an answer."""
    played = await play(NAME, SUM, say("{name} {sum}"), inputs=["Иван", "назад", "Пётр", "5"])
    assert played.own_variables["name"] == "Пётр"
    played = await play(NAME, SUM, inputs=["Иван", "отмена"])
    assert (played.result.status, played.problem) == ("cancelled", "")
    played = await play(NAME, inputs=[Given(text="отмена")])
    assert played.own_variables["name"] == "отмена"
