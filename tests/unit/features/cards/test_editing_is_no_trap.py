"""✏ is no trap: what can be chosen is chosen by buttons, and a later sentence that is no value goes its usual way."""

from collections import deque
from typing import Any

import pytest
from aiogram.types import ForceReply, InlineKeyboardMarkup

from bot.telegram.view.keyboards import build_edit_keyboard
from orchestrator.domain.inputs import parse_input
from orchestrator.language.request_words import is_clear_request, may_be_request
from orchestrator.sessions.input_filter import recognize_answer
from state.journal.store import OutboxRow
from tests.unit.features.cards.cards_kit import RU, answer, asked, cards_of, opened, pressing, shown
from tests.unit.spine_kit import World, message, press, reply, step
from tests.unit.spine_portal import says

STAGE = step("crm.deal.update", {"id": 481, "fields": {"STAGE_ID": "WON"}})
OWNER = step("crm.deal.update", {"id": 481, "fields": {"ASSIGNED_BY_ID": 8}})
FLAG = step("crm.deal.update", {"id": 481, "fields": {"OPENED": "N"}})
TITLE = step("crm.deal.update", {"id": 481, "fields": {"TITLE": "Лютик", "OPPORTUNITY": 5}})


def labels(question: OutboxRow) -> list[str]:
    """The buttons under a question."""
    markup = build_edit_keyboard(question.body, RU)
    assert isinstance(markup, InlineKeyboardMarkup), markup
    return [button.text for line in markup.inline_keyboard for button in line]


@pytest.mark.parametrize(
    ("proposed", "text", "options"),
    [
        (STAGE, "сделка 481 выиграна", ["Новая"]),
        (OWNER, "отдай сделку 481 Борису", ["Анна Ковалёва", "Анна Уварова", "Вера Белова"]),
        (FLAG, "закрой сделку 481 от всех", ["Да", "Нет"]),
    ],
)
async def test_stages_people_and_yes_or_no_are_buttons_with_a_way_out(world: World, proposed: Any, text: str, options: list[str]) -> None:
    """The value on the card is not offered again; the last button leaves everything as it is."""
    question = await opened(world, await asked(world, proposed, text=text))
    assert sorted(labels(question)[:-1]) == sorted(options)
    assert labels(question)[-1] == "Не менять"
    assert "Нажмите нужное" in shown(question)


@pytest.mark.parametrize(
    ("proposed", "text", "label", "written"),
    [
        (STAGE, "сделка 481 выиграна", "Новая", None),
        (OWNER, "отдай сделку 481 Борису", "Вера Белова", {"ASSIGNED_BY_ID": 6}),
        (FLAG, "закрой сделку 481 от всех", "Да", {"OPENED": "Y"}),
    ],
)
async def test_a_press_on_a_button_makes_the_new_card(world: World, proposed: Any, text: str, label: str, written: Any) -> None:
    """Consent is asked for again; a value that the record has already is told, and the card stays."""
    entry = await asked(world, proposed, text=text)
    question = await opened(world, entry)
    number = str(labels(question).index(label))
    await world.work(pressing("pick", entry["confirmation_id"], str(question.body["ask"]), number))
    rows = world.outbox()
    if written is None:
        assert rows[-1].body["objection"]["code"] == "gate-already-so"
        return
    _, new = cards_of(rows)
    assert world.portal.ledger == []
    await world.work(press(new))
    assert world.portal.ledger[0][1]["fields"] == written


async def test_names_can_still_be_typed_below_the_buttons(world: World) -> None:
    """A reply in words counts as before, and after an unreadable one the buttons come again."""
    question = await opened(world, await asked(world, OWNER, text="отдай сделку 481 Борису"))
    await world.work(answer(question, "никто такой"))
    again = world.outbox()[-1]
    assert labels(again)[-1] == "Не менять"
    assert len(labels(again)) == len(labels(question))
    await world.work(answer(again, "Вера"))
    assert [card["status"] for card in cards_of(world.outbox())] == ["superseded", "requested"]


OWN_FIELDS = {
    "SOURCE_ID": {"type": "crm_status", "statusType": "SOURCE", "title": "Источник"},
    "UF_CRM_1": {
        "type": "enumeration",
        "isDynamic": True,
        "formLabel": "Доставка",
        "items": [{"ID": "57", "VALUE": "Самовывоз"}, {"ID": "58", "VALUE": "Курьер"}, {"ID": "59", "VALUE": "Почта"}],
    },
    "OPPORTUNITY": {"type": "double", "title": "Сумма"},
}


@pytest.mark.parametrize(
    ("code", "value", "options", "words", "written"),
    [("SOURCE_ID", "CALL", ["Веб-сайт"], "веб", "WEB"), ("UF_CRM_1", "57", ["Курьер", "Почта"], "Курьер", "58")],
)
async def test_a_field_with_a_list_of_values_offers_the_list(
    world: World, code: str, value: str, options: list[str], words: str, written: str
) -> None:
    """Standard lists and those of custom fields; a name that is not in the list is told with what there is."""
    world.portal.will("crm.deal.fields", *[says(200, {"result": OWN_FIELDS})] * 9)
    proposed = step("crm.deal.update", {"id": 481, "fields": {code: value, "OPPORTUNITY": 5}})
    entry = await asked(world, proposed, text="поставь сделке 481 источник и сумму 5")
    await world.work(pressing("edit", entry["confirmation_id"]))
    named = [field["name"] for field in world.outbox()[-1].body["fields"]]
    number = next(place for place, name in enumerate(named) if name != "Сумма")
    await world.work(pressing("field", entry["confirmation_id"], str(number)))
    question = world.outbox()[-1]
    assert labels(question)[:-1] == options
    await world.work(answer(question, "голубиная"))
    again = world.outbox()[-1]
    assert again.body["objection"]["code"] == "edit-choose"
    await world.work(answer(again, words))
    _, new = cards_of(world.outbox())
    await world.work(press(new))
    assert world.portal.ledger[0][1]["fields"] == {code: written, "OPPORTUNITY": 5}


async def test_after_one_unreadable_value_nobody_is_held_to_an_answer(world: World) -> None:
    """The first question may open the reply field of the messenger; the next one only has the button «Не менять»."""
    question = await opened(world, await asked(world))
    assert isinstance(build_edit_keyboard(question.body, RU), ForceReply)
    await world.work(answer(question, "дорого"))
    again = world.outbox()[-1]
    assert again.body["objection"] is not None
    assert labels(again) == ["Не менять"]


LATER = [
    "покажи мои сделки",
    "сколько у меня открытых сделок?",
    "создай задачу позвонить Иванову завтра",
    "а что с Ромашкой?",
    "какие дела на сегодня",
    "удали лид 7",
    "напомни мне завтра в 10 позвонить",
    "перенеси встречу на пятницу",
    "привет",
    "спасибо, не надо",
    "найди контакт Петров",
    "show my deals",
]


@pytest.mark.parametrize("words", LATER)
async def test_a_later_sentence_is_a_request_and_no_value(world: World, entry: dict[str, Any], words: str) -> None:
    """Twelve of twelve were read as a sum; each is worked by a turn now, and the card waits unchanged."""
    question = await opened(world, entry)
    world.model.will(reply(text="Хорошо."))
    await world.work(answer(question, words))
    assert [row.kind for row in world.outbox() if row.kind == "edit"] == []
    assert words in str(world.model.prompts[-1])
    assert len(world.events("ConfirmationRequested")) == 1


@pytest.mark.parametrize(
    ("words", "is_value"),
    [
        ("в пятницу", True),
        ("перенеси на пятницу", True),
        ("давай 30 ноября", True),
        ("перенеси встречу на пятницу", False),
        ("напомни мне завтра в 10 позвонить", False),
        ("что у меня завтра?", False),
        ("спасибо, до завтра", False),
    ],
)
async def test_a_day_within_a_request_is_not_taken_for_the_value(world: World, words: str, is_value: Any) -> None:
    """A sentence that only contains a day is worked as what it is."""
    proposed = step("crm.deal.update", {"id": 481, "fields": {"CLOSEDATE": "2026-12-30"}})
    question = await opened(world, await asked(world, proposed, text="закрой сделку 481 к 30 декабря"))
    world.model.will(*([] if is_value else [reply(text="Хорошо.")]))
    await world.work(answer(question, words))
    assert len(world.events("ConfirmationRequested")) == (2 if is_value else 1)
    assert world.model.script == deque()


@pytest.mark.parametrize("words", ["1,3 млн", "900 тысяч", "1 500 000 руб.", "150000"])
async def test_a_value_stays_a_value(world: World, words: str) -> None:
    question = await opened(world, await asked(world))
    await world.work(answer(question, words))
    assert [card["status"] for card in cards_of(world.outbox())] == ["superseded", "requested"]


@pytest.mark.parametrize(
    ("words", "amount"),
    [
        ("пусть будет 500 тысяч", 500_000),
        ("лучше 450 000", 450_000),
        ("давай 300к", 300_000),
        ("нет, 600 000", 600_000),
        ("Нет. 600 000", 600_000),
        ("поставь 510 000 рублей", 510_000),
        ("измени на 520 000", 520_000),
        ("увеличь до 1,5 млн, пожалуйста", 1_500_000),
        ("make it 700 000 please", 700_000),
        ("на 10% больше", None),
        ("на 100 тысяч больше", None),
        ("сделай на 100 тысяч больше", None),
        ("подними на 100 000", None),
        ("прибавь 500", None),
    ],
)
async def test_words_around_a_value_are_not_part_of_it(world: World, words: str, amount: Any) -> None:
    """People say «нет, лучше 450 000»; an amount to add or a percentage is never taken for the new sum."""
    question = await opened(world, await asked(world))
    world.model.will(*([reply(text="Хорошо.")] if may_be_request(words) and amount is None else []))
    await world.work(answer(question, words))
    assert await approved(world) == ([] if amount is None else [{"OPPORTUNITY": amount}])


async def approved(world: World) -> list[Any]:
    """What is written when the cards that wait now are approved."""
    await world.work(*[press(card) for card in cards_of(world.outbox()) if card["status"] == "requested"])
    return [params["fields"] for _, params in world.portal.ledger]


@pytest.mark.parametrize("words", ["Вере", "пусть Вера", "нет, Вере", "отдай Вере", "на Веру, пожалуйста"])
async def test_a_person_is_read_among_such_words_too(world: World, words: str) -> None:
    question = await opened(world, await asked(world, OWNER, text="отдай сделку 481 Борису"))
    await world.work(answer(question, words))
    assert await approved(world) == [{"ASSIGNED_BY_ID": 6}]


@pytest.mark.parametrize("proposed", [None, TITLE])
@pytest.mark.parametrize(
    "words",
    ["не надо", "Не нужно.", "оставь как есть", "Передумала", "ничего не меняй", "пусть остаётся как есть", "never mind", "don't change"],
)
async def test_who_says_that_nothing_is_to_change_is_taken_at_their_word(world: World, words: str, proposed: Any) -> None:
    """The edit ends; neither a value nor a request is made of it, also where any text may be a value."""
    entry = await asked(world, *([] if proposed is None else [proposed]))
    await world.work(pressing("edit", entry["confirmation_id"]))
    if proposed is not None:
        await world.work(pressing("field", entry["confirmation_id"], "0"))
    await world.work(answer(world.outbox()[-1], words))
    assert len(world.events("ConfirmationRequested")) == 1
    assert len(world.events("EditClosed")) == 1


@pytest.mark.parametrize("proposed", [None, STAGE, OWNER])
async def test_no_to_a_question_without_such_a_value_ends_the_edit(world: World, proposed: Any) -> None:
    """«Нет» is a value of a yes/no field or of a text only."""
    question = await opened(world, await asked(world, *([] if proposed is None else [proposed]), text="сделка 481 для Бориса выиграна"))
    await world.work(answer(question, "Нет"))
    assert len(world.events("EditClosed")) == 1


@pytest.mark.parametrize("settled", ["decided", "cancelled"])
async def test_a_reply_to_the_prompt_of_a_settled_card_is_a_request(world: World, entry: dict[str, Any], settled: str) -> None:
    """Whatever it says: the card cannot change any more, and the person said something. Only a bare number is told that it came too late."""
    await opened(world, entry)
    session = await world.session(owner="reader")
    assert await is_answer(world, session, "1,3 млн")
    await session.close()
    await world.work(press(entry) if settled == "decided" else pressing("noedit", entry["confirmation_id"]))
    session = await world.session(owner="reader")
    assert not await is_answer(world, session, "1,3 млн")
    assert await is_answer(world, session, "1 300 000") is (settled == "decided")
    await session.close()


async def is_answer(world: World, session: Any, text: str) -> bool:
    """Whether a reply to the question is taken for a value."""
    row = message(text, reply_to=77)  # all messages of this world went out as number 77
    found = await recognize_answer(row, parse_input(row), session, world.store)
    return found is not None and found.kind == "edit_value"


@pytest.mark.parametrize(
    ("words", "is_value"),
    [
        ("Лютик и партнёры", True),
        ("Проверь счёт, пожалуйста", True),
        ("Когда будет оплата?", True),
        ("Пришли мне счёт до пятницы", True),
        ("Позвонить Иванову завтра", True),
        ("«Покажи мои сделки»", True),
        ("покажи мои сделки", False),
        ("сколько у меня сделок?", False),
        ("создай задачу позвонить Иванову", False),
        ("what are my deals today", False),
    ],
)
async def test_a_reply_to_the_prompt_of_a_text_is_a_request_only_if_it_clearly_is_one(world: World, words: str, is_value: Any) -> None:
    """A name or a comment may be any sentence; in quotes even a request is text."""
    entry = await asked(world, TITLE, text="переименуй сделку 481 в Лютик и поставь сумму 5")
    await world.work(pressing("edit", entry["confirmation_id"]))
    fields = [field["name"] for field in world.outbox()[-1].body["fields"]]
    await world.work(pressing("field", entry["confirmation_id"], str(fields.index("Название"))))
    world.outbox()
    session = await world.session(owner="reader")
    assert await is_answer(world, session, words) == is_value
    await session.close()


async def test_quotes_around_a_whole_text_are_not_part_of_it(world: World) -> None:
    entry = await asked(world, TITLE, text="переименуй сделку 481 в Лютик и поставь сумму 5")
    await world.work(pressing("edit", entry["confirmation_id"]))
    await world.work(pressing("field", entry["confirmation_id"], "1"))
    await world.work(answer(world.outbox()[-1], "«Покажи мои сделки»"))
    _, new = cards_of(world.outbox())
    await world.work(press(new))
    assert world.portal.ledger[0][1]["fields"]["TITLE"] == "Покажи мои сделки"


@pytest.mark.parametrize("text", LATER)
def test_requests_are_recognized_by_their_words(text: str) -> None:
    """No model is asked."""
    assert may_be_request(text)


@pytest.mark.parametrize(
    "text",
    [
        "мне нужен отчёт за неделю",
        "подскажи номер Ромашки",
        "не надо, отмени всё",
        "удалить сделку 482",
        "позвони Ивану",
        "ладно, забей",
        "I need a report",
        "never mind",
    ],
)
def test_an_unread_sentence_is_a_request_by_more_words(text: str) -> None:
    """What was asked for it is not; as a title or a comment it stays a value."""
    assert may_be_request(text)
    assert not is_clear_request(text)


@pytest.mark.parametrize("text", ["дорого", "1,3 млн", "завтра в 15:00", "Вера Белова", "Борису", "да", "нет", "в работе", "30 ноября", ""])
def test_values_are_not_taken_for_requests(text: str) -> None:
    """A value that cannot be read is told, and not worked as a request."""
    assert not may_be_request(text)
    assert not is_clear_request(text)
