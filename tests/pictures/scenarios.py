"""Scenes of the example scenarios. Played by name: their pictures have a folder of their own."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import engines
from tests.e2e.e2e_people import Person, Shown
from tests.pictures.studio import RULES, Scene, Studio

_FOLDER: Final = Path(engines.__file__).parent / "scenarios" / "examples"
_POLICY: Final = RULES + "  - {entity: deal, field: UF_CRM_DISCOUNT, then: two_people, why: Скидку больше 10 % подтверждает руководитель}\n"
_SUMMARY: Final = "Договорились: две машины, отгрузка 10 декабря.\nВопросы клиента: отсрочка платежа до конца месяца.\nДальше: отправить договор до пятницы."


async def scenarios(studio: Studio) -> None:
    """The list; a lead is qualified while the bot is restarted."""
    await _begin(studio, "lead_qualification", "discount_approval", "call_summary", "call_reminder")
    boris = studio.world.boris
    await boris.ask("/run")
    await studio.shoot("list", boris, is_small=True)
    asked = await _start(boris, "lead_qualification", "Какой лид")
    start = await boris.sees_words(await boris.say("101"), "Начнём?")
    need = await _press(boris, start, "Да", "Что нужно клиенту?")
    await boris.sees_words(await boris.say("Насосы для котельной, до отопительного сезона"), "Какой бюджет")
    await boris.sees_words(await boris.say("пол-миллиона"), "Нужна сумма цифрами")
    when = await boris.sees_words(await boris.say("450 000"), "Когда клиенту это нужно?")
    await studio.world.settled()
    await studio.shoot("lead-asks", boris, last=len(await boris.seen(asked.number - 1)) + 4, is_small=True)
    await studio.bot.aclose()  # the restart: whatever was asked waits on
    await studio.begin(_POLICY)
    who = await _press(boris, when, "В этом месяце", "Кто принимает решение?")
    name = await _press(boris, who, "Другой человек", "Кто именно?")
    card = await boris.sees_words(await boris.say("Иван Петров, директор"), "450 000 ₽")
    await studio.world.settled()
    await studio.shoot("lead-card", boris, last=len(await boris.seen(need.number + 6)), is_small=True)
    await boris.decide(card, "Выполнить")
    await boris.sees_words(name.number, "Записал ответы")
    await studio.world.settled()
    await studio.shoot("lead-done", boris, last=4, is_small=True)


async def scenarios_discount(studio: Studio) -> None:
    """A large discount: the manager's side and the lead's."""
    await _begin(studio, "discount_approval")
    boris, anna = studio.world.boris, studio.world.anna
    await _start(boris, "discount_approval", "Для какой сделки")
    percent = await boris.sees_words(await boris.say("481"), "Какая скидка")
    await _press(boris, percent, "15 %", "Почему даём скидку?")
    told = await boris.sees_words(await boris.say("Постоянный клиент, берёт второй раз"), "подтверждает руководитель")
    card = await anna.sees_words(0, "102 000 ₽")
    await studio.world.settled()
    await studio.shoot("discount-asks", boris, is_small=True)
    await studio.shoot("discount-lead", anna, last=1, is_small=True)
    await anna.decide(card, "Выполнить")
    await boris.sees_words(told.number, "новая сумма сделки")
    await studio.world.settled()
    await studio.shoot("discount-done", boris, last=3, is_small=True)


async def scenarios_call(studio: Studio) -> None:
    """The summary of a call, and a reminder."""
    await _begin(studio, "call_summary", "call_reminder")
    boris = studio.world.boris
    await studio.world.script(_SUMMARY)
    await _start(boris, "call_summary", "По какой сделке")
    await boris.sees_words(await boris.say("481"), "Расскажите")
    story = (
        "Говорили с директором. Берут две машины, отгрузить просят 10 декабря. Хотят отсрочку до конца месяца. Договор обещал до пятницы."
    )
    summary = await boris.sees_words(await boris.say(story), "Записать в сделку?")
    following = await _press(boris, summary, "Записать", "Что дальше?")
    days = await _press(boris, following, "Напомнить мне", "Через сколько дней")
    await _press(boris, days, "Через 3 дня", "Напомню")
    await studio.world.settled()
    await studio.shoot("call", boris, is_small=True)


async def _begin(studio: Studio, *keys: str) -> None:
    """Publish examples and start the bot anew."""
    await studio.bot.aclose()
    for key in keys:
        for words in (("save", "scenario", key, str(_FOLDER / f"{key}.yaml")), ("publish", "scenario", key, "1", "--revision", "1")):
            code, told = await studio.world.command("definitions", *words)
            assert code == 0, told
    await studio.begin(_POLICY)


async def _start(person: Person, key: str, words: str) -> Shown:
    return await person.sees_words(await person.say(f"/run {key}"), words)


async def _press(person: Person, question: Shown, label: str, words: str) -> Shown:
    await person.press(question.number, question.data(label))
    return await person.sees_words(question.number, words)


SCENES: Final[Sequence[Scene]] = (scenarios, scenarios_discount, scenarios_call)
