"""What was made without a card is told by the program, with its values: the model's «Готово» tells nobody what to look at."""

from typing import Any

import pytest

from bot.i18n.translate import Locale, Translator
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from bot.telegram.view.keyboards import build_reply_keyboard
from orchestrator.domain.outputs import Reply
from orchestrator.replies import made_changes
from orchestrator.replies.made_changes import MAX_VALUE
from orchestrator.replies.turn_outcome import MAX_NAMED
from state.journal.store import OutboxRow
from tests.unit.spine_kit import World, message, raise_sum, reply, step
from tests.unit.spine_portal import PortalError, says

TASK = step("tasks.task.add", {"fields": {"TITLE": "Позвонить"}})
DEAL = step("crm.deal.add", {"fields": {"TITLE": "Ромашка-2"}})
COMMENT = step("crm.timeline.comment.add", {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "Звонил"}})
CONTACT = step("crm.contact.add", {"fields": {"NAME": "Пётр", "LAST_NAME": "Смирнов"}})
NOTE = step("crm.deal.update", {"id": 481, "fields": {"COMMENTS": "звонил"}})
ORDERS = "создай дело, " * (MAX_NAMED + 1) + "добавь к сделке 481 комментарий: Звонил"


async def answered(world: World, *steps: Any) -> OutboxRow:
    """The answer to a turn in which the model says «Готово.» and no more."""
    session = await world.session()
    world.model.will(reply(*steps), reply(text="Готово."))
    await world.turn(session, message(ORDERS))
    return next(row for row in world.outbox() if row.body.get("turn_id"))


async def told(world: World, *steps: Any, locale: Locale = "ru") -> str:
    """What the person reads of it."""
    row = await answered(world, *steps)
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
async def test_code_says_what_was_done_in_place_of_a_bare_done(
    world: World, wish: dict[str, Any], ru: str, en: str, card: str, locale: Locale
) -> None:
    """In both languages, with the address of the record's card, no warning sign, and no «Готово» before it."""
    said = await told(world, wish, locale=locale)
    assert said.startswith(ru if locale == "ru" else en)
    assert card in said
    assert "⚠️" not in said


CALL = step("tasks.task.add", {"fields": {"TITLE": "Позвонить", "DEADLINE": "2026-11-23T15:00:00+03:00", "DESCRIPTION": "о счёте"}})


@pytest.mark.parametrize(
    ("wish", "values"),
    [
        (CALL, " — Крайний срок: пн, 23 ноября, 15:00; Исполнитель: вы; Описание: о счёте"),
        (COMMENT, " — «Звонил»"),
        (NOTE, " — Комментарий: звонил"),
        (
            step("crm.contact.add", {"fields": {"NAME": "Пётр", "PHONE": [{"VALUE": "+79990000001"}], "POST": "директор"}}),
            " — Ответственный: вы; Телефон: +7 999 000-00-01; Должность: директор",
        ),
        (
            step("crm.lead.add", {"fields": {"TITLE": "Заявка", "NAME": "Иван", "EMAIL": [{"VALUE": "a@b.example"}]}}),
            " — Ответственный: вы; Почта: a@b.example; Имя: Иван",
        ),
        (DEAL, " — Ответственный: вы"),
    ],
    ids=["task", "comment", "first comment of a deal", "phone", "e-mail", "only the person"],
)
async def test_the_line_says_the_values_that_were_written(world: World, wish: dict[str, Any], values: str) -> None:
    """Each value as cards show it, the reader as «вы»; the title and the record that is named already are not repeated."""
    assert (await told(world, wish)).endswith(values)


async def test_the_line_says_what_stood_there_before(world: World) -> None:
    world.portal.records["deal", 481]["COMMENTS"] = "ждём"
    more = step("crm.deal.update", {"id": 481, "fields": {"COMMENTS": "ждём, звонил"}})
    assert (await told(world, more)).endswith(" — Комментарий: ждём → ждём, звонил")


@pytest.mark.parametrize(
    ("titled", "locale", "said"),
    [
        ({"title": "Звонок?"}, "ru", "Создано дело «Звонок?» №1510 к сделке «Ромашка» — Срок: вт, 24 ноября, 12:00; Исполнитель: вы"),
        ({}, "ru", "Создано дело №1510 к сделке «Ромашка» — Срок: вт, 24 ноября, 12:00; Исполнитель: вы"),
        ({}, "en", "Activity created: №1510 to the deal «Ромашка» — "),
    ],
)
async def test_what_is_attached_to_a_record_is_not_called_by_its_name(world: World, titled: Any, locale: Locale, said: str) -> None:
    """«Создано дело «Ромашка»» named the deal; the activity has a title of its own, or none."""
    world.portal.will("crm.activity.todo.add", says(200, {"result": {"id": 1510}}))
    wish = step("crm.activity.todo.add", {"ownerTypeId": 2, "ownerId": 481, "deadline": "2026-11-24T12:00:00+03:00", **titled})
    assert (await told(world, wish, locale=locale)).startswith(said)


async def test_a_long_text_is_cut_in_the_line(world: World) -> None:
    """The line links to the record, where all of it stands."""
    long = step("crm.timeline.comment.add", {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "слово " * 500}})
    assert len(await told(world, long)) < MAX_VALUE + 200


async def test_a_note_behind_a_history_is_told_without_the_history(world: World) -> None:
    """How long the old text was, and how it begins; what was added; the button that takes it back."""
    history = "История переговоров: " + "созвонились, договорились, перенесли на весну, " * 16 + "ждут смету до конца года."
    world.portal.records["deal", 481] = {**(world.portal.records["deal", 481] or {}), "COMMENTS": history}
    row = await answered(world, step("crm.deal.update", {"id": 481, "fields": {"COMMENTS": f"{history}\nзвонил"}}))
    said = to_plain_text(render_reply(Reply.model_validate(row.body), Translator("ru")))
    assert "Комментарий: было 798 знаков: «История переговоров: созвонились,… ждут смету до конца года.» → + звонил" in said
    keyboard = build_reply_keyboard(Reply.model_validate(row.body), Translator("ru"))
    assert [button.text for line in keyboard.inline_keyboard for button in line] == ["↩ Отменить"]


async def test_a_batch_is_named_command_by_command(world: World) -> None:
    """«Пакет команд (3)» tells nobody what to look at."""
    commands = {
        "a": "crm.timeline.comment.add?fields[ENTITY_ID]=481&fields[ENTITY_TYPE]=deal&fields[COMMENT]=Раз",
        "b": "crm.deal.list?filter[CLOSED]=N",
        "c": "tasks.task.add?fields[TITLE]=Счёт&fields[RESPONSIBLE_ID]=7",
        "d": "crm.deal.update?id=481&fields[COMMENTS]=звонил",
    }
    lines = (await told(world, step("batch", {"cmd": commands}))).split("\n")
    address = "(https://portal.example/crm/deal/details/481/)"
    assert lines == [
        f"Добавлен комментарий к сделке «Ромашка» №481 {address} — «Раз»",
        "Создана задача «Счёт» — Исполнитель: вы",
        f"Выполнено: изменение сделки «Ромашка» №481 {address} — Комментарий: звонил",
    ]


async def test_a_command_of_a_batch_that_failed_is_not_told_as_done(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The portal's reason stands beside it, and a command after it says that it was not reached."""
    commands = {
        "a": "crm.deal.update?id=481&fields[COMMENTS]=звонил",
        "b": "tasks.task.add?fields[RESPONSIBLE_ID]=7&fields[TITLE]=Счёт",
        "c": "tasks.task.add?fields[RESPONSIBLE_ID]=7&fields[TITLE]=Договор",
    }
    healthy = world.portal.perform

    def perform(method: str, params: dict[str, Any]) -> Any:
        if method == "tasks.task.add" and "Счёт" in str(params):
            raise PortalError("ERROR_CORE", "Нет прав")
        return healthy(method, params)

    monkeypatch.setattr(world.portal, "perform", perform)
    said = await told(world, step("batch", {"halt": 1, "cmd": commands}))
    assert "изменение сделки «Ромашка»" in said
    assert "⚠️ Не выполнено: создание задачи «Счёт» — " in said
    assert "⚠️ Не выполнено: создание задачи «Договор» — до этого не дошло" in said
    assert "Создана задача" not in said


async def test_a_name_that_cannot_be_shown_does_not_hide_the_change(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The label that was stored with the call takes the place of the line."""

    async def broken(*_: Any, **__: Any) -> Any:
        msg = "no"
        raise ValueError(msg)

    monkeypatch.setattr(made_changes, "preview_for", broken)
    assert (await told(world, NOTE)) == ("Выполнено: изменение сделки «Ромашка» (Комментарий: — → звонил)")


async def test_each_undo_button_names_its_change(world: World) -> None:
    row = await answered(world, TASK, NOTE)
    keyboard = build_reply_keyboard(Reply.model_validate(row.body), Translator("ru"))
    assert [button.text for line in keyboard.inline_keyboard for button in line] == [
        "↩ Отменить: «Позвонить» №9001",
        "↩ Отменить: «Ромашка»",
    ]


async def test_a_single_change_needs_no_name_on_its_button(world: World) -> None:
    row = await answered(world, NOTE)
    keyboard = build_reply_keyboard(Reply.model_validate(row.body), Translator("ru"))
    assert [button.text for line in keyboard.inline_keyboard for button in line] == ["↩ Отменить"]


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
