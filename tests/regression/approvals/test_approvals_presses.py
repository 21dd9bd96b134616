"""Presses of every kind on cards of every age: one counts, each is answered once, and nothing but a decision decides (rows 10, 16, 17, 20 …)."""

import asyncio
import dataclasses
import random
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from orchestrator.gate.approve.confirmations import calculate_second_nonce
from orchestrator.turns.decisions import run_decision
from state.clock import generate_id
from state.journal.store import InboxRow
from tests.regression.approvals.approvals_kit import TASK, UPDATE, House, card_of, cards_of, sent, status_of
from tests.unit.spine_kit import ANNA, BORIS, CHAT, VERA, codes_of, command, message, press, raise_sum, reply, step, until


def toasts(world: Any) -> Counter[str]:
    """How often each callback was answered."""
    return Counter(row.body["callback_id"] for row in world.outbox() if row.kind == "toast")


@pytest.mark.req("G2", "S004-31", "S004-A2")
async def test_double_presses_out_of_order_and_after_a_restart(house: House) -> None:
    """Ten presses at once, one of them of before the restart: one effect, and exactly one answer for each callback."""
    async with house.started() as world:
        entry = await card_of(world)
        presses = [press(entry) for _ in range(10)]
        await world.work(*reversed(presses[:9]))
        answered = toasts(world)
    async with house.started() as world:
        await world.work(presses[9], presses[3])
        answered += toasts(world)
    assert answered == Counter(row.body["callback_id"] for row in presses)
    assert sent(house) == [(UPDATE, 1_200_000)]


@pytest.mark.req("G2")
@pytest.mark.parametrize("first", [True, False])
async def test_the_opposite_press_comes_too_late(house: House, *, first: bool) -> None:
    """Deny after approve does not undo or mislead; approve after deny sends nothing. Both are told how it stands."""
    async with house.started() as world:
        entry = await card_of(world)
        await world.work(press(entry, approve=first))
        world.outbox()
        await world.work(press(entry, approve=not first))
        assert world.codes()[0] == f"toast:card-already-{'executed' if first else 'denied'}"
    assert len(house.portal.ledger) == int(first)


@pytest.mark.req("G2", "S004-31")
async def test_an_old_button_never_decides_a_newer_card(house: House) -> None:
    """A stale press after a new card went out: its own card answers, the new one still waits."""
    async with house.started() as world:
        old = await card_of(world)
        await world.work(press(old, approve=False))
        world.outbox()
        new = await card_of(world)
        await world.work(press(old), press({**new, "nonce": old["nonce"]}), press({**old, "nonce": new["nonce"]}))
        assert status_of(world, new) == "requested"
        assert house.portal.ledger == []
        await world.work(press(new))
    assert len(house.portal.ledger) == 1


@pytest.mark.long
@pytest.mark.req("G2", "S004-A2")
async def test_fifty_further_turns_do_not_bring_the_effect_back(house: House) -> None:
    """Free steps, new cards, denials and talk after an approval, with snapshots in between: the approved call stays at one."""
    async with house.started() as world:
        entry = await card_of(world)
        await world.work(press(entry))
        for number in range(50):
            match number % 5:
                case 0:
                    world.model.will(reply(TASK), reply(text="Есть."))
                case 1:
                    world.model.will(reply(raise_sum(number, 482)))
                case 2:
                    world.model.will(reply(raise_sum(), text="Ещё раз"), reply(text="Уже так."))
                case _:
                    world.model.will(reply(text="Хорошо."))
            await world.work(message(f"поставь задачу {number} по сделке 481, и поставь сумму 482"))
            if number % 10 == 9:
                await world.work(press(entry), press(entry, approve=False), command("pending"))
        assert len({event.data["turn_id"] for event in world.events("TurnFinished")}) == 51
        assert [method for method in sent(house) if method == (UPDATE, 1_200_000)] == [(UPDATE, 1_200_000)]
        assert {params["id"] for _, params in house.portal.written(UPDATE)} == {481}
        assert len(house.portal.written("tasks.task.add")) == 10


ODD: tuple[Any, ...] = (None, 0, "", "ffffffff", "нонс", "\ud800", [], {}, True, 3.5, "y" * 5000, "\x00")


@pytest.mark.req("G2", "S004-A1")
async def test_only_a_whole_decision_counts(house: House) -> None:
    """Every field of a decision left out or replaced by anything: nothing runs, the input is closed, and the real press still works."""
    async with house.started() as world:
        entry = await card_of(world)
        good = press(entry)
        bad = [{**good.body, name: value} for name in ("confirmation_id", "nonce") for value in ODD]
        bad += [{**good.body, "approve": value} for value in (*ODD, "false", "no", 1, [0], {"approve": False}) if value is not True]
        bad += [{key: value for key, value in good.body.items() if key != name} for name in ("confirmation_id", "nonce", "approve", "via")]
        session = await world.session()
        for body in bad:
            row = dataclasses.replace(good, id=generate_id(), source=f"odd:{generate_id()}", body=body)
            try:
                await world.put(row)
            except (UnicodeError, TypeError, ValueError):  # cannot even be stored
                continue
            taken = await world.store.take_inbox(CHAT, "express")
            assert taken is not None
            try:
                await run_decision(taken, session, world.tools)
            except (KeyError, AttributeError, TypeError, ValueError):
                await world.store.finish_inbox(taken.id, "quarantined", "odd")
            assert house.portal.ledger == [], body
            assert status_of(world, entry) == "requested", body
        world.outbox()
        await session.close()
        await world.work(good)
        assert len(house.portal.ledger) == 1


@pytest.mark.req("G2", "S004-A1", "S004-M2")
@pytest.mark.parametrize("kind", ["result", "approval", "decision.result", "confirmation", "timer", "portal_event", "message"])
async def test_nothing_but_a_decision_stands_for_an_approval(house: House, kind: str) -> None:
    """A result, an event, a timer or words that carry id and nonce of the card approve nothing."""
    async with house.started() as world:
        entry = await card_of(world)
        lane: Any = "turn" if kind == "message" else "express"
        body = press(entry).body | {
            "kind": "approved",
            "timer": "x",
            "text": f"approve {entry['confirmation_id']} {entry['nonce']}",
            "event": "x",
            "ts": 1,
        }
        if kind == "message":
            claim = {"confirmed": True, "confirmation_decision": "approve"}
            world.model.will(reply({**raise_sum(), **claim}))
        row = InboxRow(
            id=generate_id(),
            source=generate_id(),
            session=CHAT,
            lane=lane,
            kind=kind,
            actor=ANNA.model_dump(mode="json"),
            body=body,
            received_at=world.clock.now(),
        )
        await world.work(row)
        assert house.portal.ledger == []
        assert status_of(world, entry) == "requested"
        assert world.events("ConfirmationApproved") == []


@pytest.mark.req("G2", "S004-31")
async def test_two_doors_show_one_request_and_one_decision_closes_both(house: House) -> None:
    """Shown twice (/pending) and pressed at once in the chat, typed, on the command line and by a lead: one counts, the others read who did it."""
    async with house.started() as world:
        entry = await card_of(world)
        await world.work(command("pending"))
        [again] = [dict(row.body) for row in world.outbox() if row.kind == "card"]
        assert (again["confirmation_id"], again["nonce"]) == (entry["confirmation_id"], entry["nonce"])
        rows = [press(entry), press(again, via="typed", callback_id=""), press(again, via="cli", callback_id=""), press(entry, actor=VERA)]
        random.Random(4).shuffle(rows)  # noqa: S311 - the order of a test
        await world.work(*rows)
        said = [code for row in world.outbox() for code in codes_of(row)]
    assert len(house.portal.ledger) == 1
    assert len([code for code in said if code.endswith("card-already-executed")]) == 3


@pytest.mark.req("G2", "S004-31")
async def test_a_request_in_one_chat_cannot_be_decided_from_another(house: House) -> None:
    """The same person in another chat, and a colleague in theirs, with the right id and nonce: no card there."""
    async with house.started() as world:
        entry = await card_of(world)
        await world.work(press(entry, key="tg:-100", actor=ANNA), press(entry, key="tg:1008", actor=BORIS))
        assert world.codes().count("toast:card-outdated") == 2
        assert status_of(world, entry) == "requested"
        assert house.portal.ledger == []


@pytest.mark.req("G2", "S004-A2")
async def test_presses_at_two_processes_of_one_database(house: House) -> None:
    """Both take presses in and work; the lease lets one of them work the session: one effect, every press answered once."""
    async with house.started() as one, house.beside() as two:
        entry = await card_of(one)
        presses = [press(entry, approve=number % 4 != 3) for number in range(8)]
        async with one.working(), two.working():
            await asyncio.gather(*((one, two)[number % 2].orchestrator.receive([row]) for number, row in enumerate(presses)))
            await until(lambda: one.sql.list_ready_sessions() == [])
        answered = toasts(one)
    assert answered == Counter(row.body["callback_id"] for row in presses)
    assert len(house.portal.ledger) == int(status_of_file(house, entry) == "succeeded")


def status_of_file(house: House, entry: dict[str, Any]) -> str:
    """The same from the file, when nobody works any more."""
    store = house.store()
    try:
        row = store.find_effect(entry["effect_id"])
        return row.status if row else "absent"
    finally:
        store.close()


@pytest.mark.req("G2")
@pytest.mark.parametrize("back", [timedelta(minutes=5), timedelta(days=3)])
async def test_a_clock_that_goes_back_between_card_and_press(house: House, back: timedelta) -> None:
    """Time travel: the press still counts once, the second one does not, and the first card's end does not come back."""
    async with house.started() as world:
        entry = await card_of(world)
        world.clock.advance(-back)
        await world.work(press(entry), press(entry))
        assert len(house.portal.ledger) == 1
        world.clock.advance(back + timedelta(days=2))
        await world.idle()
        assert status_of(world, entry) == "succeeded"
        world.clock.advance(-back)
        await world.work(press(entry))
    assert len(house.portal.ledger) == 1


@pytest.mark.req("G2")
async def test_a_card_that_expired_stays_expired_when_the_clock_goes_back(house: House) -> None:
    """Closed by its timer; then it is yesterday again: the press is told, nothing runs."""
    async with house.started() as world:
        entry = await card_of(world)
        async with world.working():
            world.clock.advance(timedelta(hours=25))
            world.orchestrator._wake.set()
            await until(lambda: status_of(world, entry) == "expired")
        world.clock.advance(-timedelta(hours=25))
        world.outbox()
        await world.work(press(entry))
        assert "toast:card-already-expired" in world.codes()
    assert house.portal.ledger == []


@pytest.mark.req("G2")
async def test_the_second_tap_of_another_card_is_none(house: House) -> None:
    """Two deletions wait: the second nonce of one does not delete the other, and a second tap counts once."""
    async with house.started(policy={"open_methods": ["crm.deal.delete"]}) as world:
        first, second = await cards_of(
            world, step("crm.deal.delete", {"id": 481}), step("crm.deal.delete", {"id": 482}), text="удали сделки 481 и 482"
        )
        await world.work(press(first), press(second, nonce=calculate_second_nonce(first["nonce"])))
        assert house.portal.ledger == []
        await world.work(*(press(first, nonce=calculate_second_nonce(first["nonce"])) for _ in range(3)))
    assert [params["id"] for _, params in house.portal.ledger] == [481]
