"""Rights are judged as the card of a plan showed them: a record that a step of the plan gives away is not lost to its other steps."""

from typing import Any

import pytest

from tests.unit.features.undo.undo_kit import undo
from tests.unit.runtime.group_kit import ask_plan, read, show, statuses
from tests.unit.runtime.kill_kit import work_killed
from tests.unit.spine_kit import World, command, message, press, raise_sum, reply, step
from tests.unit.spine_portal import says

NOTE = {"fields": {"ENTITY_TYPE": "deal", "ENTITY_ID": 481, "COMMENT": "Передана"}}
BATCH = {"cmd": {f"d{deal}": f"crm.deal.update?id={deal}&fields[ASSIGNED_BY_ID]=8" for deal in (481, 482)}}
REFUSED = "СДЕЛКУ №481 ВЕДЁТ ДРУГОЙ СОТРУДНИК"
COMMITS = 7


def give(deal: int = 481, to: int = 8) -> dict[str, Any]:
    """A deal goes to a colleague, so that Anna may not touch it any more."""
    return step("crm.deal.update", {"id": deal, "fields": {"ASSIGNED_BY_ID": to}})


def task(*deals: int) -> dict[str, Any]:
    """A task for the colleague on those deals."""
    ties = [f"D_{deal}" for deal in deals]
    return step("tasks.task.add", {"fields": {"TITLE": "Принять дела", "RESPONSIBLE_ID": 8, "UF_CRM_TASK": ties}})


def asking(one: dict[str, Any]) -> dict[str, Any]:
    """The step waits for a person whatever it is."""
    return {**one, "requires_confirmation": True}


def written(world: World) -> list[str]:
    return [method for method, _ in world.portal.written()]


async def test_a_task_on_each_deal_that_the_plan_hands_over_is_set(world: World) -> None:
    """«Передай Борису и поставь по каждой задачу» is one card, one press, and all of it is done."""
    plan = await ask_plan(world, give(481), give(482), task(481), task(482))
    await world.work(press(plan))
    assert statuses(show(world)) == ["executed"] * 4
    assert written(world) == ["crm.deal.update"] * 2 + ["tasks.task.add"] * 2


@pytest.mark.parametrize("late", [asking(raise_sum(1_100_000)), asking(step("crm.timeline.comment.add", NOTE)), asking(task(481, 482))])
async def test_what_stands_behind_the_hand_over_is_done_whatever_it_is(world: World, late: dict[str, Any]) -> None:
    """A sum, a note, a task on both deals, after both went over in one batch."""
    plan = await ask_plan(world, step("batch", BATCH), late)
    await world.work(press(plan))
    assert statuses(show(world)) == ["executed"] * 2


async def test_steps_decided_one_by_one_are_judged_alike(world: World) -> None:
    """A client that shows single cards approves the hand-over first and the rest later."""
    plan = await ask_plan(world, give(), asking(task(481)))
    for card in plan["members"]:
        await world.work(press(card))
    assert written(world) == ["crm.deal.update", "tasks.task.add"]


async def test_a_step_that_waits_for_a_record_of_the_plan_is_judged_alike(world: World) -> None:
    """It runs in the turn that goes on after the cards: the deal belongs to the colleague by then."""
    lead = asking(step("crm.lead.add", {"fields": {"TITLE": "Заявка"}}))
    both = step("tasks.task.add", {"fields": {"TITLE": "Принять", "RESPONSIBLE_ID": 7, "UF_CRM_TASK": ["@created:2", "D_481"]}})
    plan = await ask_plan(world, give(), lead, both)
    await world.work(press(plan))
    assert written(world)[:2] == ["crm.deal.update", "crm.lead.add"]
    assert REFUSED not in "".join(read(row.body, row.kind).upper() for row in world.outbox() if row.kind != "toast")
    waiting = [event.data for event in world.events("ConfirmationRequested")][2:]
    for card in waiting:
        await world.work(press({**card, "status": "requested"}))
    assert written(world)[2:] == ["tasks.task.add"]


@pytest.mark.parametrize("kept", range(COMMITS + 1))
async def test_a_plan_killed_anywhere_is_judged_alike_afterwards(world: World, kept: int) -> None:
    """The journal knows who gave the deal away: what ran is not forgotten with the process."""
    plan = await ask_plan(world, give(), task(481))
    await work_killed(world, press(plan), kept=kept)
    session = await world.session()
    waits = any(card.is_waiting for card in session.state.cards.values())
    await session.close()
    if waits:
        await world.work(command("pending"))
        await world.work(press(show(world)))
    assert written(world) == ["crm.deal.update", "tasks.task.add"]


@pytest.mark.parametrize("owner", ["8", "9"])
async def test_a_deal_that_others_took_away_is_lost(world: World, owner: str) -> None:
    """The hand-over failed or was left out, and somebody else gave the deal to a colleague: the very one, or another."""
    plan = await ask_plan(world, give(), task(481))
    world.portal.will("crm.deal.update", says(400, {"error": "ERROR_CORE", "error_description": "no"}))
    await world.work(press(plan["members"][0]))
    world.portal.records["deal", 481]["ASSIGNED_BY_ID"] = owner
    await world.work(press(show(world)["members"][1]))
    assert written(world) == []
    assert statuses(show(world)) == ["refused", "refused"]


async def test_a_deal_that_went_on_to_a_third_person_is_lost(world: World) -> None:
    """The plan gave it to Boris and he gave it away: that is another loss than the one on the card."""
    plan = await ask_plan(world, give(), task(481))
    await world.work(press(plan["members"][0]))
    world.portal.records["deal", 481]["ASSIGNED_BY_ID"] = "9"
    await world.work(press(show(world)["members"][1]))
    assert written(world) == ["crm.deal.update"]
    assert statuses(show(world)) == ["executed", "refused"]


async def test_a_deal_given_away_by_another_plan_is_lost(world: World) -> None:
    """Two requests are two plans: the card of the first was drawn while the deal was Anna's, and is judged anew."""
    plan = await ask_plan(world, asking(task(481)), asking(task(482)))
    await world.work(press(await ask_plan(world, give())))
    await world.work(press(plan))
    assert written(world) == ["crm.deal.update", "tasks.task.add"]
    assert [params["fields"]["UF_CRM_TASK"] for method, params in world.portal.written() if method == "tasks.task.add"] == [["D_482"]]


async def test_no_later_answer_touches_what_was_given_away(world: World) -> None:
    """The turn goes on after its cards, and the deal is the colleague's then, as the card said."""
    world.model.will_go_on(reply(raise_sum(1_100_000)))
    plan = await ask_plan(world, give(), task(482))
    world.model.will(reply(text="Сделку ведёт Борис."))
    await world.work(press(plan))
    assert [row.data["code"] for row in world.events("StepRefused")] == ["gate-not-yours"]
    world.model.will(reply(raise_sum(1_100_000)), reply(text="Сделку ведёт Борис."))
    await world.work(message("подними сумму 481 до 1 100 000"))
    assert written(world) == ["crm.deal.update", "tasks.task.add"]


async def test_nothing_of_another_person_becomes_touchable(world: World) -> None:
    """A deal that never was Anna's is refused before any card, whatever the plan would do with it."""
    world.model.will(reply(give(500), give(481), text="Одну нельзя."))
    await world.work(message("передай 481 и 500 Борису"))
    assert [row.data["code"] for row in world.events("StepRefused")] == ["gate-not-yours"]
    await world.work(press({**world.events("ConfirmationRequested")[-1].data, "status": "requested"}))
    assert [params["id"] for _, params in world.portal.written()] == [481]


async def test_taking_a_step_back_needs_the_present_right(world: World) -> None:
    """The sum of a deal that the same plan gave away is put back by nobody but who may touch it now."""
    plan = await ask_plan(world, raise_sum(1_100_000), give(), task(481))
    await world.work(press(plan))
    effects = [event.data["effect_id"] for event in world.events("ConfirmationRequested")]
    world.outbox()
    await world.work(undo(effects[0]))
    assert "undo-no-lead" in world.codes()
    assert written(world) == ["crm.deal.update", "crm.deal.update", "tasks.task.add"]
    assert len(world.events("ConfirmationRequested")) == 3
