"""The bucket of all processes over every kind of store: places are given out once, whoever asks, and come back with time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

import pytest

from bitrix.limits.limiter import Limiter, Priority, SendResult, SharedLevel, Traffic
from bitrix.limits.plan import Plan
from state.journal.async_store import AsyncStore
from state.sql import open_store
from tests.contract.store_kit import STORES
from tests.fixed_clock import FixedClock

PLAN = Plan(2.0, 50.0)
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
PORTAL = "portal.example"


@pytest.fixture(params=STORES)
async def stores(request: pytest.FixtureRequest, fresh_url: Callable[[str], str]) -> AsyncIterator[list[AsyncStore]]:
    """The stores of two processes on one database; what is in memory has only one."""
    url = fresh_url(request.param)
    async with AsyncExitStack() as stack:
        opened = []
        for _ in range(1 if request.param == "memory" else 2):
            opened.append(AsyncStore(open_store(url)))
            stack.push_async_callback(opened[-1].aclose)
        yield opened


async def test_places(stores: list[AsyncStore]) -> None:
    """Many who ask at once get as many places as the bucket has, then as many as have drained; the rest learn how long to wait."""
    clock = FixedClock(NOW)
    levels = [SharedLevel(stores[number % len(stores)], PORTAL, now=clock.now) for number in range(4)]

    async def taken() -> list[float]:
        places = await asyncio.gather(*(levels[number % 4].take(PLAN, Traffic()) for number in range(60)))
        return sorted(place.wait for place in places if place)

    assert await taken() == [0.0] * 49 + [0.5] * 11
    clock.advance(timedelta(seconds=1.5))
    assert await taken() == [0.0] * 3 + [0.5] * 57
    clock.advance(timedelta(hours=1))
    assert await taken() == [0.0] * 49 + [0.5] * 11


async def test_traffic(stores: list[AsyncStore]) -> None:
    """What is told is added up by all, a refusal fills the bucket for all, and each portal has its own."""
    clock = FixedClock(NOW)
    one, two = (SharedLevel(stores[number % len(stores)], PORTAL, now=clock.now) for number in range(2))
    other = SharedLevel(stores[0], "other.example:8443", now=clock.now)
    steps = [
        (one, Traffic(sent=5), 0, 5.0),
        (two, Traffic(sent=2), 0, 7.0),
        (one, Traffic(), 2, 3.0),
        (two, Traffic(sent=1, refused=1), 0, 50.0),
        (one, Traffic(refused=2), 0, 52.0),
        (other, Traffic(sent=1), 0, 1.0),
        (one, Traffic(), 10, 32.0),
    ]
    for level, traffic, later, then in steps:
        clock.advance(timedelta(seconds=later))
        assert await level.add(PLAN, traffic) == pytest.approx(then)


async def test_a_clock_set_back(stores: list[AsyncStore]) -> None:
    """A full bucket stamped by a clock six hours ahead drains from now on, though nobody but those who wait asks for it."""
    clock = FixedClock(NOW)
    ahead = SharedLevel(stores[0], PORTAL, now=lambda: clock.now() + timedelta(hours=6))
    ours = SharedLevel(stores[-1], PORTAL, now=clock.now)
    assert await ahead.add(PLAN, Traffic(refused=1)) == 50.0
    waits = []
    for _ in range(4):
        place = await ours.take(PLAN, Traffic())
        assert place is not None
        waits.append(place.wait)
        clock.advance(timedelta(seconds=0.5))
    assert waits == [1.0, 0.5, 0.0, 0.0]


async def test_restart(stores: list[AsyncStore]) -> None:
    """A process that starts anew knows what its predecessor sent, and does not overfill the bucket."""
    clock = FixedClock(NOW)
    for store, expected in ((stores[0], 39), (stores[-1], 0)):
        slept: list[float] = []

        async def sleep(seconds: float, slept: list[float] = slept) -> None:
            slept.append(seconds)
            raise TimeoutError

        limiter = Limiter(shared=SharedLevel(store, PORTAL, now=clock.now), clock=lambda: 0.0, sleep=sleep)
        for _ in range(expected):
            await limiter.acquire(Priority.BULK)
            limiter.settle(SendResult.PASSED)
        with pytest.raises(TimeoutError):
            await limiter.acquire(Priority.BULK)
        assert slept == [0.5]
        await limiter.aclose()
