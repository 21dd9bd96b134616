"""Where a card, a line of code or a reminder says everything, the person gets that one message; what says more stays."""

from pathlib import Path
from typing import Any

import pytest

from bot.i18n.translate import Locale, Translator
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from bot.telegram.view.message_builder import build_message
from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.outputs import Reply
from tests.unit.spine_kit import ANNA, CHAT, World, a_world, message, raise_sum, reply, step

RU = Translator("ru")
RAISE = "подними сумму сделки 481 до 1 200 000"
GROUP = "tg:-100200"


async def answered(world: World, *answers: str, said: str = RAISE, key: str = CHAT, actor: Actor = ANNA) -> Reply:
    """The answer to one turn."""
    session = await world.session(key)
    world.model.will(*answers)
    await world.turn(session, message(said, key=key, actor=actor))
    return Reply.model_validate(next(row.body for row in world.outbox() if row.kind == "reply" and row.body["turn_id"]))


def codes(told: Reply) -> list[str]:
    return [notice.code for notice in told.notices]


@pytest.mark.parametrize(
    "text",
    [
        "Готово.",
        "Поднимаю сумму сделки «Ромашка» до 1 200 000 ₽. Подтвердите, пожалуйста.",
        "Готово, сумма изменена.",
        "Меняю сумму.",
        "Предлагаю: №481, сумма → 1 200 000.",
    ],
)
async def test_a_card_that_says_everything_comes_alone(world: World, text: str) -> None:
    """The answer has no text, so the messenger gets only the card."""
    session = await world.session()
    world.model.will(reply(raise_sum(), text=text))
    await world.turn(session, message(RAISE))
    rows = world.outbox()
    assert [row.kind for row in rows] == ["reply", "card"]
    assert [len(build_message(row, RU).pieces) for row in rows] == [0, 1]


NOTE = ["waiting-on-card"]


@pytest.mark.parametrize(
    ("text", "left", "notes"),
    [
        ("Меняю сумму. Учтите: у клиента просрочен счёт.", "Учтите: у клиента просрочен счёт.", []),
        ("Сделка сейчас в воронке «Тендеры».", "Сделка сейчас в воронке «Тендеры».", []),
        ("Поднять точно до 1 200 000?", "Поднять точно до 1 200 000?", []),
        ("Сумма выше на 10 %, чем обычно.", "Сумма выше на 10 %, чем обычно.", []),
        ("Подняла сумму и поставила задачу Вере.", "Подняла сумму и поставила задачу Вере.", NOTE),
        ("Меняю сумму на 1 300 000 ₽.", "Меняю сумму на 1 300 000 ₽.", NOTE),
    ],
)
async def test_what_the_card_does_not_say_stays_and_claims_nothing(world: World, text: str, left: str, notes: list[str]) -> None:
    """Beside a claim stands that nothing is done yet: the model wrote it before anybody was asked; a warning needs no such note."""
    told = await answered(world, reply(raise_sum(), text=text))
    assert (told.text, codes(told)) == (left, notes)
    assert RU.translate("waiting-on-card", count=1) == "То, что на карточке ниже, ещё не сделано"


async def test_a_change_with_a_card_and_one_without_are_a_line_and_a_card(world: World) -> None:
    task = step("tasks.task.add", {"fields": {"TITLE": "Позвонить"}})
    told = await answered(world, reply(raise_sum(), task, text="Готово: задачу поставил, сумму подниму."), said=f"{RAISE} и поставь задачу")
    assert (told.parts, codes(told)) == ((), ["made"])


async def test_a_refusal_beside_a_card_is_told(world: World) -> None:
    """Only the announcement of the card is left out."""
    told = await answered(world, reply(raise_sum(deal=500), raise_sum(), text="Меняю суммы."), said="подними суммы 500 и 481 до 1 200 000")
    assert (told.parts, codes(told)) == ((), ["not-made"])


async def test_a_program_that_fetches_its_cards_apart_gets_the_whole_text(world: World) -> None:
    """There the card is no message below the text."""
    key, site = "http:site:42", Actor(key="http:site", name="Сайт", bitrix_user_id=7)
    session = await world.session(key)
    world.model.will(reply(raise_sum(), text="Поднимаю сумму."))
    await world.turn(session, message(RAISE, key=key, actor=site))
    told = Reply.model_validate(next(item.data["body"] for item in world.events("AnswerGiven", key=key) if item.data["kind"] == "reply"))
    assert (told.text, codes(told)) == ("Поднимаю сумму.", ["waiting-on-card"])


async def test_a_list_and_its_words_stay(world: World) -> None:
    """Words around a list belong to it, and so does what they say of a change."""
    both = reply(step("crm.deal.list", {"filter": {"CLOSED": "N"}}), raise_sum(), text="Готово.\n[[list 1]]")
    told = await answered(world, both, said=f"покажи сделки и {RAISE}")
    assert told.text == "Готово."


REMINDER = step("reminder.add", {"at": "2026-11-23T15:00:00+03:00", "text": "позвонить"})


async def test_a_reminder_is_told_by_its_own_message_only(world: World) -> None:
    """«⏰ Напомню …» has the time, the text and the buttons."""
    told = await answered(world, reply(REMINDER), reply(text="Готово, поставил напоминание."), said="напомни позвонить")
    assert (told.parts, told.notices) == ((), ())


async def test_a_moved_reminder_is_told_by_its_own_message_only(world: World) -> None:
    """Its message has the moment, however the answer words it; what is not in it stays."""
    world.model.will(reply(REMINDER), reply(text="Готово."))
    await world.work(message("напомни позвонить"))
    for text, left in (("Перенёс напоминание на завтра, 10:15.", ""), ("Перенёс на завтра, 11:30.", "Перенёс на завтра, 11:30.")):
        move = step("reminder.move", {"reminder": "@reminder:1", "at": "2026-11-22T10:15:00+03:00"})
        world.model.will(reply(move), reply(text=text))
        world.outbox()
        await world.work(message("перенеси напоминание"))
        (told,) = [Reply.model_validate(row.body) for row in world.outbox() if row.kind == "reply" and row.body["turn_id"]]
        assert told.text == left


async def test_in_a_group_where_the_reminder_is_not_shown_the_answer_stays(world: World) -> None:
    told = await answered(world, reply(REMINDER), reply(text="Готово, поставил напоминание."), said="напомни позвонить", key=GROUP)
    assert told.text == "Готово, поставил напоминание."


@pytest.mark.parametrize(
    ("locale", "line"),
    [("ru", "⏰ Напомню пн, 23 ноября, 15:00: позвонить"), ("en", "⏰ I will remind you on Mon, 23 November, 15:00: позвонить")],
)
async def test_a_program_that_has_no_private_chat_is_told_the_moment(world: World, locale: Locale, line: str) -> None:
    """In the answer itself, also where the model says nothing or is away, and then without a sentence that is no help."""
    site = Actor(key="http:site", name="Сайт", bitrix_user_id=7, locale=locale)
    for number, rest in enumerate(([reply(text="Готово.")], [ModelClientError("unreachable")]), start=1):
        key = f"http:site:{number}"
        session = await world.session(key)
        world.model.will(reply(REMINDER), *rest)
        await world.turn(session, message("напомни позвонить", key=key, actor=site))
        body = next(item.data["body"] for item in world.events("AnswerGiven", key=key) if item.data["kind"] == "reply")
        text = to_plain_text(render_reply(Reply.model_validate(body), Translator(locale)))
        assert text.count(line) == 1
        assert "(Когда:" not in text
        assert "(When:" not in text


async def test_an_answer_to_a_question_is_never_shortened(world: World) -> None:
    """Without a change and without a card every word stays."""
    told = await answered(world, reply(text="Готово."), said="готово?")
    assert told.text == "Готово."


async def test_a_claim_beside_a_read_stays_as_it_is(tmp_path: Path) -> None:
    """Nothing was made, so nothing of code says the same."""
    async with a_world(tmp_path) as world:
        answers: list[Any] = [reply(step("crm.deal.get", {"id": 481})), reply(text="Сделка готова.")]
        assert (await answered(world, *answers, said="что с 481?")).text == "Сделка готова."
