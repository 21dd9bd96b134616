"""A question of a run in the sandbox's Telegram: a request typed there is handled, the question comes again, and a word leaves it."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from engines.scenarios.wiring import build_scenarios
from orchestrator.runs.registry import Engines, StaticDefinitions
from tests.e2e.e2e_kit import World, texts

QUESTION, SUM = "Для кого предложение?", "На какую сумму?"
OFFER = {
    "name": "Предложение",
    "steps": [
        {"id": "who", "type": "input", "params": {"prompt": QUESTION, "input_variable": "client"}},
        {"id": "sum", "type": "input", "params": {"prompt": SUM, "input_variable": "sum", "type": "integer"}},
        {"id": "end", "type": "message", "params": {"text": "Предложение для {client} на {sum}"}},
    ],
}


@pytest.fixture
async def open_world(world: World) -> AsyncIterator[World]:
    """A world whose bot has one scenario."""
    engines = Engines(runs={"scenario": build_scenarios()}, definitions=StaticDefinitions({("scenario", "offer"): OFFER}))
    async with world.bot(engines=engines):
        yield world


async def test_a_request_beside_a_question_loses_neither(open_world: World) -> None:
    """«покажи мои сделки» is asked back and answered once at two presses, the question stands below, and the sum is read as it is typed."""
    boris = open_world.boris
    asked = await boris.sees_words(await boris.say("/run offer"), QUESTION)
    assert "✖ Отменить" in asked.buttons
    doubt = await boris.sees_words(await boris.say("покажи мои сделки"), "Это ответ на вопрос или новая просьба?")
    data = doubt.data("Новая просьба")
    await asyncio.gather(boris.press(doubt.number, data), boris.press(doubt.number, data))
    again = await boris.sees_words(doubt.number, QUESTION)
    assert "✖ Отменить" in again.buttons
    assert (await boris.message(asked.number)).buttons == {}
    assert sum("открытые сделки" in one.text.lower() for one in await boris.seen(doubt.number)) == 1
    await boris.sees_words(await boris.say("Ромашка"), SUM)
    retried = await boris.sees_words(await boris.say("много"), "Чтобы выйти")
    assert SUM in retried.text
    done = await boris.sees_words(await boris.say("1,5 млн"), "Предложение для")
    assert done.text == "Предложение для Ромашка на 1500000"


@pytest.mark.parametrize("words", ["отмена", "стоп", "хватит"])
async def test_a_word_leaves_and_the_next_is_for_the_bot(open_world: World, words: str) -> None:
    """The run is cancelled in words, its question has no button any more, and the bot answers what follows."""
    boris = open_world.boris
    asked = await boris.sees_words(await boris.say("/run offer"), QUESTION)
    await boris.sees_words(await boris.say(words), "«Предложение» отменён")
    assert (await boris.sees(asked.number, "Ответ больше не нужен")).buttons == {}
    await boris.sees_words(await boris.say("покажи мои сделки"), "открытые сделки")
    assert "Это ответ на вопрос" not in "".join(texts(await boris.seen()))


async def test_the_button_leaves(open_world: World) -> None:
    """A press on «✖ Отменить» ends the run."""
    boris = open_world.boris
    asked = await boris.sees_words(await boris.say("/run offer"), QUESTION)
    await boris.press(asked.number, asked.data("✖ Отменить"))
    await boris.sees_words(asked.number, "«Предложение» отменён")
