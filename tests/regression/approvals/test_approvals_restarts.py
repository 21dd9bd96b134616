"""Approvals over crashes, restarts, replays and changed settings: what was decided holds, and runs once (rows 5, 9, 13, 19, 21, 24, 36)."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from orchestrator.reports.cards import load_session_state
from state.events.fold import create_state, fold_events, list_open_confirmations
from state.journal.journal import load_state
from tests.regression.approvals.approvals_kit import UPDATE, House, card_of, cards_of, dying, sent, status_of, worked
from tests.unit.spine_kit import CHAT, command, message, press, raise_sum, reply, step
from tests.unit.spine_portal import lost

ADD = step("crm.deal.add", {"fields": {"TITLE": "Новая", "OPPORTUNITY": 5}})
SETTLED = timedelta(minutes=3)


@pytest.mark.req("G2", "S004-A2", "S004-X4")
async def test_a_replay_of_the_journal_sends_nothing_and_decides_nothing(house: House) -> None:
    """Folded to every moment, twice: the same states, not one request to the portal, not one word in the journal."""
    async with house.started() as world:
        first, second = await cards_of(world, raise_sum(1, 481), raise_sum(2, 482), text="сделки 481 и 482")
        await world.work(press(first), press(second, approve=False))
        events, asked, journal = world.events(), len(house.portal.requests), world.stored_text()
        for until in range(len(events) + 1):
            states = [fold_events(create_state(), ((item.type, dict(item.data), item.ts) for item in events[:until])) for _ in range(2)]
            assert states[0] == states[1]
        assert states[0] == load_state(world.sql, f"session:{CHAT}")[0]
        assert (len(house.portal.requests), world.stored_text()) == (asked, journal)
    assert sent(house) == [(UPDATE, 1)]


@pytest.mark.req("G2", "S004-A2")
async def test_a_decision_is_never_reused(house: House) -> None:
    """The input of the approval comes once more, as the same update and as another one: the equal call that waits now is untouched."""
    async with house.started() as world:
        first = await card_of(world, ADD, text="новая сделка на 5")
        row = press(first)
        await world.work(row)
        world.outbox()
        second = await card_of(world, ADD, text="ещё одна на 5")
        assert await world.orchestrator.receive([row]) == [False]
    async with house.started() as world:
        await world.work(press(first))
        assert status_of(world, second) == "requested"
    assert sent(house) == [("crm.deal.add", 5)]


@pytest.mark.req("G2", "S004-12", "S004-32")
async def test_a_denied_call_stays_denied_over_restarts(house: House) -> None:
    """Denied, the process dies at each place of the decision, starts again, the button is pressed again: no call ever."""
    for kept in range(4):
        async with house.started() as world:
            entry = await card_of(world, raise_sum(100 + kept))
            with dying(world, kept=kept):
                await worked(world, press(entry, approve=False))
        house.passed += SETTLED
        async with house.started() as world:
            await world.work(press(entry), press(entry))
            assert status_of(world, entry) == "denied"
    assert house.portal.ledger == []


CHANGED: dict[str, tuple[dict[str, Any], Mapping[str, str], int, bool]] = {
    "nothing": ({}, {}, 1, False),
    "another time to live": ({}, {"confirmation_ttl": "1h"}, 1, False),
    "shadow": ({"mode": "shadow"}, {}, 0, False),
    "canary": ({"mode": "canary"}, {}, 0, False),
    "forbidden by the policy": ({"policy": {"refuse_methods": [UPDATE]}}, {}, 0, False),
    "a policy about something else": ({"policy": {"ask_methods": ["tasks.task.add"]}}, {}, 1, False),
    "a policy that asks for it": ({"policy": {"ask_methods": [UPDATE]}}, {}, 0, True),
    "four eyes from now on": ({"policy": {"four_eyes_above": 100}}, {}, 0, True),
}


@pytest.mark.req("G2", "S004-8")
@pytest.mark.parametrize(("start", "settings", "effects", "anew"), CHANGED.values(), ids=CHANGED.keys())
async def test_the_settings_of_the_press_hold(
    house: House, monkeypatch: pytest.MonkeyPatch, start: dict[str, Any], settings: Mapping[str, str], effects: int, *, anew: bool
) -> None:
    """Started anew with other settings: what is still allowed runs once without a second question, the rest is refused or asked anew."""
    async with house.started() as world:
        entry = await card_of(world)
    for name, value in settings.items():
        monkeypatch.setenv(name.upper(), value)
    async with house.started(**start) as world:
        await world.work(press(entry), press(entry))
        cards = [row.body for row in world.outbox() if row.kind == "card"]
        fresh = [body for body in cards if body["confirmation_id"] != entry["confirmation_id"]]
        assert status_of(world, entry) == ("succeeded" if effects else "superseded" if fresh else "refused")
        assert bool(fresh) == anew
    assert len(house.portal.ledger) == effects


@pytest.mark.long
@pytest.mark.req("G1", "G2", "S004-A2")
async def test_dead_at_every_event_of_a_press_the_next_message_works(house: House) -> None:
    """Killed before each commit of the decision: after the restart at most one effect, its end is told, and the chat goes on."""
    died_at: list[str] = []
    for kept in range(8):
        async with house.started() as world:
            entry = await card_of(world, raise_sum(10_000 + kept))
            with dying(world, kept=kept) as died:
                await worked(world, press(entry))
            died_at += died
            world.outbox()
        house.passed += SETTLED
        async with house.started() as world:
            world.model.will(reply(text="Я здесь."))
            await world.work(message("ты тут?"))
            said = world.outbox()
            assert "Я здесь." in str([row.body for row in said])
            assert status_of(world, entry) in {"succeeded", "refused"}
        written = [line for line in sent(house) if line == (UPDATE, 10_000 + kept)]
        assert len(written) == int(status_in(house, entry) == "succeeded"), died
    assert {"CallStarted", "CallSucceeded"} <= set(died_at)


def status_in(house: House, entry: Mapping[str, Any]) -> str:
    """From the file, when nobody works."""
    store = house.store()
    try:
        row = store.find_effect(entry["effect_id"])
        return row.status if row else "absent"
    finally:
        store.close()


@pytest.mark.req("G2", "S004-36")
async def test_dead_after_the_effect_it_is_unknown_and_told_and_not_repeated(house: House) -> None:
    """An add whose mark cannot be found yet: unknown, never sent again by restarts, presses or talk, and the person was told."""
    async with house.started() as world:
        entry = await card_of(world, step("tasks.task.add", {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 8}}), text="задача Борису")
        house.portal.will("tasks.task.add", lost)
        await world.work(press(entry))
        assert status_of(world, entry) == "unknown"
        assert "card:unknown" in world.codes()
    for _ in range(2):
        house.passed += timedelta(hours=1)
        async with house.started() as world:
            world.model.will(reply(text="Да."))
            await world.work(press(entry), message("ну что?"))
            assert "toast:card-already-unknown" in world.codes()
    assert len(house.portal.written("tasks.task.add")) == 1


@pytest.mark.req("S004-31", "S004-X4")
async def test_memory_wiped_the_pending_list_is_the_same(house: House) -> None:
    """Everything but the data folder gone: the same cards, with the same nonces, and each of them can still be decided."""
    async with house.started() as world:
        cards = await cards_of(world, raise_sum(1, 481), raise_sum(2, 482), ADD, text="сделки 481, 482 и новая на 5")
        before = list_open_confirmations(await load_session_state(world.store, CHAT))
    async with house.started() as world:
        assert list_open_confirmations(await load_session_state(world.store, CHAT)) == before
        assert [entry.nonce for entry in before] == [entry["nonce"] for entry in cards]
        await world.work(*(press(entry) for entry in cards))
    assert sorted(str(line) for line in sent(house)) == sorted(str(line) for line in [(UPDATE, 1), (UPDATE, 2), ("crm.deal.add", 5)])


@pytest.mark.req("S004-X4")
async def test_starting_on_a_journal_with_open_cards_comes_to_rest(house: House) -> None:
    """Five restarts on cards that wait: each comes to rest at once, asks nobody anything and adds nothing to the journal."""
    async with house.started() as world:
        await cards_of(world, raise_sum(1, 481), raise_sum(2, 482), text="сделки 481 и 482")
        types = world.types()
    for _ in range(5):
        async with house.started() as world:
            await asyncio.wait_for(world.work(command("status")), 5)  # a session is opened, and recovered, for an input
            assert world.types() == types
            assert [row.kind for row in world.outbox()] == ["reply"]
    assert house.portal.ledger == []
