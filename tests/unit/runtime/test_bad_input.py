"""Bad input is met with one clear sentence, and nothing of it is half-told."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.i18n.translate import Translator
from bot.rendering.cards import render_card
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from orchestrator.domain.card_view import CardView
from orchestrator.domain.outputs import Reply
from orchestrator.sessions.session import Session
from tests.unit.runtime.group_kit import ask_plan, read, show, statuses
from tests.unit.spine_kit import World, a_world, message, press, raise_sum, reply, step
from tests.unit.spine_portal import Portal, cut, deal, says, unreachable

RU = Translator("ru")


def told(world: World) -> str:
    """The last answer as the person reads it."""
    rows = [row for row in world.outbox() if row.kind == "reply"]
    return to_plain_text(render_reply(Reply.model_validate(rows[-1].body), RU))


def a_page(total: int, following: int | None) -> Any:
    rows = [{"ID": str(number), "TITLE": f"Сделка {number}", "OPPORTUNITY": "1", "CURRENCY_ID": "RUB"} for number in range(1, 51)]
    more = {} if following is None else {"next": following}
    return says(200, {"result": rows, "total": total, "time": {"operating": 0}, **more})


@pytest.mark.parametrize("fault", [[cut] * 9, [unreachable] * 9, [says(400, {"error": "E", "error_description": "No"})]])
async def test_a_list_that_breaks_off_says_how_many_of_how_many(world: World, session: Session, fault: list[Any]) -> None:
    """The third page does not come: the person hears 100 of 340, and reads no row, count or sum; the model reads none either."""
    world.portal.will("crm.deal.list", a_page(340, 50), a_page(340, 100), *fault)
    world.model.will(reply(step("crm.deal.list", {})), *[reply(text="[[list 1]]")] * 2)
    await world.turn(session, message("покажи мои сделки и сумму"))
    text = told(world)
    assert "прочитано 100 из 340" in text
    assert "Сделка 1" not in text
    assert "Всего" not in text
    observed = world.model.prompts[1][-1]["content"]
    assert "100 of 340 rows were read" in observed
    assert "Сделка 1" not in observed


async def test_a_list_that_comes_when_it_is_asked_again_is_whole(world: World, session: Session) -> None:
    """The model asks again, the portal gives it, and the trouble in between is not told."""
    world.portal.will("crm.deal.list", a_page(100, 50), *[unreachable] * 9)
    world.model.will(reply(step("crm.deal.list", {})), reply(step("crm.deal.list", {"order": {"ID": "ASC"}})), reply(text="[[list 1]]"))

    async def healthy(method: str, params: Any) -> None:
        if params.get("order"):
            world.portal.faults.clear()

    world.portal.watch = healthy
    await world.turn(session, message("покажи мои сделки"))
    text = told(world)
    assert "прочитано" not in text
    assert "Ромашка" in text


async def test_a_filter_on_a_field_that_is_not_there_reads_nothing(world: World) -> None:
    """The portal would leave the condition out and give all deals; the refusal names the fields like it."""
    world.portal.answer = _with_fields(world.portal)  # type: ignore[method-assign]
    session = await world.session()
    world.model.will(reply(step("crm.deal.list", {"filter": {">BUDJET": 5}})), reply(text="Не получилось."))
    await world.turn(session, message("покажи сделки с бюджетом больше 5"))
    assert "Искать по этому полю нельзя: такого у этих записей нет. Похожие: «Бюджет»" in told(world)
    assert not [params for method, params in world.portal.requests if method == "crm.deal.list"]
    assert "BUDGET" in world.model.prompts[1][-1]["content"]


def _with_fields(portal: Portal) -> Any:
    healthy = portal.answer

    def answer(method: str, params: dict[str, Any]) -> httpx.Response:
        if method != "crm.deal.fields":
            return healthy(method, params)
        titles = {
            "ID": "ID",
            "TITLE": "Название",
            "OPPORTUNITY": "Сумма",
            "BUDGET": "Бюджет",
            "STAGE_ID": "Стадия",
            "CATEGORY_ID": "Воронка",
        }
        titles |= {"ASSIGNED_BY_ID": "Ответственный", "CURRENCY_ID": "Валюта"}
        return httpx.Response(200, json={"result": {code: {"type": "string", "title": title} for code, title in titles.items()}})

    return answer


async def test_a_model_that_repeats_a_refused_step_is_not_asked_a_third_time(world: World, session: Session) -> None:
    """Six calls would be paid for nothing."""
    delete = step("crm.deal.delete", {"id": 481})
    world.model.will(reply(delete, text="Удаляю."), reply(delete, text="Удаляю."))
    await world.turn(session, message("удали сделку 481"))
    text = told(world)
    assert "Удаление выключено" in text
    assert "больше не пробую" in text
    assert "Удаляю" not in text
    assert len(world.model.prompts) == 2


async def _card_of_two(world: World) -> Any:
    cmd = {"b": "crm.deal.update?id=481&fields[OPPORTUNITY]=5", "c": "crm.deal.update?id=482&fields[OPPORTUNITY]=5"}
    world.model.will(reply(step("batch", {"cmd": cmd})))
    await world.work(message("поставь сделкам 481 и 482 сумму 5"))
    (card,) = world.events("ConfirmationRequested")
    world.outbox()
    return card.data


async def test_a_set_of_which_a_record_changed_is_shown_anew(world: World) -> None:
    """Nothing is sent; the old card says what changed, the new one shows what stands there now."""
    card = await _card_of_two(world)
    world.portal.records["deal", 482]["OPPORTUNITY"] = "70000.00"
    await world.work(press(card))
    assert world.portal.ledger == []
    texts = [to_plain_text(render_card(CardView.from_body(row.body), RU)) for row in world.outbox() if row.kind == "card"]
    assert any("↻ Заменено" in text and "70\xa0000" in text for text in texts), texts
    assert any("70\xa0000" in text and "ответ до" in text for text in texts), texts


async def test_a_set_of_which_a_record_is_gone_does_nothing_and_says_which(world: World) -> None:
    """The rest is not done without a word."""
    card = await _card_of_two(world)
    del world.portal.records["deal", 482]
    await world.work(press(card))
    assert world.portal.ledger == []
    rows = world.outbox()
    texts = [to_plain_text(render_card(CardView.from_body(row.body), RU)) for row in rows if row.kind == "card"]
    assert any("482" in text and "Не выполнено" in text for text in texts), texts


async def test_an_answer_to_a_question_that_was_overtaken_is_told_so(world: World, session: Session) -> None:
    """A new request closes the question; the old button changes nothing, asks no model, and says what to do."""
    world.model.will(reply(step("crm.deal.update", {"id": 481, "fields": {"ASSIGNED_BY_ID": "@user:Анна"}})), reply(text="Привет."))
    await world.turn(session, message("передай сделку 481 Анне"))
    question = session.state.question
    world.outbox()
    await world.turn(session, message("привет"))
    world.outbox()
    await world.turn(session, message("", answers=question.question_id, option=0, origin="choice"))
    assert told(world) == "Этот выбор уже не действует. Напишите запрос ещё раз."
    assert len(world.model.prompts) == 2


async def test_five_wishes_of_one_message_are_done_or_named(world: World, session: Session) -> None:
    """The limit comes after three: what was made has its line, what was proposed and refused its reason."""
    tasks = [step("tasks.task.add", {"fields": {"TITLE": f"Дело {number}"}}) for number in range(1, 4)]
    closed = step("crm.deal.delete", {"id": 481})
    foreign = raise_sum(deal=500)
    world.model.will(reply(*tasks[:2]), reply(tasks[2], closed, foreign), reply(closed, foreign, text="Готово."))
    await world.turn(session, message("поставь дело 1, поставь дело 2, поставь дело 3, удали 481 и подними 500"))
    text = told(world)
    for number in range(1, 4):
        assert f"Создана задача «Дело {number}»" in text
    assert "Не сделано: удаление сделки" in text
    assert "Не сделано: изменение сделки №500" in text


async def test_what_a_stopped_plan_left_is_named(tmp_path: Path) -> None:
    """By what it would do, and not only by how many there are."""
    async with a_world(tmp_path, policy={"halt_on_block": True}) as world:
        session = await world.session()
        tasks = [step("tasks.task.add", {"fields": {"TITLE": f"Дело {number}"}}) for number in (1, 2)]
        world.model.will(reply(raise_sum(), *tasks, step("crm.lead.list", {}), text="Меняю."))
        await world.turn(session, message("подними 481, поставь дела 1 и 2, покажи лиды"))
        text = told(world)
    assert "Остальные шаги: 3 (создание задачи «Дело 1»; создание задачи «Дело 2») — начну после решения по карточке" in text


async def test_of_twenty_steps_the_refused_third_is_named_and_the_others_wait(world: World, session: Session) -> None:
    """One sentence says which and why; the nineteen are asked about, and none of the twenty is called done."""
    numbers = range(601, 621)
    for number in numbers:
        world.portal.records["deal", number] = deal(number, f"Сделка {number}", "1000.00", owner=8 if number == 603 else 7)
    world.model.will(reply(*[raise_sum(2000, deal=number) for number in numbers], text="Поднимаю суммы двадцати сделок."))
    await world.turn(session, message("подними суммы двадцати сделок до 2000"))
    text = told(world)
    refused = "Не сделано: изменение сделки №603 (Сумма: 2\xa0000). Сделку №603 ведёт другой сотрудник, у вас нет к ней доступа"
    assert text == refused
    assert len(world.events("ConfirmationRequested")) == 19
    assert world.portal.ledger == []


async def test_rows_that_changed_while_their_card_waited_are_told_row_by_row(world: World) -> None:
    """The portal refuses one, one has another sum, one is gone, one went to a colleague: each line says so, and the last is done."""
    numbers = range(601, 606)
    for number in numbers:
        world.portal.records["deal", number] = deal(number, f"Сделка {number}", "1000.00", owner=7)
    plan = await ask_plan(world, *[raise_sum(2000, deal=number) for number in numbers])
    world.portal.will("crm.deal.update", says(400, {"error": "ERROR_CORE", "error_description": "no"}), holding='"id": 601')
    world.portal.records["deal", 602]["OPPORTUNITY"] = "1500.00"
    del world.portal.records["deal", 603]
    world.portal.records["deal", 604]["ASSIGNED_BY_ID"] = "8"
    await world.work(press(plan))
    assert [params["id"] for _, params in world.portal.written()] == [605]
    fresh = show(world)
    assert statuses(fresh) == ["refused", "requested", "refused", "refused", "executed"]
    text = read(fresh).replace("\xa0", " ")
    assert "Битрикс24 отказал" in text
    assert "Сумма: 1 500 ₽ → 2 000 ₽" in text
    assert "Пока карточка ждала: сумма изменилась: 1 000 → 1 500 ₽" in text
    assert "Не нашёл сделку №603" in text
    assert "Сделку №604 ведёт другой сотрудник" in text
    await world.work(press(fresh))
    assert [params["id"] for _, params in world.portal.written()] == [605, 602]
