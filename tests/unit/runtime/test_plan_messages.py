"""What reaches people waits behind a step of its plan that did not run, and says why: nobody is told of what is not so."""

from typing import Any
from unittest.mock import patch

import pytest

from tests.unit.features.undo.undo_kit import undo
from tests.unit.gate.gate_kit import call
from tests.unit.runtime.group_kit import ask_plan, read, show, statuses
from tests.unit.runtime.kill_kit import work_killed
from tests.unit.spine_kit import World, command, message, press, raise_sum, reply, step
from tests.unit.spine_portal import Portal, PortalError, lost, says

TELL = step("im.message.add", {"DIALOG_ID": 8, "MESSAGE": "Сумма Ромашки теперь 1 100 000"})
NO = says(400, {"error": "ERROR_CORE", "error_description": "no"})
COMMITS = 6


@pytest.fixture(autouse=True)
def messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The portal takes messages."""
    perform = Portal.perform

    def take(portal: Portal, method: str, params: dict[str, Any]) -> Any:
        return portal._made(method, params) if method == "im.message.add" else perform(portal, method, params)

    monkeypatch.setattr(Portal, "perform", take)


def written(world: World) -> list[str]:
    return [method for method, _ in world.portal.written()]


async def test_a_message_behind_a_step_that_ran_is_sent_by_the_same_press(world: World) -> None:
    """The usual plan: close and tell."""
    await world.work(press(await ask_plan(world, raise_sum(1_100_000), TELL)))
    assert written(world) == ["crm.deal.update", "im.message.add"]


@pytest.mark.parametrize(
    ("fault", "told"),
    [(NO, "Шаг перед этим не выполнен: изменение сделки"), (lost, "Неизвестно, выполнен ли шаг перед этим: изменение сделки")],
)
async def test_a_message_behind_a_failed_step_waits_and_says_why(world: World, fault: Any, told: str) -> None:
    """Refused by the portal, or of unknown outcome: another press, on the card that says so, sends it."""
    plan = await ask_plan(world, raise_sum(1_100_000), TELL)
    world.portal.will("crm.deal.update", fault)
    await world.work(press(plan))
    assert "im.message.add" not in written(world)
    if statuses(fresh := show(world))[1:] == ["requested"] and told not in read(fresh):  # an unknown outcome stops the plan before it
        await world.work(press(fresh))
        fresh = show(world)
    assert told in read(fresh)
    await world.work(press(fresh))
    assert written(world).count("im.message.add") == 1


async def test_a_message_behind_a_denied_step_waits(world: World) -> None:
    """«Убрать 1», then «Выполнить»: the message does not refer to the step, and may tell of it all the same."""
    plan = await ask_plan(world, raise_sum(1_100_000), TELL)
    await world.work(press(plan["members"][0], approve=False))
    await world.work(press(show(world)["members"][1]))
    assert written(world) == []
    assert "Шаг перед этим отклонён: изменение сделки" in read(show(world))


async def test_a_message_behind_a_step_that_was_undone_waits(world: World) -> None:
    """The sum is what it was before: the message would tell the colleague of another."""
    plan = await ask_plan(world, raise_sum(1_100_000), TELL)
    await world.work(press(plan["members"][0]))
    first, tell = (event.data for event in world.events("ConfirmationRequested"))
    await world.work(undo(first["effect_id"]))
    await world.work(press({**world.events("ConfirmationRequested")[-1].data, "status": "requested"}))
    world.outbox()
    await world.work(press({**tell, "status": "requested"}))
    assert written(world) == ["crm.deal.update"] * 2
    fresh = show(world)
    assert "Шаг перед этим отменён: изменение сделки" in read(fresh)
    await world.work(press(fresh))
    assert written(world)[2:] == ["im.message.add"]


async def test_a_message_behind_a_step_that_nobody_decided_waits(world: World) -> None:
    """Single cards may be pressed in any order: the message first is asked about anew."""
    plan = await ask_plan(world, raise_sum(1_100_000), TELL)
    await world.work(press(plan["members"][1]))
    assert written(world) == []
    assert "Шаг перед этим ещё не выполнен: изменение сделки" in read(show(world))


async def test_a_message_before_the_other_steps_waits_for_none_of_them(world: World) -> None:
    """«Напиши Борису и подними сумму»: it speaks of nothing that comes after it."""
    await world.work(press(await ask_plan(world, TELL, raise_sum(1_100_000))))
    assert written(world) == ["im.message.add", "crm.deal.update"]


async def test_a_message_behind_a_batch_of_which_a_part_failed_waits(world: World) -> None:
    """One of two deals has the new sum: that is not what the message tells."""
    cmd = {f"d{deal}": f"crm.deal.update?id={deal}&fields[OPPORTUNITY]=1100000" for deal in (481, 482)}
    plan = await ask_plan(world, step("batch", {"cmd": cmd}), TELL)
    perform = Portal.perform

    def fail(portal: Portal, method: str, params: dict[str, Any]) -> Any:
        if method == "crm.deal.update" and int(params["id"]) == 482:
            raise PortalError("ERROR_CORE", "no")
        return perform(portal, method, params)

    with patch.object(Portal, "perform", fail):
        await world.work(press(plan))
    assert "im.message.add" not in written(world)
    assert "Шаг перед этим выполнен не полностью" in read(show(world))


async def test_a_message_behind_a_step_that_had_no_card_says_so_at_once(world: World) -> None:
    """The deal is somebody else's: the model's message about it is asked about with that reason."""
    world.model.will(reply(raise_sum(1, deal=500), TELL, text="Прошу подтвердить."))
    await world.work(message("подними сумму чужой сделки и напиши Борису"))
    assert "Шаг перед этим не выполнен: изменение сделки" in read(show(world))


async def test_a_message_behind_a_card_of_an_earlier_request_says_so(world: World) -> None:
    """The same sum waits on an older card: the message does not tell of it as done."""
    await ask_plan(world, raise_sum(1_100_000))
    fresh = await ask_plan(world, raise_sum(1_100_000), TELL)
    assert "Шаг перед этим ещё не выполнен: изменение сделки" in read(fresh)


async def test_a_withdrawal_before_a_message_holds_nothing_up(world: World) -> None:
    """The model takes its own older message back and writes another: nothing has failed."""
    await ask_plan(world, TELL)
    other = step("im.message.add", {"DIALOG_ID": 8, "MESSAGE": "Сумма Ромашки не меняется"})
    card = await ask_plan(world, {**TELL, "confirmation_decision": "deny"}, other)
    assert "Шаг перед этим" not in read(card)
    await world.work(press(card))
    assert [params["MESSAGE"].rpartition(": ")[2] for _, params in world.portal.written()] == ["Сумма Ромашки не меняется"]


async def test_a_step_with_nothing_left_to_do_holds_nothing_up(world: World) -> None:
    """The deal has the sum already: what the message says is so."""
    plan = await ask_plan(world, raise_sum(1_100_000), TELL)
    world.portal.records["deal", 481]["OPPORTUNITY"] = "1100000.00"
    await world.work(press(plan))
    assert written(world) == ["im.message.add"]


async def test_what_reaches_nobody_does_not_wait(world: World) -> None:
    """A task behind a refused sum is set, as before."""
    task = {**step("tasks.task.add", {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 8}})}
    plan = await ask_plan(world, raise_sum(1_100_000), task)
    world.portal.will("crm.deal.update", NO)
    await world.work(press(plan))
    assert written(world) == ["tasks.task.add"]


@pytest.mark.parametrize("kept", range(COMMITS + 1))
async def test_a_message_killed_anywhere_is_never_sent_unasked(world: World, kept: int) -> None:
    """The process dies behind a refused step: the message waits after the restart, too."""
    plan = await ask_plan(world, raise_sum(1_100_000), TELL)
    world.portal.faults.extend(("crm.deal.update", "", NO) for _ in range(3))
    await work_killed(world, press(plan), kept=kept)
    await world.work(command("pending"))
    assert written(world) == []


def test_a_batch_stops_before_it_tells_of_what_failed() -> None:
    """The portal runs the commands: it is told to halt where one speaks of those before it, and only there."""
    update = "crm.deal.update?id=481&fields[STAGE_ID]=WON"
    tell = "im.message.add?DIALOG_ID=8&MESSAGE=x"
    assert [call("batch", {"cmd": cmd}).halt for cmd in ([update, tell], [tell, update], [tell, tell], [update, update])] == [
        True,
        False,
        False,
        False,
    ]
