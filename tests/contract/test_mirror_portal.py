"""The mirror against the sandbox portal: after any changes it equals one that is loaded anew."""

from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.mirror.keeper import MirrorKeeper
from tests.contract.mirror_kit import Firm, World, dump, open_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A portal with 348 deals."""
    async with open_world(tmp_path, bulk_deals=300) as world:
        yield world


async def test_a_refresh_without_changes_is_one_request(world: World) -> None:
    keeper = world.keep()
    await keeper.load()
    before = dump(keeper)
    assert await world.refresh(keeper) == 1
    assert dump(keeper) == before


@pytest.mark.parametrize("rounds", [pytest.param(4), pytest.param(40, marks=pytest.mark.long)])
async def test_after_random_operations_the_mirror_equals_a_fresh_load(world: World, rounds: int) -> None:
    keeper, firm = world.keep(), Firm(world.portal, seed=rounds)
    await keeper.load()
    await firm.begin()
    for number in range(rounds):
        await firm.act(25)
        await world.refresh(keeper)
        await world.refresh(keeper, after=700)
        if number % 10 == 9 or number == rounds - 1:
            fresh = world.keep(f"fresh{number}")
            await fresh.load()
            assert dump(keeper) == dump(fresh)
            fresh.close()
    assert min(firm.done.values()) > rounds / 4


async def test_deletions_are_found_exactly_and_cheaply(tmp_path: Path) -> None:
    """3 of 5,048 deals: their ids, in at most 4 requests; then as many as a list read anew would take, at most."""
    async with open_world(tmp_path, bulk_deals=5000) as world:
        keeper = world.keep()
        await keeper.load()
        for number in (483, 484, 3000):
            await world.portal.result("crm.deal.delete", {"id": number})
        assert await world.refresh(keeper) <= 4
        with closing(keeper.file.open_for_reading()) as connection:
            ids = {number for (number,) in connection.execute("SELECT id FROM deal")}
        assert {483, 484, 3000} == set(range(481, 5482)) - ids
        for number in range(500, 5400, 13):
            await world.portal.result("crm.deal.delete", {"id": number}) if number in ids else None
        assert await world.refresh(keeper) <= 21
        await equal_a_fresh_load(world, keeper)


async def test_many_changes_take_three_requests(tmp_path: Path) -> None:
    async with open_world(tmp_path, bulk_deals=1000) as world:
        keeper = world.keep()
        await keeper.load()
        world.portal.clock.move(seconds=60)
        for number in range(481, 1081):
            await world.portal.result("crm.deal.update", {"id": number, "fields": {"STAGE_ID": "WON", "OPPORTUNITY": number}})
        assert await world.refresh(keeper) <= 3
        await equal_a_fresh_load(world, keeper)


async def test_records_that_the_webhook_may_not_see_any_more_go_and_come_back(world: World) -> None:
    keeper = world.keep()
    await keeper.load()
    whole = dump(keeper)
    await world.withhold(hidden=[7])
    await world.refresh(keeper, after=700)
    narrow = dump(keeper)
    assert {row[4] for row in narrow["deal"]} == {row[4] for row in whole["deal"]} - {7}
    assert not {row[1] for row in narrow["move"]} - {row[0] for row in narrow["deal"]}
    assert 7 not in {row[1] for row in narrow["call"]}
    await world.withhold()
    await world.refresh(keeper, after=700)
    await equal_a_fresh_load(world, keeper)


async def test_without_telephony_calls_are_those_of_activities(world: World) -> None:
    """Its scope, or its right, is asked for again hours later."""
    keeper = world.keep()
    for withheld, status in [({"without_scopes": ["telephony"]}, "no_scope"), ({"denied": ["voximplant.statistic.get"]}, "no_right")]:
        await world.withhold(**withheld)
        if keeper.read_state():
            await world.refresh(keeper, after=7 * 3600)
        await keeper.load()
        state = keeper.read_state()
        assert state is not None
        assert (state.parts["calls"].status, state.calls, state.is_ready("deals", "history")) == (status, "activities", True)
    await world.withhold()
    await world.refresh(keeper, after=7 * 3600)
    await keeper.load()
    state = keeper.read_state()
    assert state is not None
    assert (state.parts["calls"].status, state.calls) == ("ready", "voximplant")
    await equal_a_fresh_load(world, keeper)


async def test_a_right_that_is_lost_later_is_told(world: World) -> None:
    keeper = world.keep()
    await keeper.load()
    await world.withhold(denied=["voximplant.statistic.get", "crm.stagehistory.list"])
    await world.refresh(keeper)
    state = keeper.read_state()
    assert state is not None
    assert (state.parts["calls"].status, state.parts["history"].status, state.calls) == ("no_right", "no_right", "activities")
    assert state.is_ready("deals", "leads")


async def test_a_clock_of_the_portal_that_is_ahead_changes_nothing(world: World) -> None:
    """An hour ahead, then set right: what happens is seen, for moments are the portal's, and ages are measured by ours."""
    keeper, firm = world.keep(), Firm(world.portal, seed=3)
    await firm.begin()
    world.portal.clock.move(hours=1)
    await keeper.load()
    await firm.act(20)
    world.portal.clock.move(hours=-1)
    await firm.act(20)
    await world.refresh(keeper)
    await keeper.load()
    await equal_a_fresh_load(world, keeper)


async def equal_a_fresh_load(world: World, keeper: MirrorKeeper) -> None:
    """Also the chances, which are computed when the books are read."""
    await world.refresh(keeper, after=700)
    fresh = world.keep("fresh")
    await fresh.load()
    assert dump(keeper) == dump(fresh)
    fresh.close()
