"""Scenes of changes of many records and of standing orders. Played by name: their pictures have folders of their own."""

from functools import partial
from typing import Final

from tests.e2e.e2e_people import Person, Shown, until
from tests.pictures.studio import Scene, Studio, says

_STEP: Final = 'THOUGHT:\nAn order.\nACTION:\n[{{"method":"{method}","params":{params},"comment":"","last":true}}]\nASSISTANT:\n{text}'
_A_LOOK: Final = 150.0
_PROPOSAL: Final = (
    '{"of":"deals","where":"open","quiet":14,"propose":{"method":"tasks.task.add","params":{"fields":'
    '{"TITLE":"Позвонить: {title}","RESPONSIBLE_ID":"{owner}","DEADLINE":"@date:завтра","UF_CRM_TASK":["D_{record}"]}}}}'
)


async def bulk(studio: Studio) -> None:
    """A hand-over of a few deals, and of all that somebody has: its file, its end and the way back."""
    anna = studio.world.anna
    number = await anna.say("передай все открытые сделки Бориса Вере")
    card = await _see_button(anna, number, "Отклонить")
    await studio.shoot("card", anna, last=1, is_small=True)
    await anna.decide(card, "Отклонить")
    number = await anna.say("передай всё от Веры Борису")
    card = await _see_button(anna, number, "Отклонить")
    await studio.shoot("closed", anna, last=2, is_small=True)
    await anna.press(card.number, card.data("Подробнее"))
    await studio.world.settled()
    await studio.shoot("file", anna, last=3, is_small=True)
    card = await _see_button(anna, number, "Выполнить")
    await anna.press(card.number, card.data("Выполнить"))
    end = await _see_button(anna, card.number, "Вернуть")
    await studio.shoot("end", anna, last=2, is_small=True)
    await anna.press(end.number, end.data("Вернуть"))
    await _see_button(anna, end.number, "Отклонить")
    await studio.shoot("undo", anna, last=2, is_small=True)


async def orders(studio: Studio) -> None:
    """The card of an order, what it tells, one that proposes, and the list."""
    boris = studio.world.boris
    await _give(studio, boris, "скажи, если сумма сделки Ромашка изменится", "card")
    await studio.world.edit("deal", 481, OPPORTUNITY=135_000)
    await studio.world.script(_STEP.format(method="order.add", params=_PROPOSAL, text="Буду предлагать задачу."))
    await _give(studio, boris, "если по моей сделке 14 дней тишина, предложи задачу", "proposal")
    await until(partial(says, boris, "По вашему поручению"), "what changed", _A_LOOK)
    await studio.shoot("told", boris, last=1, is_small=True)
    await boris.sees_words(await boris.say("/orders"), "Ваши поручения")
    await studio.shoot("list", boris, last=1, is_small=True)


async def _give(studio: Studio, person: Person, words: str, picture: str) -> None:
    card = await _see_button(person, await person.say(words), "Отклонить")
    await studio.shoot(picture, person, last=1, is_small=True)
    await person.press(card.number, card.data("Выполнить"))
    await person.sees_words(card.number, "Поручение принято")


async def _see_button(person: Person, after: int, button: str) -> Shown:
    async def look() -> Shown | None:
        return next((one for one in await person.seen(after) if any(button in words for words in one.buttons)), None)

    found: Shown = await until(look, f"a button {button}")
    return found


SCENES: Final[tuple[Scene, ...]] = (bulk, orders)
