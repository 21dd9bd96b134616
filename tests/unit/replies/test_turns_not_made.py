"""A turn that was cut short: of each change it proposed the person reads whether it was made, and if not, why; after a crash too."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.i18n.translate import Locale, Translator
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.outputs import Notice, Reply
from orchestrator.replies.turn_outcome import MAX_NAMED
from orchestrator.runtime.commands import run_command
from state.journal.freeze_switch import SwitchOperator
from state.journal.store import OutboxRow, StaleEpoch
from tests.unit.spine_kit import ANNA, CHAT, NOW, VERA, World, a_world, command, message, raise_sum, reply, step, until
from tests.unit.spine_portal import Held, Portal, lost, says, unreachable

TASK = step("tasks.task.add", {"fields": {"TITLE": "Позвонить"}})
SECOND = step("tasks.task.add", {"fields": {"TITLE": "B2"}})
ORDERS = "создай задачу" + ", создай задачу" * (MAX_NAMED + 3)
NO = says(400, {"error": "ERROR_CORE", "error_description": "Нет прав"})
CASES: dict[str, tuple[dict[str, Any], Callable[[World], object], str]] = {
    "the portal says no": (
        TASK,
        lambda world: world.portal.will("tasks.task.add", NO),
        "Не сделано: создание задачи «Позвонить». Битрикс24 отказал: Нет прав",
    ),
    "it was never sent": (
        TASK,
        lambda world: world.portal.will("tasks.task.add", *[unreachable] * 9),
        "Не сделано: создание задачи «Позвонить». Не удалось связаться с Битрикс24: ничего не отправлено. Попробуйте ещё раз чуть позже",
    ),
    "the gate refuses, with arguments": (
        raise_sum(deal=500),
        lambda _: None,
        "Не сделано: изменение сделки №500 (Сумма: 1\u00a0200\u00a0000). Сделку №500 ведёт другой сотрудник, у вас нет к ней доступа",
    ),
    "it stands so already": (
        raise_sum(1_000_000),
        lambda _: None,
        "Не сделано: изменение сделки №481 (Сумма: 1\u00a0000\u00a0000). Уже так: эти значения в записи и стоят, ничего не отправлено",
    ),
    "nobody knows such a method": (
        step("crm.deal.obliterate", {"id": 481}),
        lambda _: None,
        "Не сделано: действие в Битрикс24. Такого в Битрикс24 делать не умею. Скажите другими словами, что должно получиться",
    ),
    "a name fits nothing": (
        step("tasks.task.add", {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": "@user:Зоя"}}),
        lambda _: None,
        "Не сделано: создание задачи «Позвонить» (Исполнитель: Зоя). Не нашёл сотрудника «Зоя».",
    ),
}


CASES |= {
    "people and stages have names": (
        step("crm.deal.update", {"id": 500, "fields": {"ASSIGNED_BY_ID": 8, "STAGE_ID": "WON"}}),
        lambda _: None,
        (
            "Не сделано: изменение сделки №500 (Ответственный: Борис Седов; Стадия: Успех). Сделку №500 ведёт другой сотрудник, "
            "у вас нет к ней доступа"
        ),
    ),
    "a record that was to be made has none": (
        step("crm.deal.add", {"fields": {"TITLE": "Лютик", "ASSIGNED_BY_ID": "@user:Зоя", "COMPANY_ID": "@created:1"}}),
        lambda _: None,
        "Не сделано: создание сделки «Лютик» (Ответственный: Зоя). Не нашёл сотрудника «Зоя».",
    ),
}


class Died(BaseException):
    """The process is gone."""


def said(row: OutboxRow, locale: Locale = "ru") -> list[str]:
    """The sentences of an answer."""
    return to_plain_text(render_reply(Reply.model_validate(row.body), Translator(locale))).replace("⚠️ ", "").split("\n\n")


def answer(world: World) -> OutboxRow:
    """The answer to the request."""
    return next(row for row in world.outbox() if row.body.get("turn_id"))


def codes(row: OutboxRow) -> list[str]:
    return [notice["code"] for notice in row.body["notices"]]


async def died_and_stopped(world: World, *steps: Mapping[str, Any], at: str = "") -> OutboxRow:
    """What is answered where the process died at that request or at the next question to the model, and /stop was said before it came back."""

    def dies(payload: Any) -> str:
        raise Died(str(payload)[:0])

    async def dies_there(*_: object) -> Any:
        raise Died

    session = await world.session()
    world.model.will(reply(*steps), *([] if at else [dies]))
    if at:
        world.portal.will(at, dies_there)
    with pytest.raises(Died):
        await world.turn(session, message(ORDERS))
    await session.flush()
    world.sql.expire_leases()
    world.orchestrator.tools.running.clear()
    await world.put(replace(command("stop"), received_at=NOW + timedelta(seconds=1)))
    await world.work()
    return answer(world)


async def without_a_model(world: World, *steps: Mapping[str, Any]) -> OutboxRow:
    """What is answered where the model is gone at its next question."""
    world.model.will(reply(*steps), ModelClientError("unreachable"))
    await world.turn(await world.session(), message(ORDERS))
    return answer(world)


async def stopped_at(world: World, method: str, *steps: Mapping[str, Any], before: Sequence[str] = ()) -> OutboxRow:
    """What is answered where /stop comes while the first such request is on its way."""
    held = Held()
    world.portal.will(method, held)
    world.model.will(*before, reply(*steps))
    async with world.working():
        await world.orchestrator.receive([message(ORDERS)])
        await held.arrived.wait()
        await world.orchestrator.receive([command("stop")])
        await until(lambda: (CHAT, "express") not in world.sql.list_ready_sessions())
        held.release.set()
        await world.idle()
    return answer(world)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("end", [without_a_model, died_and_stopped], ids=["degraded", "died and stopped"])
async def test_a_change_that_was_not_made_is_named_with_its_reason(case: str, end: Any, world: World) -> None:
    """Only that the request was cut short was said: whether the change was made, the person had to look up."""
    what, fault, sentence = CASES[case]
    fault(world)
    row = await end(world, what)
    assert said(row)[1:] == [sentence]
    assert codes(row) == ["stopped" if end is died_and_stopped else "degraded", "not-made"]
    assert world.portal.ledger == []


@pytest.mark.parametrize("end", [without_a_model, died_and_stopped], ids=["degraded", "died and stopped"])
async def test_a_frozen_change_is_named_too(end: Any, world: World) -> None:
    await world.gate.deps.switch.freeze(SwitchOperator(key="tg:1001", name="Админ", via="telegram", at=NOW), "учение")
    row = await end(world, TASK)
    assert said(row)[1].startswith("Не сделано: создание задачи «Позвонить». ⛔ Запись в Битрикс24 остановлена")
    assert "Админ" in said(row)[1]


@pytest.mark.parametrize("end", [without_a_model, died_and_stopped], ids=["degraded", "died and stopped"])
async def test_what_was_made_is_told_apart_from_what_was_not(end: Any, world: World) -> None:
    """Two calls of one method: the method alone would say of both that they were made."""
    world.portal.will("tasks.task.add", NO, holding="B2")
    row = await end(world, TASK, SECOND)
    address = "https://portal.example/company/personal/user/7/tasks/task/view/9001/"
    assert said(row)[1:] == [
        f"Создана задача «Позвонить» №9001 ({address}) — Исполнитель: вы",
        "Это уже сделано, повторять не нужно.",
        "Не сделано: создание задачи «B2». Битрикс24 отказал: Нет прав",
    ]


async def test_a_lost_answer_of_a_process_that_died_is_not_forgotten(world: World) -> None:
    """It was told only where the same process came to the end of the turn."""
    world.portal.will("tasks.task.add", lost)
    row = await died_and_stopped(world, TASK, step("crm.deal.list"), at="crm.deal.list")
    assert codes(row) == ["stopped", "outcome-unknown"]


async def test_what_was_not_begun_is_named_once_and_a_long_rest_is_counted(world: World) -> None:
    """In one sentence with one reason; the same change twice is said once."""
    others = [step("tasks.task.add", {"fields": {"TITLE": f"Дело {number}"}}) for number in range(1, MAX_NAMED + 3)]
    row = await stopped_at(world, "tasks.task.add", TASK, *others, others[0])
    assert codes(row) == ["stopped", "made", "done-already", "not-made"]
    named = "; ".join(f"создание задачи «Дело {number}»" for number in range(1, MAX_NAMED + 1))
    assert said(row)[3] == f"Не сделано: {named}; и ещё 2 изменения. Запрос прервался раньше, до этого дело не дошло"
    assert said(row, "en")[3].endswith("; and 2 more changes. The request broke off before I got to it")


async def test_reads_are_no_changes(world: World) -> None:
    """Nobody is told that a list was not made."""
    world.portal.will("crm.deal.list", NO)
    row = await without_a_model(
        world, step("crm.deal.list"), step("crm.deal.get", {"id": 500}), step("crm.deal.list", {"filter": {"@x": "@user:Зоя"}})
    )
    assert codes(row) == ["degraded"]


async def test_what_was_proposed_again_is_told_as_it_stands_then(world: World) -> None:
    """A first try that failed is no change that was not made."""

    def again(_: Any) -> str:
        world.portal.faults.clear()
        return reply(TASK)

    world.portal.will("tasks.task.add", *[unreachable] * 9)
    world.model.will(reply(TASK), again, ModelClientError("unreachable"))
    await world.turn(await world.session(), message("создай задачу"))
    assert codes(answer(world)) == ["degraded-partly", "made", "done-already"]


async def test_what_waits_on_its_card_is_not_called_left_out(world: World) -> None:
    """Its card says how it stands, and goes out."""
    row = await died_and_stopped(world, raise_sum(), step("crm.deal.list"), at="crm.deal.list")
    assert codes(row) == ["stopped"]
    assert len(row.body["confirmations"]) == 1


async def test_an_end_without_words_names_the_change_that_a_reason_belongs_to(world: World) -> None:
    """Behind an unknown outcome the model is not asked, so nobody said which of two changes had not been made."""
    world.portal.will("tasks.task.add", lost, holding="B2")
    world.portal.will("tasks.task.add", *[unreachable] * 9)
    world.model.will(reply(TASK, SECOND))
    await world.turn(await world.session(), message(ORDERS))
    row = answer(world)
    assert codes(row) == ["not-made", "outcome-unknown"]
    assert said(row)[0].startswith("Не сделано: создание задачи «Позвонить». Не удалось связаться")


async def test_words_that_were_written_before_do_not_hide_which_change_was_refused(world: World) -> None:
    """A card waits for the one, a bare reason stood beside it for the other."""
    world.model.will(reply(raise_sum(deal=500), raise_sum(), text="Меняю обе."))
    await world.turn(await world.session(), message("подними суммы 500 и 481 до 1 200 000"))
    row = answer(world)
    assert codes(row) == ["not-made"]
    assert said(row)[0].startswith("Не сделано: изменение сделки №500")


async def test_in_shadow_the_reason_is_the_mode(tmp_path: Path) -> None:
    """A plan is no promise: nothing of it was to be sent anyway."""
    async with a_world(tmp_path, mode="shadow") as world:
        row = await stopped_at(world, "user.get", step("tasks.task.add", {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 8}}), TASK)
    assert codes(row) == ["stopped", "not-made"]
    assert said(row)[1].endswith("Сейчас теневой режим: ничего не отправлено.")


@pytest.mark.parametrize("actor", [ANNA, VERA], ids=["by who asked", "by a lead"])
async def test_a_stop_that_was_worked_before_the_process_died_holds(actor: Actor, world: World) -> None:
    """It said that it was stopping, and after the crash it did the rest all the same. What waits behind and the clock play no part."""

    async def stopped_and_lost(portal: Portal, method: str, params: dict[str, Any]) -> Any:
        await world.put(command("stop", actor=actor))
        taken = await world.store.take_inbox(CHAT, "express")
        assert taken is not None
        await run_command(taken, session, world.tools)
        world.sql.expire_leases()  # from here on nothing that this process does is stored
        return portal.answer(method, params)

    session = await world.session()
    world.portal.will("crm.deal.list", stopped_and_lost)
    world.model.will(reply(TASK, step("crm.deal.list"), SECOND))
    with pytest.raises(StaleEpoch):
        await world.turn(session, message(f"{ORDERS} и покажи сделки"))
    world.orchestrator.tools.running.clear()
    await world.work()
    assert codes(answer(world)) == ["stopped", "made", "done-already", "not-made"]
    world.model.will(reply(text="Вот."))
    await world.work(message("а теперь покажи сделки"))
    assert said(answer(world)) == ["Вот."]


def test_a_sentence_within_a_sentence_is_in_its_language() -> None:
    """Times of the inner one are those of the reader; what an older version stored as plain text is said as it was."""
    inner = Notice(code="portal-wait", args={"at": "2026-11-21T12:00:00Z"}).model_dump(mode="json")
    calls = [{"code": "call-named", "args": {"method": "m", "verb": "add", "entity": "deal", "parts": "title", "title": "A"}}]
    notice = Notice(code="not-made", args={"calls": calls, "why": inner})
    assert Translator("en").translate_notice(notice).startswith("Not done: creating the deal “A”. Bitrix24 asks to wait until")
    assert Translator("ru").translate("done-before", calls="tasks.task.add") == "До этого выполнено: tasks.task.add. Повторять не нужно."
