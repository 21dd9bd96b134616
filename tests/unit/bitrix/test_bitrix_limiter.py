import asyncio
from typing import Any

import pytest

from bitrix.limits.limiter import Limiter, Priority, SendResult
from bitrix.limits.plan import PLANS, Plan, parse_plan


class PortalBucket:
    """The portal's own counter, as its documentation describes it."""

    def __init__(self, time: Any, *, level: float = 0.0) -> None:
        self.time, self.level, self.seen_at, self.refused = time, level, time.now, 0

    def hit(self) -> None:
        self.level = max(0.0, self.level - (self.time.now - self.seen_at) * 2) + 1
        self.seen_at = self.time.now
        self.refused += self.level > 50


def limiter(time: Any, **options: Any) -> Limiter:
    """A limiter that lives in fake time."""
    return Limiter(clock=time.clock, sleep=time.sleep, **options)


async def test_floor_time(fake_time: Any) -> None:
    """Sixty calls take the floor time and the half second that is spared, and the portal refuses none."""
    fake_time.flows = True
    ours, portal = limiter(fake_time), PortalBucket(fake_time)

    async def send() -> None:
        await ours.acquire()
        portal.hit()

    async with asyncio.TaskGroup() as group:
        for _ in range(60):
            group.create_task(send())

    assert portal.refused == 0
    assert fake_time.now - 1_000 == pytest.approx((60 - 50) / 2 + 0.5)


async def test_order(fake_time: Any) -> None:
    """Waiters go one by one in order and interactive ones first."""
    ours, gone = limiter(fake_time, burst=1), []

    async def send(name: str, priority: Priority) -> None:
        await ours.acquire(priority)
        gone.append((name, fake_time.now - 1_000))
        ours.settle(SendResult.PASSED)

    async with asyncio.TaskGroup() as group:
        group.create_task(send("free", Priority.BULK))
        for name in ("bulk 1", "bulk 2"):
            group.create_task(send(name, Priority.BULK))
        await fake_time.advance(0.25)
        group.create_task(send("person 1", Priority.INTERACTIVE))
        group.create_task(send("person 2", Priority.INTERACTIVE))
        await fake_time.advance(3)

    assert gone == [("free", 0.0), ("person 1", 0.5), ("person 2", 1.0), ("bulk 1", 1.5), ("bulk 2", 2.0)]


@pytest.mark.parametrize("cancelled", [0, 1], ids=["the head", "one behind it"])
async def test_cancel(fake_time: Any, cancelled: int) -> None:
    """A cancelled waiter counts nothing and holds nobody up."""
    ours, gone = limiter(fake_time, burst=1), []
    await ours.acquire()

    async def send(name: str) -> None:
        await ours.acquire()
        gone.append((name, fake_time.now - 1_000))

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(send(name)) for name in ("a", "b", "c")]
        await fake_time.advance(0.25)
        tasks[cancelled].cancel()
        await fake_time.advance(2)

    left = [name for name in ("a", "b", "c") if name != ("a", "b")[cancelled]]
    assert gone == [(left[0], 0.5), (left[1], 1.0)]


@pytest.mark.parametrize("counted", [1, 0], ids=["refused ones count", "they do not"])
async def test_refused(fake_time: Any, counted: int) -> None:
    """After a refusal by a full portal the next send succeeds, whether the refused one counted there or not."""
    fake_time.flows = True
    ours, portal = limiter(fake_time), PortalBucket(fake_time, level=50.0)
    await ours.acquire()
    portal.hit()
    portal.level -= 1 - counted
    ours.settle(SendResult.REFUSED)

    for _ in range(5):
        await ours.acquire()
        portal.hit()
        ours.settle(SendResult.PASSED)

    assert portal.refused == 1
    assert fake_time.now - 1_000 == pytest.approx(1.0 + 4 * 0.5)


@pytest.mark.parametrize(
    ("fate", "follow"),
    [(SendResult.PASSED, 3), (SendResult.REFUSED, 0), (SendResult.UNHEARD, 1)],
    ids=["let through", "refused", "no answer"],
)
async def test_slow_start(fake_time: Any, fate: SendResult, follow: int) -> None:
    """With an unknown level the first bulk send goes alone, after a long silence too; a person is never held up by that."""
    ours, gone = limiter(fake_time), []

    async def send(priority: Priority) -> None:
        await ours.acquire(priority)
        gone.append(priority)

    tasks = [asyncio.ensure_future(send(Priority.BULK)) for _ in range(4)]
    await fake_time.advance(20)
    assert gone == [Priority.BULK]
    tasks.append(asyncio.ensure_future(send(Priority.INTERACTIVE)))
    await fake_time.settle()
    assert gone == [Priority.BULK, Priority.INTERACTIVE]
    ours.settle(fate)
    ours.settle(SendResult.UNHEARD)
    await fake_time.settle()
    assert gone[2:] == [Priority.BULK] * follow

    for _ in range(3):
        await fake_time.advance(4)
        ours.settle(SendResult.PASSED)
    assert len(gone) == 5
    await fake_time.advance(25)
    tasks += [asyncio.ensure_future(send(Priority.BULK)) for _ in range(2)]
    await fake_time.settle()
    assert len(gone) == 6
    for task in tasks:
        task.cancel()


async def test_idle(fake_time: Any) -> None:
    """An idle hour gives no more than one burst."""
    fake_time.flows = True
    ours = limiter(fake_time, burst=3)
    fake_time.now += 3_600
    for _ in range(5):
        await ours.acquire()
    assert fake_time.slept == [pytest.approx(0.5)] * 3


async def test_off(fake_time: Any) -> None:
    """The limiter that is off never waits."""
    ours = Limiter.create_unlimited(clock=fake_time.clock, sleep=fake_time.sleep)
    for _ in range(200):
        await ours.acquire(Priority.BULK)
        ours.settle(SendResult.REFUSED)
    assert fake_time.slept == []


@pytest.mark.parametrize("options", [{"rate": 0}, {"rate": -1}, {"burst": 0}, {"rate": float("nan")}])
def test_bad_options(options: Any) -> None:
    """A limiter that could never let go is refused."""
    with pytest.raises(ValueError, match="rate above 0"):
        Limiter(**options)


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("standard", Plan(2, 50)),
        ("enterprise", Plan(5, 250)),
        ("off", PLANS["off"]),
        ("10/300", Plan(10, 300)),
        ("0.5/1", Plan(0.5, 1)),
        *((text, None) for text in ("", "Standard", "pro", "2", "2/", "/50", "0/50", "2/0", "-2/50", "2/50/1", "inf/5", "2/5e9", "²/50")),
    ],
)
def test_plans(text: str, plan: Plan | None) -> None:
    """A plan is named or written as rate/burst; anything else is refused."""
    if plan is None:
        with pytest.raises(ValueError, match=r"10/300|rate above 0"):
            parse_plan(text)
    else:
        assert parse_plan(text) == plan
