"""Approvals against what moves beside them: the other lane of the chat, rights that go while the program is down (rows 20, 22, 26)."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Pending
from orchestrator.gate.approve import confirmations
from orchestrator.gate.approve.confirmations import Decision
from tests.regression.approvals.approvals_kit import House, cards_of, status_of
from tests.unit.spine_kit import ANNA, CHAT, VERA, World, card, codes_of, command, effect, press

TASK = ("tasks.task.add", {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 8}})


SOME = 500
"""Rounds of the loop, more than any way to the portal takes."""


class Held:
    """The portal answers `method` only once it is let; those who ask at once share one call."""

    def __init__(self, world: World, method: str) -> None:
        self._method, self.asked, self._let = method, asyncio.Event(), asyncio.Event()
        world.portal.watch = self

    async def __call__(self, asked: str, params: Mapping[str, Any]) -> None:
        del params
        if asked == self._method:
            self.asked.set()
            await self._let.wait()

    async def let_on(self) -> None:
        """Answer, after whoever else was on the way has come as far as the question."""
        await self.asked.wait()
        for _ in range(SOME):
            await asyncio.sleep(0)
        self._let.set()


@pytest.mark.req("G2", "S004-31")
async def test_a_wish_of_both_lanes_at_once_has_one_card(house: House) -> None:
    """«Повторить» while the model proposes the very same: both read the portal at once, and one card comes of it, so one effect."""
    async with house.started() as world:
        session = await world.session()
        held = Held(world, "user.get")
        wishes = (world.submit(session, effect(*TASK, slot=slot, requires_confirmation=True)) for slot in ("t1/1/1", "again:0123456789"))
        first, second, _ = await asyncio.gather(*wishes, held.let_on())
        world.portal.watch = None
        assert isinstance(first, Pending)
        assert isinstance(second, Pending)
        assert first.confirmation_id == second.confirmation_id


@pytest.mark.req("G2", "S004-31")
async def test_a_wish_whose_approved_call_is_about_to_go_out_says_so(house: House) -> None:
    """Approved and not yet begun, since the record is read once more: the same wish gets no second card as if nothing had been decided."""
    async with house.started() as world:
        session = await world.session()
        entry = await world.asked(session, effect(*TASK))
        held = Held(world, "user.get")
        pressed = Decision(confirmation_id=entry.confirmation_id, nonce=entry.nonce, approve=True, actor=ANNA, via="button")
        running = asyncio.ensure_future(world.gate.decide_card(pressed, mode="full", ledger=session))
        await held.asked.wait()
        again, _ = await asyncio.gather(world.submit(session, effect(*TASK, slot="t2/1/1"), turn_id="t2"), held.let_on())
        await running
        world.portal.watch = None
        assert isinstance(again, Pending)
        assert "same-call-unknown" in [reason["code"] for reason in card(session, again.confirmation_id).reasons]
        assert len(house.portal.written("tasks.task.add")) == 1


class Leads:
    """Vera decides for everybody."""

    def find_leads(self, actor: Actor, sees: Any) -> Sequence[Actor]:
        del actor, sees
        return (VERA,)

    def apply_delegation(self, actor: Actor) -> Actor:
        return actor


async def left_approved(house: House, *, policy: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A card that Vera approved, and then the program died before the intent of its call."""
    async with house.started(policy=policy) as world:
        world.gate._deps = replace(world.gate.deps, approvers=Leads())
        entry = next(one for one in await cards_of(world) if "home" not in one)
        session = await world.session()
        pressed = Decision(confirmation_id=entry["confirmation_id"], nonce=entry["nonce"], approve=True, actor=VERA, via="button")
        await confirmations.approve(session.state.agent.confirmations[pressed.confirmation_id], pressed, session, [])
        await session.flush()
        world.outbox()
    return entry


GONE: dict[str, tuple[Actor | None, timedelta, str]] = {
    "as before": (VERA, timedelta(hours=23), "succeeded"),
    "dismissed": (None, timedelta(), "refused"),
    "may only look": (VERA.model_copy(update={"max_mode": "shadow"}), timedelta(), "refused"),
    "too late": (VERA, timedelta(hours=24), "refused"),
}


@pytest.mark.req("G2", "S004-8")
@pytest.mark.parametrize(("vera", "passed", "ended"), GONE.values(), ids=GONE.keys())
async def test_an_approval_that_is_gone_on_with_counts_only_with_the_rights_of_now_and_in_time(
    house: House, vera: Actor | None, passed: timedelta, ended: str
) -> None:
    """Approved by a lead, then the program died before the call: it runs only if that lead may still have it run, within the card's time."""
    entry = await left_approved(house)
    house.passed += passed
    async with house.started() as world:
        now = {VERA.key: vera, ANNA.key: ANNA}
        world.gate._deps = replace(world.gate.deps, present=lambda actor: now[actor.key])
        await world.work(command("status"))
        assert status_of(world, entry) == ended
        told = [code for row in world.outbox() for code in codes_of(row)]
        assert ("card:refused" in told) == (ended == "refused")
    assert len(house.portal.ledger) == int(ended == "succeeded")


@pytest.mark.req("G2")
async def test_who_waited_for_a_lead_is_told_in_words_also_when_the_call_ran_after_a_restart(house: House) -> None:
    """The lead pressed, the program died, the call ran at the start: an edited card says nothing aloud."""
    rule = {"rules": [{"field": "OPPORTUNITY", "above": 100, "then": "lead", "why": "много"}]}
    entry = await left_approved(house, policy=rule)
    assert entry["told"] == [VERA.key]
    async with house.started(policy=rule) as world:
        await world.work(command("status"))
        told = [(row.session, code) for row in world.outbox() for code in codes_of(row)]
        assert (CHAT, "lead-approved") in told
        assert {session for session, code in told if code == "card:executed"} == {CHAT, VERA.key}
    assert len(house.portal.ledger) == 1


@pytest.mark.req("G2", "S004-8")
@pytest.mark.parametrize(
    ("mild", "sharper", "asked"),
    [
        ("ask", "ask_twice", [(2, False, False)]),
        ("ask", "lead", [(1, False, True)]),
        ("ask", "two_people", [(1, True, True)]),
        ("lead", "two_people", [(1, True, True)]),
        ("ask", "refuse", []),
    ],
)
async def test_a_rule_that_became_sharper_under_the_same_words_is_not_met_by_the_old_card(
    house: House, mild: str, sharper: str, asked: list[tuple[int, bool, bool]]
) -> None:
    """The card asked for less than the rules want now: pressed by a lead, nothing runs, and a new card asks for that."""
    rule = {"field": "OPPORTUNITY", "above": 100, "why": "много"}
    async with house.started(policy={"rules": [{**rule, "then": mild}]}) as world:
        [entry] = await cards_of(world)
    async with house.started(policy={"rules": [{**rule, "then": sharper}]}) as world:
        await world.work(press(entry, actor=VERA))
        fresh = [row.body for row in world.outbox() if row.kind == "card" and row.body["status"] == "requested"]
        assert status_of(world, entry) == ("superseded" if asked else "refused")
    assert [(card["taps"], card["four_eyes"], card.get("lead", False)) for card in fresh] == asked
    assert house.portal.ledger == []
