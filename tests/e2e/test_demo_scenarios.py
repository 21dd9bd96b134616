"""The scenarios of the demo: offered from the first minute, played as the tour says, and cancelled before another scene."""

from pathlib import Path

import pytest

from tests.e2e.demo_kit import Demo, running_demo
from tests.e2e.e2e_people import Person, Shown

pytestmark = pytest.mark.long  # processes of its own

LEAD, DEAL = 101, 481


async def test_the_two_scenes_of_the_tour_end_in_the_record(tmp_path: Path) -> None:
    """A lead is qualified by its manager; a large discount is decided by the lead, and the manager reads what came of it."""
    async with running_demo(tmp_path) as demo:
        boris, anna = demo.person(1007), demo.person(1006)
        offered = await demo.ask(boris, "/run", "Квалификация лида")
        card = await ask_about_the_lead(demo, boris)
        await demo.approve(boris, card, "Выполнить")
        told = await demo.told(boris, card.number, "Записал ответы в лид")
        lead = (await demo.portal.get(f"/sandbox/records/lead/{LEAD}")).json()

        question = await demo.ask(boris, "/run discount_approval", "Для какой сделки скидка?")
        percent = await demo.ask(boris, str(DEAL), "Какая скидка")
        await boris.press(percent.number, percent.data("15 %"))
        reason = await demo.told(boris, percent.number, "Почему даём скидку?")
        await boris.say("Постоянный клиент")
        copy = await demo.told(anna, 0, "120 000 ₽ → 102 000 ₽")
        await demo.approve(anna, copy, "Выполнить")
        await demo.told(boris, reason.number, "новая сумма сделки 102 000")
        deal = await demo.deal(DEAL)

    assert "Согласование скидки" in offered.text
    assert (lead["STATUS_ID"], float(lead["OPPORTUNITY"])) == ("PROCESSED", 450_000)
    assert told.number < question.number
    assert deal is not None
    assert float(deal["OPPORTUNITY"]) == 102_000


async def test_another_scene_and_a_new_beginning_leave_no_scenario_waiting(tmp_path: Path) -> None:
    """What is written next is a request again; after «start over» both scenarios are offered as before."""
    async with running_demo(tmp_path) as demo:
        boris = demo.person(1007)
        await demo.ask(boris, "/run lead_qualification", "Какой лид квалифицируем?")
        await demo.post("/demo/prepare", {"scene": "s", "person": 1007, "deals": [DEAL], "reason": "Сцена началась заново"})
        await demo.ask(boris, "покажи сделку Ромашка", "120 000 ₽")
        await demo.post("/demo/restart")
        await demo.ask(boris, "/run", "Согласование скидки")


async def ask_about_the_lead(demo: Demo, boris: Person) -> Shown:
    """Answer what the scenario asks about the lead, and return the card."""
    await demo.ask(boris, "/run lead_qualification", "Какой лид квалифицируем?")
    start = await demo.ask(boris, str(LEAD), "Начнём?")
    await boris.press(start.number, start.data("Да"))
    await demo.told(boris, start.number, "Что нужно клиенту?")
    await demo.ask(boris, "Насосы для котельной", "Какой бюджет")
    when = await demo.ask(boris, "450 000", "Когда клиенту это нужно?")
    await boris.press(when.number, when.data("В этом месяце"))
    who = await demo.told(boris, when.number, "Кто принимает решение?")
    await boris.press(who.number, who.data("Мой собеседник"))
    return await demo.told(boris, who.number, "Сумма: 0 ₽ → 450 000 ₽")
