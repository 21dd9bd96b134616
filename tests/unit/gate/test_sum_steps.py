"""A sum that becomes many times as large in several small steps is asked about twice, as it is in one."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.actor import Actor
from orchestrator.gate.call.effect import Ask, Facts
from orchestrator.gate.call.policy import Policy
from state.model.card import Card
from tests.unit.gate.gate_kit import DEAL, FIRST, RECORDS, judged
from tests.unit.gate.gate_kit import effect as plain
from tests.unit.spine_kit import ANNA, CHAT, VERA, World, a_world, effect, press

TWICE: dict[str, Any] = {"sum_jump": 10}
UPDATE, ITEM = "crm.deal.update", "crm.item.update"


def change(amount: Any, how: str = UPDATE, deal: int = 482, **more: Any) -> tuple[str, dict[str, Any]]:
    match how:
        case "crm.item.update":
            return how, {"entityTypeId": 2, "id": deal, "fields": {"opportunity": amount, **more}}
        case "batch":
            return how, {"cmd": {"a": "user.current", "b": f"crm.deal.update?id={deal}&fields[OPPORTUNITY]={amount}"}}
        case _:
            return UPDATE, {"id": deal, "fields": {"OPPORTUNITY": amount, **more}}


class Desk:
    """Somebody who asks for changes and presses."""

    def __init__(self, world: World) -> None:
        self.world, self.number = world, 0

    async def asked(self, what: tuple[str, dict[str, Any]], *, key: str = CHAT, actor: Actor = ANNA) -> Card:
        """The card that it leads to."""
        self.number += 1
        session = await self.world.session(key)
        try:
            return await self.world.asked(session, effect(*what, slot=f"t{self.number}/1/1"), actor=actor)
        finally:
            await session.close()

    async def step(self, what: tuple[str, dict[str, Any]], *, key: str = CHAT, actor: Actor = ANNA, approve: bool = True) -> Card:
        """The card, decided."""
        entry = await self.asked(what, key=key, actor=actor)
        for _ in range(entry.taps if approve else 1):
            await self.world.work(press(await self.fresh(entry, key), approve=approve, key=key, actor=actor))
        return entry

    async def fresh(self, entry: Card, key: str) -> Card:
        session = await self.world.session(key)
        try:
            return session.state.cards[entry.confirmation_id]
        finally:
            await session.close()


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """Anna's desk, where a sum that jumps is asked about twice."""
    async with a_world(tmp_path, policy=TWICE) as world:
        yield Desk(world)


def codes(entry: Card) -> list[str]:
    return [reason["args"].get("reason") or reason["code"] for reason in entry.reasons]


@pytest.mark.parametrize("how", [UPDATE, ITEM, "batch"])
async def test_the_step_that_makes_it_tenfold_asks_twice_whoever_and_wherever(desk: Desk, how: str) -> None:
    """50 000 → 200 000 → 490 000 → 500 000 by two people in two conversations: each step is small, the last one makes it tenfold."""
    assert (await desk.step(change(200_000))).taps == 1
    assert (await desk.step(change(490_000), key="tg:-100", actor=VERA)).taps == 1
    assert desk.world.portal.records["deal", 482]["OPPORTUNITY"] == 490_000
    entry = await desk.asked(change(500_000, how))
    assert entry.taps == 2
    assert "gate-sum-steps" in codes(entry)
    reason = next(one for one in entry.reasons if "gate-sum-steps" in (one["code"], one["args"].get("reason")))
    assert (reason["args"]["before"], reason["args"]["after"], reason["args"]["times"]) == ("50 000", "500 000", 10)
    assert (await desk.asked(change(499_999, how))).taps == 1
    assert (await desk.asked(change(2_000_000, how, deal=481))).taps == 1  # another deal


async def test_down_in_steps_and_back_to_where_it_stood(desk: Desk) -> None:
    """A fall in steps asks twice too; what comes back near to where it stood does not, unless this very step is large."""
    await desk.step(change(20_000))
    down = await desk.asked(change(5_000))
    assert (down.taps, "gate-sum-steps" in codes(down)) == (2, True)
    assert (await desk.asked(change(60_000))).taps == 1


async def test_a_day_later_only_the_last_step_counts(desk: Desk) -> None:
    """What was changed more than 24 hours ago is where it stands now."""
    await desk.step(change(200_000))
    desk.world.clock.advance(timedelta(hours=23))
    await desk.step(change(300_000))
    assert (await desk.asked(change(600_000))).taps == 2
    desk.world.clock.advance(timedelta(hours=1, seconds=1))
    assert (await desk.asked(change(700_000))).taps == 1  # from 200 000
    assert (await desk.asked(change(2_000_000))).taps == 2


async def test_what_was_denied_or_turned_down_is_no_step(desk: Desk) -> None:
    """Only what was sent, and not proven to have come to nothing, counts; nor does a change of something else."""
    await desk.step(change(200_000), approve=False)
    desk.world.portal.records["deal", 482]["OPPORTUNITY"] = "100000.00"  # by hand
    assert (await desk.asked(change(600_000))).taps == 1
    session = await desk.world.session()
    await desk.world.submit(session, effect(UPDATE, {"id": 482, "fields": {"TITLE": "Вектор-2"}}, slot="t50/1/1"))
    await session.close()
    desk.world.portal.records["deal", 482]["OPPORTUNITY"] = "1000000.00"
    assert (await desk.asked(change(2_000_000))).taps == 1


async def test_a_card_that_waited_is_asked_anew_where_a_step_came_between(desk: Desk) -> None:
    """Two cards made at once, each of one tap: when the second would make it tenfold in a day, one tap does not run it."""
    first, second = await desk.asked(change(300_000)), await desk.asked(change(400_000, OPENED="Y"))
    assert (first.taps, second.taps) == (1, 1)
    await desk.world.work(press(first))
    third = await desk.asked(change(600_000))
    assert third.taps == 2
    await desk.world.work(press(second))
    assert desk.world.portal.records["deal", 482]["OPPORTUNITY"] == 300_000  # it changed meanwhile: shown anew


async def test_rules_with_times_hold_for_steps(tmp_path: Path) -> None:
    """«times: 5, then: lead» is not dodged either, also where the shipped second tap is off."""
    rule = {"method": "crm.deal.*", "times": 5, "then": "lead", "why": "Проверьте сумму"}
    async with a_world(tmp_path, policy={"rules": [rule]}) as world:
        desk = Desk(world)
        await desk.step(change(200_000))
        assert (await desk.asked(change(240_000))).lead is False
        assert (await desk.asked(change(250_000))).lead is True


async def test_where_nothing_compares_sums_nobody_looks(tmp_path: Path) -> None:
    """No read of the journal for calls without a sum, nor where the policy has no such rule."""
    looked: list[str] = []
    async with a_world(tmp_path, policy=TWICE) as world:
        session = await world.session()
        find = session.find_calls_about

        async def calls_about(record: str, *how: Any) -> Any:
            looked.append(record)
            return await find(record, *how)

        session.find_calls_about = calls_about  # type: ignore[method-assign]
        await world.submit(session, effect(UPDATE, {"id": 482, "fields": {"TITLE": "x"}}))
        await world.submit(session, effect("crm.deal.add", {"fields": {"TITLE": "x", "OPPORTUNITY": 5}}, slot="t1/1/2"))
        assert looked == []
        await world.submit(session, effect(*change(60_000), slot="t1/1/3"))
        assert looked == ["deal:482"]
        await session.close()
    async with a_world(tmp_path, policy={}) as world:
        session = await world.session()
        session.find_calls_about = None  # type: ignore[assignment, method-assign]
        await world.submit(session, effect(*change(60_000)))
        await session.close()


@given(st.integers(1, 10**7), st.lists(st.integers(1, 10**8), max_size=6), st.integers(2, 20))
@settings(max_examples=100, deadline=None)
def test_no_way_in_steps_is_cheaper_than_one_step(start: int, steps: list[int], times: int) -> None:
    """Whatever the steps: the one that brings it to that many times of the first value, or that part of it, asks twice."""
    standing = start
    for amount in steps:
        record = {**DEAL, "OPPORTUNITY": str(standing)}
        facts = Facts(
            records={**RECORDS, ("deal", 481): record}, first_stages=FIRST, first_sums={("deal", 481): {"opportunity": (str(start), "RUB")}}
        )
        verdict = judged(plain(UPDATE, {"id": 481, "fields": {"OPPORTUNITY": amount}}), policy=Policy(sum_jump=times), facts=facts)
        far = amount >= times * start or amount * times <= start
        step = amount >= times * standing or amount * times <= standing
        asked = isinstance(verdict, Ask) and verdict.taps == 2
        assert asked == (far or step), verdict
        standing = amount
