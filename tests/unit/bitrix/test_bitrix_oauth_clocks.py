"""The token of an application when clocks are wrong, and where it may not show."""

import asyncio
import sys
from datetime import timedelta

import pytest

from bitrix.auth.oauth import CLAIM
from bitrix.errors import NoAccess, NotSent
from bitrix.limits.limiter import Limiter, Priority
from state.sql import open_store
from tests.unit.bitrix.oauth_kit import Processes, World, until


@pytest.mark.parametrize(("claimed", "longest"), [(6 * 3600, 1), (40, 6), (33, 35), (20, 21), (-5, 1)])
async def test_a_claim_of_a_dead_process(world: World, processes: Processes, claimed: float, longest: float) -> None:
    """However wrong the clock was that set it, it holds nobody up for longer than a claim may last."""
    began = processes.hour.now
    processes.hour.now += timedelta(seconds=claimed) - CLAIM
    dying, answer = open_store(processes.url), asyncio.Event()
    world.holds, world.server_does = [answer], [(500, "")]
    call = asyncio.create_task(processes.start(store=dying).call("profile", {}))
    await until(lambda: len(world.asked) == 1)
    dying.close()
    answer.set()
    with pytest.raises(NotSent):
        await call
    processes.hour.now = began
    async with asyncio.timeout(30):
        await processes.start().call("profile", {})

    assert len(world.asked) == 2
    assert processes.hour.now - began <= timedelta(seconds=longest)
    assert claimed not in {20, 33} or processes.hour.now - began >= timedelta(seconds=claimed)


async def test_a_refusal_remembered_by_a_wrong_clock(world: World, processes: Processes) -> None:
    """A clock set back by hours does not keep a refusal for hours."""
    client = processes.start()
    world.server_does = [(200, {"error": "PAYMENT_REQUIRED"})]
    with pytest.raises(NoAccess):
        await client.call("profile", {})
    processes.hour.now -= timedelta(hours=6)
    await client.call("profile", {})
    assert len(world.asked) == 2


async def test_a_request_shows_no_token(world: World, processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a debugger or a careless log line shows of a request under way holds no token."""
    seen: list[str] = []
    limiter = Limiter.create_unlimited(sleep=processes.hour.sleep)
    client = processes.start(limiter=limiter)
    acquire = limiter.acquire

    async def look(priority: Priority, source: str) -> None:
        frame = sys._getframe()
        while frame.f_back is not None:
            seen.extend(repr(value) for value in frame.f_locals.values() if type(value).__module__ == "bitrix.client.client")
            frame = frame.f_back
        await acquire(priority, source)

    monkeypatch.setattr(limiter, "acquire", look)
    await client.call("profile", {"id": 1})
    assert any("profile" in text for text in seen)
    assert not any("accesstoken1" in text for text in seen)
