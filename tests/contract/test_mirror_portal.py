"""The mirror against the sandbox portal: after any changes it equals one that is loaded anew."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

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
        world.portal.clock.move(seconds=60)
        await world.refresh(keeper)
        if number % 10 == 9 or number == rounds - 1:
            fresh = world.keep(f"fresh{number}")
            await fresh.load()
            assert dump(keeper) == dump(fresh)
            fresh.close()
    assert min(firm.done.values()) > rounds / 4
