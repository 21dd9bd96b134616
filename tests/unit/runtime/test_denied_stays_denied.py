"""What a person denied is not offered again in its turn, however the model insists: the turn rests for its cards and then goes on."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from orchestrator.reports.rehearsal.recorded_plans import read_stream_plans
from tests.unit.features.cards.cards_kit import answer, asked, cards_of, opened
from tests.unit.runtime.group_kit import ask_plan, show
from tests.unit.spine_kit import World, effect, message, press, raise_sum, reply, step

GIVES_UP = reply(text="Хорошо, оставляю.")
COPIES = {
    "the same": raise_sum(),
    "with a confirmation of the model": {**raise_sum(), "confirmed": True},
    "another comment": {**raise_sum(), "comment": "клиент очень просил"},
    "another spelling of the sum": raise_sum("1200000.00"),
    "another order of the keys": step("crm.deal.update", {"fields": {"OPPORTUNITY": 1_200_000}, "id": "481"}),
    "the twin of the method": step("crm.item.update", {"entityTypeId": 2, "id": 481, "fields": {"opportunity": 1_200_000}}),
    "a batch of one": step("batch", {"cmd": {"a": "crm.deal.update?id=481&fields[OPPORTUNITY]=1200000"}}),
    "a batch with another command": step(
        "batch", {"cmd": {"a": "crm.deal.update?id=481&fields[OPPORTUNITY]=1200000", "b": "crm.deal.update?id=482&fields[OPPORTUNITY]=5"}}
    ),
}


async def insist(world: World, *answers: Mapping[str, Any]) -> None:
    """A turn asks, the person denies its card, and the model answers with these steps, one an answer."""
    world.model.will(reply(raise_sum(), text="Прошу подтвердить."))
    await world.work(message("подними сумму сделки 481 до 1 200 000"))
    proposals = [reply(one, text="Предлагаю ещё раз.") for one in answers]
    world.model.will_go_on(*proposals[:1])
    world.model.will(*proposals[1:], *([GIVES_UP] if proposals else []))
    await world.work(press(show(world), approve=False))


def refusals(world: World) -> list[str]:
    """The codes of the steps that were refused."""
    return [event.data["code"] for event in world.events("StepRefused")]


@pytest.mark.req("S004-A11", "S004-X3")
@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
async def test_a_denied_call_makes_no_second_card_in_its_turn(world: World, copy: Mapping[str, Any]) -> None:
    """Also in another spelling: one card, one denial, and the person is told that it is not proposed again."""
    await insist(world, copy)
    assert len(world.events("ConfirmationRequested")) == 1
    assert refusals(world) == ["gate-denied-now"]
    assert world.portal.written() == []


async def test_a_model_that_insists_again_and_again_gets_no_card(world: World) -> None:
    """The turn ends when the same was refused a second time; one card in all."""
    await insist(world, *COPIES.values())
    world.model.script.clear()
    assert len(world.events("ConfirmationRequested")) == 1
    assert set(refusals(world)) == {"gate-denied-now"}


async def test_other_values_are_another_call(world: World) -> None:
    """«Нет, до 1 100 000» said to the model as the reason leads to a card of its own."""
    await insist(world, raise_sum(1_100_000))
    world.model.script.clear()
    assert [event.data["params"]["fields"]["OPPORTUNITY"] for event in world.events("ConfirmationRequested")] == [1_200_000, 1_100_000]


async def test_a_step_left_out_of_a_plan_is_not_offered_again(world: World) -> None:
    """One step of two is denied, the other approved: the turn goes on, and the denied one makes no card."""
    plan = await ask_plan(world, raise_sum(), raise_sum(deal=482))
    await world.work(press(plan["members"][0], approve=False))
    world.model.will_go_on(reply(raise_sum(), text="Ещё раз."))
    world.model.will(GIVES_UP)
    await world.work(press(show(world)))
    assert [params["id"] for _, params in world.portal.written()] == [482]
    assert len(world.events("ConfirmationRequested")) == 2
    assert refusals(world) == ["gate-denied-now"]


async def test_a_turn_that_waited_for_the_card_of_another_does_not_offer_it_either(world: World) -> None:
    """The second message asks for the same while its card is open: both turns wait for it, and neither asks anew."""
    for text in ("подними сумму сделки 481", "подними же сумму сделки 481"):
        world.model.will(reply(raise_sum(), text="Прошу подтвердить."))
        await world.work(message(text))
    world.model.will_go_on(*[reply(raise_sum(), text="Ещё раз.")] * 2)
    world.model.will(GIVES_UP, GIVES_UP)
    await world.work(press(show(world), approve=False))
    assert len(world.events("TurnResumed")) == 2
    assert len(world.events("ConfirmationRequested")) == 1
    assert refusals(world) == ["gate-denied-now"] * 2


async def test_a_card_that_ran_out_was_not_denied(world: World) -> None:
    """Nobody decided; the same wish in the same turn would ask, and says nothing of a denial."""
    world.model.will(reply(raise_sum(), text="Прошу подтвердить."))
    await world.work(message("подними сумму сделки 481"))
    world.clock.advance(timedelta(days=8))
    async with world.working():
        await world.idle()
    assert len(world.events("ConfirmationExpired")) == 1
    first = world.events("ConfirmationRequested")[0].data
    session = await world.session()
    again = await world.submit(
        session, effect("crm.deal.update", first["params"], slot=f"{first['turn_id']}/9/1"), turn_id=first["turn_id"]
    )
    assert "gate-denied-before" not in {reason.code for reason in again.reasons}


async def test_a_card_that_a_person_changed_and_then_denied_is_denied_with_its_first_value_too(world: World) -> None:
    """The new value was theirs; what the model proposed was denied with it."""
    entry = await asked(world)
    await world.work(answer(await opened(world, entry), "1,3 млн"))
    world.model.will_go_on(reply(raise_sum(), text="Ещё раз."))
    world.model.will(GIVES_UP)
    await world.work(press(cards_of(world.outbox())[-1], approve=False))
    assert len(world.events("ConfirmationRequested")) == 2
    assert refusals(world) == ["gate-denied-now"]


async def test_a_person_may_put_the_denied_value_on_another_card(world: World) -> None:
    """✏ on a further card of the same turn: it is the person's own wish, and no step of the model."""
    await insist(world, raise_sum(1_100_000))
    world.model.script.clear()
    later = dict(world.events("ConfirmationRequested")[-1].data)
    await world.work(answer(await opened(world, later), "1 200 000"))
    assert world.events("ConfirmationRequested")[-1].data["params"]["fields"]["OPPORTUNITY"] == 1_200_000


async def test_a_rehearsal_judges_by_the_same_denials(world: World) -> None:
    """What was denied before each plan of the turn, also for a turn that waited for the card of another."""
    for text in ("подними сумму сделки 481", "подними же сумму сделки 481"):
        world.model.will(reply(raise_sum(), text="Прошу подтвердить."))
        await world.work(message(text))
    world.model.will_go_on(*[reply(raise_sum(), text="Ещё раз.")] * 2)
    world.model.will(GIVES_UP, GIVES_UP)
    await world.work(press(show(world), approve=False))
    [essence] = {event.data["essence"] for event in world.events("ConfirmationDenied")}
    assert [plan.denied for plan in read_stream_plans(world.sql, "session:tg:1007")] == [set(), set(), {essence}, {essence}]
