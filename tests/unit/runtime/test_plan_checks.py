"""What depends on a step of the plan is checked and shown before anybody is asked: no refusal that could be known follows an approval."""

from typing import Any
from unittest.mock import patch

import pytest

from tests.unit.runtime.group_kit import ask_plan, read, show, statuses
from tests.unit.runtime.kill_kit import work_killed
from tests.unit.spine_kit import World, message, press, reply, step
from tests.unit.spine_portal import Portal

COMPANY = {**step("crm.company.add", {"fields": {"TITLE": "Гранит"}}), "requires_confirmation": True}
CONTACT = {**step("crm.contact.add", {"fields": {"NAME": "Пётр", "COMPANY_ID": "@created:1"}}), "requires_confirmation": True}
NAMELESS = {**step("crm.contact.add", {"fields": {"POST": "директор"}}), "requires_confirmation": True}


def deal(**more: Any) -> dict[str, Any]:
    """A deal with the company and the contact that the plan makes."""
    return step("crm.deal.add", {"fields": {"TITLE": "Гранит", "COMPANY_ID": "@created:1", "CONTACT_ID": "@created:2", **more}})


def written(world: World) -> list[str]:
    return [method for method, _ in world.portal.written()]


WRONG = {
    "a field that may not be set": deal(ORIGIN_ID="7"),
    "a method that is not open": step("crm.company.delete", {"id": "@created:1"}),
    "a method that there is not": step("crm.company.frobnicate", {"id": "@created:1"}),
    "a value that means nothing": deal(STAGE_ID="ВЧЕРА"),
    "a parameter that there is not": step("tasks.task.add", {"fields": {"TITLE": "x", "UF_CRM_TASK": ["@created:1"]}, "colour": "red"}),
    "a record of another kind": step("crm.deal.update", {"id": "@created:1", "fields": {"TITLE": "x"}}),
    "a deal of somebody else": step(
        "tasks.task.add", {"fields": {"TITLE": "x", "RESPONSIBLE_ID": 7, "UF_CRM_TASK": ["@created:1", "D_500"]}}
    ),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
async def test_what_cannot_be_done_is_refused_before_anybody_is_asked(world: World, wrong: dict[str, Any]) -> None:
    """The company waits with it, the model hears of both, and the right plan then has one card."""
    world.model.will(reply(COMPANY, CONTACT, wrong, text="Делаю."), reply(COMPANY, CONTACT, deal(), text="Прошу подтвердить."))
    await world.work(message("заведи компанию Гранит, контакт и сделку"))
    asked = world.events("ConfirmationRequested")
    assert [event.data["slot"].split("/", 1)[1] for event in asked] == ["2/1"]
    assert written(world) == []
    seen = world.model.prompts[1][-1]["content"]
    assert seen.count('"status":"refused"') + seen.count('"status": "refused"') >= 2, seen
    assert "Не создано" not in "".join(read(row.body, row.kind) for row in world.outbox() if row.kind == "reply")


async def test_nobody_is_asked_about_the_first_of_a_chain_that_breaks(world: World) -> None:
    """The task needs the contact, and that the company: without the task none of them is what was asked for."""
    wrong = step("tasks.task.add", {"fields": {"TITLE": "x", "UF_CRM_TASK": ["@created:2"]}, "colour": "red"})
    world.model.will(reply(COMPANY, CONTACT, wrong, text="Делаю."), reply(text="Не вышло."))
    await world.work(message("заведи компанию Гранит, контакт и задачу"))
    assert not world.events("ConfirmationRequested")
    assert written(world) == []


async def test_the_person_is_told_what_was_not_begun(world: World) -> None:
    """The model gives up: both the step and the record it needed are named as not done, without a reference."""
    alone = step("crm.deal.add", {"fields": {"TITLE": "Гранит", "COMPANY_ID": "@created:1", "ORIGIN_ID": "7"}})
    world.model.will(reply(COMPANY, alone, text="Делаю."), reply(text="Не вышло."))
    await world.work(message("заведи компанию Гранит и сделку"))
    told = "\n".join(read(row.body, row.kind) for row in world.outbox() if row.kind == "reply")
    assert "Не создано: «Гранит» — шаг, которому нужна эта запись, выполнить нельзя" in told
    assert "Метку источника ставит только сам бот" in told
    assert "@" not in told
    assert written(world) == []
    assert not world.events("ConfirmationRequested")


LEAD = step("crm.lead.add", {"fields": {"TITLE": "Гранит"}})


def task(responsible: int, *records: str) -> dict[str, Any]:
    return step("tasks.task.add", {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": responsible, "UF_CRM_TASK": list(records)}})


async def test_a_free_record_is_not_made_for_a_step_that_is_refused(world: World) -> None:
    """Failed before: the lead was there when the model heard that its task is for nobody who works there."""
    world.model.will(reply(LEAD, task(10, "@created:1"), text="Делаю."), reply(LEAD, task(7, "@created:1"), text="Готово."))
    world.model.will(reply(text="Сделано."))
    await world.work(message("создай лид Гранит и поставь по нему задачу уволенному"))
    seen = world.model.prompts[1][-1]["content"]
    assert seen.count('"status": "refused"') == 2, seen
    assert "needs this record is refused" in seen
    assert written(world) == ["crm.lead.add", "tasks.task.add"]


async def test_the_model_may_make_the_record_alone(world: World) -> None:
    """It says so again, knowing that nothing can follow."""
    world.model.will(reply(LEAD, task(10, "@created:1"), text="Делаю."), reply(LEAD, text="Только лид."), reply(text="Лид создан."))
    await world.work(message("создай лид Гранит и поставь по нему задачу уволенному"))
    assert written(world) == ["crm.lead.add"]


async def test_only_what_the_refused_step_needs_waits_with_it(world: World) -> None:
    """The task for a deal that is there already has nothing to do with it."""
    world.model.will(reply(LEAD, task(10, "@created:1"), task(7, "D_481"), text="Делаю."), reply(text="Не вышло."))
    await world.work(message("создай лид Гранит, по нему задачу уволенному, и поставь мне задачу по сделке 481"))
    assert written(world) == ["tasks.task.add"]


async def test_a_step_that_needs_two_records_stands_on_the_card_of_the_first(world: World) -> None:
    """Both by their names, once, and it runs when both are there."""
    plan = await ask_plan(world, COMPANY, {**CONTACT, "params": {"fields": {"NAME": "Пётр"}}}, deal())
    text = read(plan)
    assert text.count("Затем: ") == 1
    assert "Компания: «Гранит»" in text
    assert "Контакт: «Пётр»" in text
    assert "999" not in text
    await world.work(press(plan))
    assert written(world) == ["crm.company.add", "crm.contact.add", "crm.deal.add"]
    assert world.portal.written("crm.deal.add")[0][1]["fields"]["CONTACT_ID"] == 9002
    assert statuses(show(world)) == ["executed"] * 2


async def test_a_record_without_a_name_is_called_a_new_record(world: World) -> None:
    """Nobody reads a number that is none."""
    task = step("tasks.task.add", {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 7, "UF_CRM_TASK": ["@created:1"]}})
    world.model.will(reply(NAMELESS, task, text="Прошу подтвердить."))
    await world.work(message("контакт и задача"))
    text = read(show(world))
    assert "новая запись" in text
    assert "@" not in text


async def test_a_record_made_for_a_colleague_is_not_lost_to_the_plan(world: World) -> None:
    """Anna makes a deal for Boris with a task on it: the deal never was hers, and the card showed both."""
    made = step("crm.deal.add", {"fields": {"TITLE": "Гранит", "ASSIGNED_BY_ID": 8}})
    task = step("tasks.task.add", {"fields": {"TITLE": "Принять", "RESPONSIBLE_ID": 7, "UF_CRM_TASK": ["@created:1"]}})
    world.model.will(reply(made, task, text="Прошу подтвердить."))
    await world.work(message("заведи сделку Гранит на Бориса и поставь мне по ней задачу"))
    await world.work(press(show(world)))
    assert written(world) == ["crm.deal.add", "tasks.task.add"]


PETER = {**CONTACT, "params": {"fields": {"NAME": "Пётр"}}}


async def test_what_stood_on_the_card_needs_no_second_one_for_two_records(world: World) -> None:
    """Nothing but the missing order would make the deal ask, and the person has read and approved it with both."""
    plan = await ask_plan(world, COMPANY, PETER, deal())
    await world.work(press(plan))
    assert len(world.events("ConfirmationRequested")) == 2
    assert written(world)[-1] == "crm.deal.add"


async def test_one_of_two_records_denied_leaves_the_step_undone(world: World) -> None:
    """The deal showed both: without the contact it is not made, and the chat says so."""
    plan = await ask_plan(world, COMPANY, PETER, deal())
    await world.work(press(plan["members"][1], approve=False))
    await world.work(press(show(world)))
    assert written(world) == ["crm.company.add"]
    assert "created-none" in world.codes()


async def test_a_record_renamed_before_the_step_makes_it_ask(world: World) -> None:
    """The contact is somebody else's now: what the card showed is not what would be written."""
    note = step("crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "company", "ENTITY_ID": "@created:1", "COMMENT": "Первый звонок"}})
    plan = await ask_plan(world, COMPANY, note)
    made = Portal.perform

    def rename(portal: Portal, method: str, params: dict[str, Any]) -> Any:
        number = made(portal, method, params)
        if method == "crm.company.add":
            portal.records["company", number]["TITLE"] = "Чужая"
        return number

    with patch.object(Portal, "perform", rename):
        await world.work(press(plan))
    assert written(world) == ["crm.company.add"]
    assert len(world.events("ConfirmationRequested")) == 2


@pytest.mark.parametrize("kept", range(5))
async def test_a_refused_plan_killed_anywhere_is_mended_alike(world: World, kept: int) -> None:
    """What was refused before anybody was asked is in the journal: the company is not asked about by the process that takes over."""
    world.model.will(reply(COMPANY, deal(ORIGIN_ID="7", CONTACT_ID="@created:1"), text="Делаю."), *[reply(text="Не вышло.")] * 2)
    await work_killed(world, message("заведи компанию Гранит и сделку"), kept=kept)
    world.model.script.clear()
    assert written(world) == []
    assert not world.events("ConfirmationRequested")
