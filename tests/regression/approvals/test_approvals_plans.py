"""Plans of which some steps wait: exactly what was approved runs, exactly once, whatever stands beside it (table, rows 1 to 12, 18)."""

from datetime import timedelta

import pytest

from tests.regression.approvals.approvals_kit import (
    ASK,
    SECOND_TASK,
    TASK,
    UPDATE,
    House,
    card_of,
    cards_of,
    dying,
    sent,
    status_of,
    steps_shown,
    worked,
)
from tests.unit.spine_kit import command, message, press, raise_sum, reply, step

READ = step("crm.deal.get", {"id": 481})
ADD = step("crm.deal.add", {"fields": {"TITLE": "Новая", "OPPORTUNITY": 5}})


@pytest.mark.req("G2", "S004-A2")
async def test_a_turn_resumed_from_its_top_again_and_again_writes_once(house: House) -> None:
    """Dead before each of its commits in turn, again and again: reads may repeat, the free write is made once and one card asks."""
    row = message(ASK)
    places: list[str] = []
    for kept in range(1, 6):
        async with house.started() as world:
            world.model.will(reply(READ, TASK, raise_sum()))
            with dying(world, kept=kept) as died:
                await worked(world, row)
            places += died
            world.model.script.clear()
    assert len(places) >= 2
    async with house.started() as world:
        assert len(house.portal.written("tasks.task.add")) == 1
        assert len(world.events("ConfirmationRequested")) == 1
        assert world.types().count("TurnFinished") == 1
        [entry] = [dict(row.body) for row in world.outbox() if row.kind == "card"]
        await world.work(press(entry))
        assert len(house.portal.written(UPDATE)) == 1


@pytest.mark.req("G2", "S004-31")
async def test_of_two_equal_methods_exactly_the_approved_one_runs(house: House) -> None:
    """Two updates of two deals in one plan: the second card's press runs the second call, and the first still waits."""
    async with house.started() as world:
        first, second = await cards_of(world, raise_sum(11, 481), raise_sum(22, 482), text="суммы сделок 481 и 482")
        await world.work(press(second))
        assert [params["id"] for _, params in house.portal.ledger] == [482]
        assert sent(house) == [(UPDATE, 22)]
        assert (status_of(world, first), status_of(world, second)) == ("requested", "succeeded")
        await world.work(press(first))
        assert sent(house) == [(UPDATE, 22), (UPDATE, 11)]


@pytest.mark.req("S004-31")
async def test_a_decided_card_never_asks_again(house: House) -> None:
    """One of three approved: whatever comes later, no row brings its buttons back."""
    async with house.started() as world:
        first, *_ = await cards_of(world, raise_sum(1, 481), raise_sum(2, 482), ADD, text="суммы сделок 481, 482 и новая сделка")
        await world.work(press(first))
        rows = world.outbox()
    async with house.started() as world:
        world.model.will(reply(text="Да?"))
        await world.work(command("pending"), message("что дальше?"), press(first))
        rows += world.outbox()
    cards = steps_shown(rows)
    shown = [one["status"] for one in cards if one["confirmation_id"] == first["confirmation_id"]]
    assert shown
    assert "requested" not in shown
    waiting = {one["confirmation_id"] for one in cards if one["status"] == "requested"}
    assert len(waiting) == 2


@pytest.mark.req("G2", "S004-30")
async def test_the_free_neighbours_of_a_waiting_step_run_once(house: House) -> None:
    """The middle of three waits: the others run once, and neither the press nor a restart runs them again."""
    async with house.started() as world:
        entry = await card_of(world, TASK, raise_sum(), SECOND_TASK)
        assert [params["fields"]["TITLE"] for _, params in house.portal.written("tasks.task.add")] == ["Позвонить", "Написать"]
    async with house.started() as world:
        await world.work(press(entry))
    async with house.started() as world:
        await world.work(press(entry))
    assert [method for method, _ in house.portal.ledger] == ["tasks.task.add", "tasks.task.add", UPDATE]


async def test_a_new_request_while_a_card_waits_loses_neither(house: House) -> None:
    """Typed while the card waits: it is worked, the card stays, and both come to their end."""
    async with house.started() as world:
        entry = await card_of(world)
        world.model.will(reply(TASK), reply(text="Создана."))
        await world.work(message("и поставь задачу"))
        assert status_of(world, entry) == "requested"
        await world.work(press(entry))
        assert [method for method, _ in house.portal.ledger] == ["tasks.task.add", UPDATE]


@pytest.mark.req("G2", "S004-31")
async def test_other_values_are_another_call_with_another_card(house: House) -> None:
    """The same wish with another sum: another fingerprint, another nonce; a press counts for the sum that its own card shows."""
    async with house.started() as world:
        old = await card_of(world, raise_sum(1_100_000))
        new = await card_of(world, raise_sum(1_300_000), text="лучше 1 300 000, сделка 481")
        asked = world.events("ConfirmationRequested")
        assert len({event.data["fingerprint"] for event in asked}) == len({event.data["nonce"] for event in asked}) == 2
        await world.work(press(old, nonce=new["nonce"]), press(new, nonce=old["nonce"]))
        assert house.portal.ledger == []
        await world.work(press(new))
        assert sent(house) == [(UPDATE, 1_300_000)]


@pytest.mark.req("S004-12", "S004-32")
async def test_denying_one_step_takes_nothing_from_the_others(house: House) -> None:
    """A free one and two that wait, one of them denied: the free one ran once, the other still runs after its press."""
    async with house.started() as world:
        first, second = await cards_of(
            world, TASK, raise_sum(1, 481), raise_sum(2, 482), text="поставь задачу, и подними сумму 481, и подними 482"
        )
        await world.work(press(first, approve=False))
        await world.work(press(second))
    assert [(method, params.get("id")) for method, params in house.portal.ledger] == [("tasks.task.add", None), (UPDATE, 482)]


@pytest.mark.req("G2", "S004-12", "S004-A11")
async def test_an_approval_is_no_standing_approval(house: House) -> None:
    """The very same add again after one was approved and made: it asks again, a denial holds, and the next one tells of the denial."""
    async with house.started() as world:
        first = await card_of(world, ADD, text="новая сделка на 5")
        await world.work(press(first))
        world.outbox()
        second = await card_of(world, ADD, text="ещё такую же на 5")
        assert second["confirmation_id"] != first["confirmation_id"]
        await world.work(press(second, approve=False), press(first), press(second))
        assert sent(house) == [("crm.deal.add", 5)]
        world.outbox()
        third = await card_of(world, ADD, text="и ещё на 5")
        assert "gate-denied-before" in {reason["code"] for reason in third["reasons"]}
        assert sent(house) == [("crm.deal.add", 5)]


@pytest.mark.req("G2", "S004-A2")
async def test_a_mixed_plan_survives_a_restart(house: House) -> None:
    """A read, a free write and two cards, the process gone after each: every part comes to its end once."""
    async with house.started() as world:
        first, second = await cards_of(
            world, READ, TASK, raise_sum(1, 481), raise_sum(2, 482), text="поставь задачу, и подними сумму 481, и подними 482"
        )
    house.passed = timedelta(hours=1)
    async with house.started() as world:
        await world.work(press(first))
        assert status_of(world, first) == "succeeded"
    async with house.started() as world:
        world.model.will(reply(text="Готово."))
        await world.work(press(second), message("ну что?"))
        assert "reply" in world.codes()
    assert sent(house) == [("tasks.task.add", ""), (UPDATE, 1), (UPDATE, 2)]
