"""A call that takes the place of a waiting card: from its start on nobody can approve the old one, so that only one of both is ever made."""

from typing import Any

import pytest

from orchestrator.domain.effect import Effect, Outcome, Pending
from orchestrator.gate.approve.confirmations import Decision
from orchestrator.sessions.session import Session
from state.model.card import Card
from tests.unit.runtime.kill_kit import work_killed
from tests.unit.spine_kit import ANNA, World, effect, message, press, reply, step
from tests.unit.spine_portal import says

WISH = {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 7}}
LATER = {"fields": {"TITLE": "Позвонить Петру", "RESPONSIBLE_ID": 7}}
SUM = {"id": 481, "fields": {"OPPORTUNITY": 1_500_000}}


def put_in_place(old: Card, method: str, params: dict[str, Any], **more: Any) -> Effect:
    return effect(method, params, slot="t2/1/1", withdraws=old.confirmation_id, **more)


async def ask(world: World, session: Session) -> Card:
    return await world.asked(session, effect("tasks.task.add", WISH, requires_confirmation=True))


async def approve(world: World, session: Session, card: Card) -> None:
    decision = Decision(confirmation_id=card.confirmation_id, nonce=card.nonce, approve=True, actor=ANNA, via="button")
    await world.gate.decide_card(decision, mode="full", ledger=session)


def list_titles(world: World) -> list[str]:
    return [params["fields"]["TITLE"] for _, params in world.portal.written("tasks.task.add")]


async def test_the_old_card_is_over_before_the_call_is_sent(world: World) -> None:
    """Pressed while the portal works at the new call, it makes nothing."""
    session = await world.session()
    old = await ask(world, session)

    async def press_old(method: str, _params: dict[str, Any]) -> None:
        if method == "tasks.task.add":
            await approve(world, session, old)

    world.portal.watch = press_old
    result = await world.submit(session, put_in_place(old, "tasks.task.add", LATER), turn_id="t2")
    assert isinstance(result, Outcome)
    assert result.status == "succeeded"
    assert list_titles(world) == ["Позвонить Петру"]
    assert session.state.cards[old.confirmation_id].status == "denied"


@pytest.mark.parametrize(("method", "params"), [("tasks.task.add", LATER), ("crm.deal.update", SUM)], ids=["runs", "asks"])
async def test_a_card_approved_meanwhile_leaves_no_room_for_another_call(world: World, method: str, params: dict[str, Any]) -> None:
    """The person pressed while the gate still read the portal for the new call: that one is neither made nor asked about."""
    session = await world.session()
    old = await ask(world, session)
    collect, asked = world.gate._collect_facts, []

    async def press_old(*args: Any) -> Any:
        facts = await collect(*args)
        if not asked:
            asked.append(old)
            await approve(world, session, old)
        return facts

    world.gate._collect_facts = press_old  # type: ignore[method-assign]
    result = await world.submit(session, put_in_place(old, method, params), turn_id="t2")
    assert isinstance(result, Outcome)
    assert result.reason is not None
    assert result.reason.code == "card-not-waiting"
    assert list_titles(world) == ["Позвонить"]
    assert world.portal.written("crm.deal.update") == []


async def test_of_a_call_that_could_not_be_stored_or_is_refused_the_old_card_waits(world: World) -> None:
    """Nothing of the person's wish is lost."""
    session = await world.session()
    old = await ask(world, session)
    result = await world.submit(session, put_in_place(old, "crm.deal.delete", {"id": 481}), turn_id="t2")
    assert isinstance(result, Outcome)
    assert session.state.cards[old.confirmation_id].is_waiting


async def test_a_card_is_changed_twice_in_one_answer(world: World) -> None:
    """The second change finds the first one's withdrawal, and stands beside it."""
    session = await world.session()
    old = await ask(world, session)
    first = await world.submit(session, put_in_place(old, "crm.deal.update", SUM), turn_id="t2")
    more = put_in_place(old, "tasks.task.add", LATER).model_copy(update={"slot": "t2/1/2"})
    second = await world.submit(session, more, turn_id="t2")
    assert isinstance(first, Pending)
    assert isinstance(second, Outcome)
    assert second.status == "succeeded"


async def test_what_waits_already_is_joined_and_the_old_card_ends(world: World) -> None:
    """Changed to what another card asks: that one stays."""
    session = await world.session()
    old = await ask(world, session)
    other = await world.asked(session, effect("crm.deal.update", SUM, slot="t1/1/2"))
    result = await world.submit(session, put_in_place(old, "crm.deal.update", SUM), turn_id="t2")
    assert isinstance(result, Pending)
    assert result.confirmation_id == other.confirmation_id
    assert [session.state.cards[card.confirmation_id].status for card in (old, other)] == ["denied", "requested"]


async def test_a_lost_answer_leaves_no_card_that_could_make_it_again(world: World) -> None:
    """The new call may have been made, so the old one may not."""
    session = await world.session()
    old = await ask(world, session)
    world.portal.will("tasks.task.add", says(500, {"error": "INTERNAL_SERVER_ERROR"}))
    result = await world.submit(session, put_in_place(old, "tasks.task.add", LATER), turn_id="t2")
    assert isinstance(result, Outcome)
    assert result.status == "unknown"
    await approve(world, session, session.state.cards[old.confirmation_id])
    assert list_titles(world) == []


@pytest.mark.parametrize("kept", range(6))
async def test_killed_anywhere_only_one_of_both_is_made(world: World, kept: int) -> None:
    """The old card is pressed as soon as another process has taken over: with the new call begun, it is over."""
    world.model.will(reply(step("tasks.task.add", WISH, requires_confirmation=True), text="Прошу подтвердить."))
    await world.work(message("поставь задачу позвонить"))
    old = world.events("ConfirmationRequested")[0].data
    change = reply(step("card.change", {"card": "w1", "params": LATER}, last=True), text="Меняю.")
    world.model.will(change, change)
    await work_killed(world, message("нет, поставь задачу позвонить Петру"), kept=kept)
    world.model.script.clear()
    await world.work(press({**old, "status": "requested"}))
    started = [event.data["params"]["fields"]["TITLE"] for event in world.events("CallStarted")]
    assert len(started) <= 1
    assert len(list_titles(world)) <= 1
