"""A question of a run is no trap: a button below it and plain words leave the run, unless its author has given them a meaning."""

from pathlib import Path

import pytest

from engines.scenarios.core.steering import CANCEL
from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, ask, say, scenario, start
from tests.unit.runs.chat_kit import Chat
from tests.unit.runs.runs_kit import a_run_world, events, index, steps
from tests.unit.runs.runs_kit import start as start_steps
from tests.unit.spine_kit import ANNA, message


async def test_a_button_below_each_question_leaves_the_run(tmp_path: Path) -> None:
    """The run ends cancelled and says so; the question loses its buttons. A second press is told that it comes too late."""
    async with a_run_world(tmp_path, {"plan": steps({"ask": "Тариф?", "options": ["Базовый"]}, {"ask": "Как зовут?"})}) as world:
        chat = Chat(world)
        await world.work(start_steps("plan"))
        assert chat.labels == ["Базовый", "run-leave"]
        await world.work(chat.press("Базовый"))
        assert chat.labels == ["run-leave"]
        again = chat.press("run-leave")
        await world.work(chat.press("run-leave"))
        assert index(world).status == "cancelled"
        assert chat.codes[-3:] == ["run-ended", "run-was-cancelled", "run-question-left"]
        assert chat.look()[-1].body["actions"] == []
        await world.work(again)
        assert chat.toasts[-1] == "choice-outdated"
        assert len(events(world, "RunFinished")) == 1


async def test_a_press_that_comes_after_the_answer_changes_nothing(tmp_path: Path) -> None:
    """The button belongs to its question: what has gone on is not cancelled by a late press."""
    async with a_run_world(tmp_path, {"plan": steps({"ask": "Как зовут?"}, {"ask": "Сколько?"})}) as world:
        chat = Chat(world)
        await world.work(start_steps("plan"))
        late = chat.press("run-leave")
        await world.work(message("Иван"))
        await world.work(late)
        assert index(world).status == "waiting"


@pytest.mark.parametrize("words", ["отмена", "Стоп!", "хватит", "отмени, пожалуйста", "cancel", "stop"])
async def test_words_leave_the_run(tmp_path: Path, words: str) -> None:
    """They are no answer to a question for a text, and none to one that only takes a button."""
    for place, question in enumerate((ask(), ask(buttons=["Да"], only_buttons=True), ask(type="integer"))):
        async with a_scenario_world(tmp_path / str(place), question, say("ответ {answer}")) as world:
            chat = Chat(world)
            await world.work(start())
            await world.work(message(words))
            assert index(world).status == "cancelled", question
            assert "run-was-cancelled" in chat.codes


@pytest.mark.parametrize(
    "params",
    [
        {"buttons": ["Отмена", "Дальше"]},
        {"choices": ["отмена", "дальше"]},
        {"next_step_map": {"отмена": "own"}},
        {"buttons": [{"text": "✖ Отмена", "value": "x"}], "only_buttons": True},
    ],
)
async def test_what_the_author_gave_a_meaning_to_comes_first(tmp_path: Path, params: dict[str, object]) -> None:
    """A button, a choice and an answer with a step of its own are answers; the words of the only button press it."""
    async with a_scenario_world(tmp_path, ask(**params), say("свой {answer}", id="own")) as world:
        chat = Chat(world)
        await world.work(start())
        assert ("run-leave" in chat.labels) is ("buttons" not in params)
        await world.work(message("отмена"))
        assert chat.texts[-1] in {"свой отмена", "свой x"}
        assert index(world).status == "done"


async def test_a_scenario_with_a_button_of_its_own_gets_no_second_one(tmp_path: Path) -> None:
    """`allow_cancel` is that button; words leave all the same."""
    async with a_scenario_world(tmp_path, scenario(ask(), allow_cancel=True)) as world:
        chat = Chat(world)
        await world.work(start())
        assert chat.labels == [CANCEL.label]
        await world.work(message("стоп"))
        assert index(world).status == "cancelled"


async def test_leaving_a_run_inside_of_another_leaves_both(tmp_path: Path) -> None:
    """A person leaves what they have started, and not a part of it that they never saw as one."""
    documents = {"outer": steps({"child": "inner"}, {"say": "Дальше"}), "inner": steps({"ask": "Внутри?", "options": ["Да"]})}
    async with a_run_world(tmp_path, documents) as world:
        chat = Chat(world)
        await world.work(start_steps("outer"))
        await world.work(chat.press("run-leave"))
        assert index(world).status == "cancelled"
        assert "Дальше" not in chat.texts
        assert chat.codes.count("run-ended") == 1


async def test_a_hundred_buttons_leave_no_room_for_one_more(tmp_path: Path) -> None:
    """The question is asked as it is, and words leave the run."""
    async with a_run_world(tmp_path, {"plan": steps({"ask": "Какой?", "options": [f"№ {one}" for one in range(100)]})}) as world:
        chat = Chat(world)
        await world.work(start_steps("plan"))
        assert len(chat.labels) == 100
        await world.work(message("хватит"))
        assert index(world).status == "cancelled"


async def test_a_run_that_waited_before_the_words_were_known_can_be_left(tmp_path: Path) -> None:
    """Its stored question knows nothing of them: a question as an earlier program stored it is left by words and answered as before."""
    for words, status in (("отмена", "cancelled"), ("Базовый", "done")):
        async with a_run_world(tmp_path / words, {"plan": steps({"ask": "Тариф?", "options": ["Базовый"], "takes": ["text"]})}) as world:
            await world.work(start_steps("plan"))
            (waits,) = events(world, "RunWaits")
            assert {"words", "controls"}.isdisjoint(waits.data)
            await world.work(message(words))
            assert index(world).status == status


async def test_over_http_words_are_values_and_no_button_is_added(tmp_path: Path) -> None:
    """A program answers there, and cancels with POST /runs/{id}/cancel."""
    home = "http:site:runs"
    person = ANNA.model_copy(update={"key": "http:site"})
    async with a_run_world(tmp_path, {"plan": steps({"ask": "Как зовут?"}, {"say": "Записал: {s0}"})}) as world:
        await world.work(start_steps("plan", actor=person, home=home))
        (waits,) = events(world, "RunWaits")
        assert "leave" not in waits.data
        await world.work(message("отмена", actor=person, key=home))
        assert index(world).status == "done"


async def test_an_answer_that_does_not_fit_is_asked_again_with_the_way_out(tmp_path: Path) -> None:
    """What is wanted is said, in the author's words or the program's, and below the question how to leave; not the first time."""
    for number, own in enumerate(({}, {"retry_text": "Только число."})):
        async with a_scenario_world(tmp_path / str(number), ask(type="integer", **own), say("{answer}")) as world:
            chat = Chat(world)
            await world.work(start())
            assert chat.codes == []
            await world.work(message("много"))
            assert chat.codes == (["run-how-to-leave"] if own else ["scenario-answer-number", "run-how-to-leave"])
            await world.work(message("1,5 млн"))
            assert chat.texts[-1] == "1500000"
            assert chat.look()[-2].body["notices"] == []
