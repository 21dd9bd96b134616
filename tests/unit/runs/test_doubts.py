"""What a person types may answer a run's question, begin a request, or leave the run: the person says which; nothing is lost or doubled."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.telegram.intake.callbacks import ActionClick, pack, unpack
from engines.scenarios.core.steering import CANCEL
from state.clock import generate_id
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, ask, say, scenario, start
from tests.unit.runs.chat_kit import Chat
from tests.unit.runs.runs_kit import a_run_world, events, index, steps, work_through
from tests.unit.runs.runs_kit import start as start_steps
from tests.unit.spine_kit import ANNA, BORIS, World, command, message, reply

REQUEST = "покажи мои сделки"
PLAN = (ask(prompt="Для кого предложение?", buttons=["Для всех"]), say("Для {answer}"))
ANSWER, OTHER = "run-doubt-answer", "run-doubt-request"


async def begin(world: World, words: str = REQUEST) -> Chat:
    """The chat after the question of the run and these words."""
    chat = Chat(world)
    await work_through(world, start(), message(words))
    return chat


@pytest.mark.parametrize("words", [REQUEST, "подними сделку 481 на 10%", "сколько у меня сделок?", "show my deals"])
async def test_a_request_is_asked_back_before_it_becomes_an_answer(tmp_path: Path, words: str) -> None:
    """The words are shown with two buttons; the run waits, and the model is not asked."""
    async with a_scenario_world(tmp_path, *PLAN) as world:
        chat = await begin(world, words)
        assert (chat.labels, chat.codes) == ([ANSWER, OTHER], ["run-doubt"])
        assert index(world).status == "waiting"
        assert world.model.prompts == []


async def test_an_answer_goes_on_as_the_answer(tmp_path: Path) -> None:
    """Once, however often it is pressed; the message says what was chosen."""
    async with a_scenario_world(tmp_path, *PLAN) as world:
        chat = await begin(world)
        first, second, other = chat.press(ANSWER), chat.press(ANSWER), chat.press(OTHER)
        for row in (first, first, second, other):
            await world.work(row)
        assert chat.texts.count(f"Для {REQUEST}") == 1
        assert index(world).status == "done"
        assert chat.toasts.count("toast-already") == 2
        assert "chosen" in chat.codes
        assert world.model.prompts == []


async def test_a_request_is_handled_by_the_agent_and_the_question_is_shown_again(tmp_path: Path) -> None:
    """It is the person's own message of a turn; the question stands below its answer, with its buttons, and is answered there."""
    async with a_scenario_world(tmp_path, *PLAN) as world:
        chat = await begin(world)
        first, second, answer = chat.press(OTHER), chat.press(OTHER), chat.press(ANSWER)
        world.model.will(reply(text="Вот сделки."))
        for row in (first, second, answer):
            await world.work(row)
        (said,) = world.events("MessageReceived")
        assert (said.data["text"], said.data["by"], said.data["origin"]) == (REQUEST, "tg:1007", "typed")
        assert len(world.model.prompts) == 1
        assert chat.texts.index("Вот сделки.") < len(chat.texts) - 1 - chat.texts[::-1].index("Для кого предложение?")
        assert chat.labels == ["Для всех", "run-leave"]
        assert chat.toasts.count("toast-already") == 2
        await world.work(chat.press("Для всех"))
        assert chat.texts[-1] == "Для Для всех"
        assert index(world).status == "done"


async def test_only_the_last_showing_of_a_question_has_buttons(tmp_path: Path) -> None:
    """Each message before is edited to have none, also at the end of the run."""
    async with a_scenario_world(tmp_path, *PLAN) as world:
        chat = await begin(world)
        for number in range(2):
            world.model.will(reply(text=f"Вот сделки {number}."))
            await world.work(chat.press(OTHER))
            if not number:
                await world.work(message("какие у меня задачи?"))
        await world.work(message("Ромашка"))
        last = {row.key: row for row in chat.look() if row.kind == "reply" and row.key}
        assert [key for key, row in last.items() if row.body["actions"]] == []
        assert [one.data["number"] for one in events(world, "QuestionShown")] == [1, 2]


async def test_a_late_answer_is_told_and_the_words_can_still_be_a_request(tmp_path: Path) -> None:
    """The question was answered in other words meanwhile: nothing of what the person has typed is lost."""
    async with a_scenario_world(tmp_path, *PLAN) as world:
        chat = await begin(world)
        late, request = chat.press(ANSWER), chat.press(OTHER)
        await work_through(world, message("Ромашка"), late)
        assert chat.toasts[-1] == "choice-outdated"
        assert chat.texts[-1] == "Для Ромашка"
        world.model.will(reply(text="Вот сделки."))
        await world.work(request)
        assert chat.texts[-1] == "Вот сделки."


async def test_a_process_that_dies_between_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """The words, the press, and the question behind the request are in the journal; each is handled by the next process."""
    database = build_sqlite_url(tmp_path / "sdelka.db")
    async with a_scenario_world(tmp_path, *PLAN, store=open_store(database)) as world:
        chat = await begin(world)
        press = chat.press(OTHER)
        world.sql.put_inbox([press])
    async with a_scenario_world(tmp_path, *PLAN, store=open_store(database)) as world:
        again = Chat(world)
        world.model.will(reply(text="Вот сделки."))
        await world.work()
        await world.work(replace(press, id=generate_id(), source="again"))
        assert len(world.model.prompts) == 1
        assert again.texts[-1] == "Для кого предложение?"
        await world.work(message("Ромашка"))
        assert again.texts[-1] == "Для Ромашка"


async def test_nobody_else_says_what_the_words_are(tmp_path: Path) -> None:
    """A colleague in the same chat reads that it is not theirs."""
    async with a_scenario_world(tmp_path, *PLAN) as world:
        chat = await begin(world)
        theirs = replace(chat.press(ANSWER), actor=BORIS.model_dump(mode="json"))
        await world.work(theirs)
        assert chat.toasts[-1] == "choice-not-yours"
        assert index(world).status == "waiting"


async def test_what_the_author_expects_is_an_answer(tmp_path: Path) -> None:
    """A choice and a button that read like a request are none; nor is a forwarded text."""
    for number, params in enumerate(({"choices": [REQUEST]}, {"buttons": [REQUEST]})):
        async with a_scenario_world(tmp_path / str(number), ask(**params), say("Для {answer}")) as world:
            chat = await begin(world)
            assert chat.texts[-1] == f"Для {REQUEST}"
    async with a_scenario_world(tmp_path / "forwarded", *PLAN) as world:
        await work_through(world, start(), message("", quoted=REQUEST))
        assert index(world).status == "done"


async def test_a_command_while_the_doubt_is_open_is_a_command(tmp_path: Path) -> None:
    """/cancel ends the run; the words can still become a request."""
    async with a_scenario_world(tmp_path, *PLAN) as world:
        chat = await begin(world)
        request = chat.press(OTHER)
        await world.work(command("cancel"))
        assert index(world).status == "cancelled"
        world.model.will(reply(text="Вот сделки."))
        await world.work(request)
        assert chat.texts[-1] == "Вот сделки."


def test_the_buttons_fit_into_a_button_of_telegram() -> None:
    """With the longest id of an input, and for the button that leaves a run."""
    row_id = generate_id()
    for words in (("doubt", row_id, "request"), ("run", row_id, "7f3a90c2", "leave")):
        assert unpack(pack(ActionClick(words=words))) == ActionClick(words=words)


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
        await work_through(world, message("Иван"), late)
        assert index(world).status == "waiting"


@pytest.mark.parametrize("words", ["отмена", "Стоп!", "хватит", "отмени, пожалуйста", "cancel", "stop"])
async def test_words_leave_the_run(tmp_path: Path, words: str) -> None:
    """They are no answer to a question for a text, and none to one that only takes a button; its buttons go."""
    for place, question in enumerate((ask(), ask(buttons=["Да"], only_buttons=True), ask(type="integer"))):
        async with a_scenario_world(tmp_path / str(place), question, say("ответ {answer}")) as world:
            chat = Chat(world)
            await work_through(world, start(), message(words))
            assert index(world).status == "cancelled", question
            assert "run-was-cancelled" in chat.codes
            questions = [row for row in chat.look() if row.kind == "reply" and "run-question-left" in str(row.body)]
            assert [row.body["actions"] for row in questions] == [[]], question


@pytest.mark.parametrize("params", [
    {"buttons": ["Отмена", "Дальше"]},
    {"choices": ["отмена", "дальше"]},
    {"next_step_map": {"отмена": "own"}},
    {"buttons": [{"text": "✖ Отмена", "value": "x"}], "only_buttons": True},
])  # fmt: skip
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
