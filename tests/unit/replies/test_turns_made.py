"""What was made without a card is named and linked by the program: the model's «Готово» tells nobody what to look at."""

from typing import Any

import pytest

from bot.i18n.translate import Locale, Translator
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from orchestrator.domain.outputs import Reply
from orchestrator.replies.turn_outcome import MAX_NAMED
from tests.unit.spine_kit import World, message, raise_sum, reply, step

TASK = step("tasks.task.add", {"fields": {"TITLE": "Позвонить"}})
DEAL = step("crm.deal.add", {"fields": {"TITLE": "Ромашка-2"}})
COMMENT = step("crm.timeline.comment.add", {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "Звонил"}})
CONTACT = step("crm.contact.add", {"fields": {"NAME": "Пётр", "LAST_NAME": "Смирнов"}})


async def told(world: World, *steps: Any, locale: Locale = "ru") -> str:
    """What the person reads when the model says «Готово.» and no more."""
    session = await world.session()
    world.model.will(reply(*steps), reply(text="Готово."))
    await world.turn(session, message("создай дело, или добавь к сделке 481 комментарий: Звонил"))
    row = next(row for row in world.outbox() if row.body.get("turn_id"))
    return to_plain_text(render_reply(Reply.model_validate(row.body), Translator(locale)))


@pytest.mark.parametrize(
    ("wish", "ru", "en", "card"),
    [
        (DEAL, "Создана сделка «Ромашка-2» №", "Deal created: «Ромашка-2» №", "/crm/deal/details/"),
        (TASK, "Создана задача «Позвонить» №", "Task created: «Позвонить» №", "/tasks/task/view/"),
        (CONTACT, "Создан контакт «Пётр Смирнов» №", "Contact created: «Пётр Смирнов» №", "/crm/contact/details/"),
        (COMMENT, "Добавлен комментарий к сделке «Ромашка» №481", "Comment added to the deal «Ромашка» №481", "/crm/deal/details/481/"),
    ],
    ids=["deal", "task", "contact", "comment"],
)
@pytest.mark.parametrize("locale", ["ru", "en"])
async def test_a_bare_done_is_followed_by_what_was_done(
    world: World, wish: dict[str, Any], ru: str, en: str, card: str, locale: Locale
) -> None:
    """In both languages, with the address of the record's card, and no warning sign."""
    said = await told(world, wish, locale=locale)
    assert said.startswith(f"Готово.\n\n{ru if locale == 'ru' else en}")
    assert card in said
    assert "⚠️" not in said


async def test_each_change_has_its_line_and_many_are_counted(world: World) -> None:
    """A plan of many steps does not fill the screen."""
    wishes = [step("tasks.task.add", {"fields": {"TITLE": f"Дело {number}"}}) for number in range(MAX_NAMED + 2)]
    said = await told(world, *wishes)
    assert said.count("Создана задача") == MAX_NAMED
    assert "и ещё 2 изменения" in said


async def test_what_waits_on_a_card_and_what_is_read_have_no_line(world: World) -> None:
    """A card tells of itself, a list is no change."""
    session = await world.session()
    world.model.will(reply(raise_sum(), step("crm.deal.list", {"filter": {"CLOSED": "N"}}), text="Прошу подтвердить."))
    await world.turn(session, message("подними сумму сделки 481 до 1 200 000"))
    row = next(row for row in world.outbox() if row.body.get("turn_id"))
    said = to_plain_text(render_reply(Reply.model_validate(row.body), Translator("ru")))
    assert "Выполнено" not in said
    assert "Создан" not in said
