"""What a person types may be the answer to a run's question or a new request: the person says which, and nothing is lost or doubled."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.telegram.intake.callbacks import ActionClick, pack, unpack
from state.clock import generate_id
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, ask, say, start
from tests.unit.runs.chat_kit import Chat
from tests.unit.runs.runs_kit import events, index
from tests.unit.spine_kit import BORIS, World, command, message, reply

REQUEST = "покажи мои сделки"
PLAN = (ask(prompt="Для кого предложение?", buttons=["Для всех"]), say("Для {answer}"))
ANSWER, OTHER = "run-doubt-answer", "run-doubt-request"


async def begin(world: World, words: str = REQUEST) -> Chat:
    """The chat after the question of the run and these words."""
    chat = Chat(world)
    await world.work(start())
    await world.work(message(words))
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
        await world.work(message("Ромашка"))
        await world.work(late)
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
        await world.work(start())
        await world.work(message("", quoted=REQUEST))
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
