"""A command of a batch that failed is told by its name, whatever the model says, also when all of them failed."""

import re
from typing import Any

import pytest

from bot.i18n.translate import Translator
from bot.rendering.cards import render_card
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from orchestrator.domain.card_view import CardView
from orchestrator.domain.outputs import Reply
from orchestrator.sessions.session import Session
from tests.unit.spine_kit import World, message, press, reply, step
from tests.unit.spine_portal import says

RU = Translator("ru")
LATIN = re.compile(r"(?<![\w/.:])(?!https?|UTC)[A-Za-z_]{4,}(?![\w/])")
ERROR = {"error": "E_NEW", "error_description": "Something failed"}


def told_of(world: World) -> str:
    """The answer as the person reads it, without its addresses."""
    row = next(row for row in world.outbox() if row.kind == "reply")
    return re.sub(r"\(https?://\S+\)", "", to_plain_text(render_reply(Reply.model_validate(row.body), RU)))


def foreign_words(text: str) -> list[str]:
    """Words that are no Russian ones, beside the code for the administrator, which may be letters alone."""
    return LATIN.findall(re.sub(r"(?<=: )[0-9a-f]{8}\b", "", text))


def batch_says(results: Any, errors: Any) -> Any:
    return says(200, {"result": {"result": results, "result_error": errors, "result_total": [], "result_next": []}})


TASKS = {
    "b": "tasks.task.add?fields[TITLE]=Один&fields[RESPONSIBLE_ID]=7",
    "c": "tasks.task.add?fields[TITLE]=Два&fields[RESPONSIBLE_ID]=7",
}


async def test_one_failed_write_of_two_is_named(world: World, session: Session) -> None:
    world.portal.will("batch", batch_says({"b": {"task": {"id": 9001}}}, {"c": ERROR}), holding="tasks.task.add")
    world.model.will(reply(step("batch", {"cmd": TASKS})), reply(text="Готово."))
    await world.turn(session, message("поставь задачу Один и поставь задачу Два"))
    text = told_of(world)
    assert "Создана задача «Один»" in text
    assert "Не выполнено: создание задачи «Два»" in text
    assert not foreign_words(text), text


async def test_when_all_fail_each_is_named(world: World, session: Session) -> None:
    """The batch as a whole is refused; the model's «Готово» does not stand alone."""
    world.portal.will("batch", batch_says([], {"b": ERROR, "c": ERROR}), holding="tasks.task.add")
    world.model.will(reply(step("batch", {"cmd": TASKS})), reply(text="Готово."))
    await world.turn(session, message("поставь задачу Один и поставь задачу Два"))
    text = told_of(world)
    assert "Не выполнено: создание задачи «Один»" in text
    assert "Не выполнено: создание задачи «Два»" in text
    assert "Ни одна из 2 команд не прошла" in text
    assert not foreign_words(text), text


@pytest.mark.parametrize("results", [{"x": {"ID": "481", "TITLE": "Ромашка"}}, []])
async def test_a_read_that_failed_is_named(world: World, session: Session, results: Any) -> None:
    """One of two, or both."""
    errors = {key: ERROR for key in ("x", "y") if key not in results}
    world.portal.will("batch", batch_says(results, errors), holding='"x"')
    world.model.will(
        reply(step("batch", {"cmd": {"x": "crm.deal.get?id=481", "y": "crm.deal.list?filter[ID]=482"}})), reply(text="Готово.")
    )
    await world.turn(session, message("покажи сделки 481 и 482"))
    text = told_of(world)
    assert "Не выполнено: поиск сделок" in text
    assert ("Не выполнено: чтение сделки №481" in text) is (results == [])
    assert not foreign_words(text), text


async def test_a_read_that_was_made_good_is_not_told(world: World, session: Session) -> None:
    """The model reads the record by itself after the batch had failed to."""
    world.portal.will("batch", batch_says({"x": {"ID": "481", "TITLE": "Ромашка"}}, {"y": ERROR}), holding='"x"')
    reads = step("batch", {"cmd": {"x": "crm.deal.get?id=481", "y": "crm.deal.get?id=482"}})
    world.model.will(reply(reads), reply(step("crm.deal.get", {"id": 482})), reply(text="Вот обе."))
    await world.turn(session, message("покажи сделки 481 и 482"))
    assert "Не выполнено" not in told_of(world)


GONE = {"error": "NOT_FOUND", "error_description": "Not found"}


@pytest.mark.parametrize(
    ("error", "text", "told"),
    [
        (GONE, "Сделки №482 нет, №481 — «Ромашка».", False),
        (GONE, "Вот обе.", True),
        (ERROR, "Сделки №482 нет, №481 — «Ромашка».", True),
    ],
)
async def test_a_read_of_which_the_answer_says_that_there_is_none_is_not_told_again(
    world: World, session: Session, error: Any, text: str, *, told: bool
) -> None:
    """Another error is, whatever the answer makes of it."""
    world.portal.will("batch", batch_says({"x": {"ID": "481", "TITLE": "Ромашка"}}, {"y": error}), holding='"x"')
    world.model.will(reply(step("batch", {"cmd": {"x": "crm.deal.get?id=481", "y": "crm.deal.get?id=482"}})), reply(text=text))
    await world.turn(session, message("покажи сделки 481 и 482"))
    assert ("Не выполнено: чтение сделки №482" in told_of(world)) is told


async def test_a_card_of_which_all_failed_names_each(world: World) -> None:
    """Approved, and none of it took effect."""
    cmd = {"b": "crm.deal.update?id=481&fields[OPPORTUNITY]=5", "c": "crm.deal.update?id=482&fields[OPPORTUNITY]=5"}
    world.model.will(reply(step("batch", {"cmd": cmd})))
    await world.work(message("поставь сделкам 481 и 482 сумму 5"))
    (card,) = world.events("ConfirmationRequested")
    world.outbox()
    world.portal.will("batch", batch_says([], {"b": ERROR, "c": ERROR}), holding="OPPORTUNITY")
    await world.work(press(card.data))
    bodies = [row.body for row in world.outbox() if row.kind == "card"]
    text = re.sub(r"\(https?://\S+\)", "", to_plain_text(render_card(CardView.from_body(bodies[-1]), RU)))
    assert "Не выполнено: Ни одна из 2 команд не прошла" in text
    assert "«Ромашка»: это не прошло" in text
    assert "«Вектор»: это не прошло" in text
    assert not foreign_words(text), text
