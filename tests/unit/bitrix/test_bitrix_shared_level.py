"""Several limiters, as of several processes, on one stored bucket."""

import asyncio
import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bitrix.limits.limiter import DUE_AFTER, QUANTUM, Limiter, Priority, SendResult, SharedLevel, Traffic
from bitrix.limits.plan import Plan
from state.sql import SqlStore, open_store

PORTAL = "portal.example"
BULK, PERSON = Priority.BULK, Priority.INTERACTIVE


class Direct:
    """The store, asked within the loop so that fake time need not wait for threads; fails while told to."""

    def __init__(self, store: SqlStore) -> None:
        self.store, self.asked, self.broken = store, 0, False

    async def get_value(self, key: str) -> str | None:
        self.asked += 1
        if self.broken:
            raise OSError("disk full")
        await asyncio.sleep(0)
        return self.store.get_value(key)

    async def swap_value(self, key: str, expected: str | None, value: str) -> bool:
        await asyncio.sleep(0)
        return self.store.swap_value(key, expected, value)


class Portal:
    """One counter for everybody, as the documentation describes it."""

    def __init__(self, time: Any) -> None:
        self.time, self.level, self.seen_at, self.highest, self.hits = time, 0.0, time.now, 0.0, 0

    def hit(self) -> None:
        self.level = max(0.0, self.level - (self.time.now - self.seen_at) * 2) + 1
        self.seen_at, self.hits = self.time.now, self.hits + 1
        self.highest = max(self.highest, self.level)


@pytest.fixture
def direct() -> Iterator[Direct]:
    """A store in memory."""
    store = open_store("sqlite://")
    yield Direct(store)
    store.close()


def process(time: Any, direct: Direct, ahead: float = 0.0) -> Limiter:
    """The limiter of one process whose wall clock runs `ahead`."""
    level = SharedLevel(direct, PORTAL, now=lambda: datetime.fromtimestamp(time.now + ahead, UTC))
    return Limiter(shared=level, clock=time.clock, sleep=time.sleep)


@pytest.mark.parametrize("ahead", [0.0, 2.0], ids=["clocks agree", "one clock is ahead"])
@pytest.mark.parametrize(("kinds", "over"), [((BULK, BULK), 0), ((BULK, PERSON), QUANTUM), ((PERSON, PERSON), QUANTUM)])
async def test_two_processes(fake_time: Any, direct: Direct, kinds: tuple[Priority, Priority], over: int, ahead: float) -> None:
    """Two processes that send all they can stay below the threshold, but for a few that people sent untold; and lose little time."""
    portal = Portal(fake_time)
    ours = [process(fake_time, direct), process(fake_time, direct, ahead)]

    async def work(limiter: Limiter, priority: Priority) -> None:
        for _ in range(60):
            await limiter.acquire(priority)
            portal.hit()
            limiter.settle(SendResult.PASSED)

    works = [asyncio.ensure_future(work(limiter, kind)) for limiter, kind in zip(ours, kinds, strict=True)]
    while not all(task.done() for task in works):
        await fake_time.advance(0.1)
    for limiter in ours:
        await limiter.aclose()

    assert portal.hits == 120
    assert portal.highest <= 50 + over + 2 * ahead  # a clock that is ahead believes in so much draining, once
    kept = Plan().kept_for_people if BULK in kinds else 0
    assert fake_time.now - 1_000 <= (120 - 50 + kept) / 2 + 0.5 + ahead + 0.2


async def test_far_below(fake_time: Any, direct: Direct) -> None:
    """A person's sends far below the threshold never wait for the store; it hears of them within half a second, at the end of all."""
    ours, other = process(fake_time, direct), process(fake_time, direct)
    direct.asked = -1_000_000
    for _ in range(QUANTUM):
        acquired = ours.acquire()
        with pytest.raises(StopIteration):  # without a single suspension
            acquired.send(None)
        ours.settle(SendResult.PASSED)
    assert direct.asked == -1_000_000

    await fake_time.advance(0.5)
    level = SharedLevel(direct, PORTAL, now=lambda: datetime.fromtimestamp(fake_time.now, UTC))
    assert await level.add(Plan(), Traffic()) == pytest.approx(QUANTUM - 1)
    await ours.acquire()
    await ours.aclose()
    assert await level.add(Plan(), Traffic()) == pytest.approx(QUANTUM)
    await other.aclose()


async def test_refusal_is_shared(fake_time: Any, direct: Direct) -> None:
    """What one process was refused, the others wait for."""
    ours, other = process(fake_time, direct), process(fake_time, direct)
    await ours.acquire(BULK)
    ours.settle(SendResult.REFUSED)
    await fake_time.settle()
    waiting = asyncio.ensure_future(other.acquire(BULK))
    await fake_time.advance(DUE_AFTER - 0.1)
    assert not waiting.done()
    await fake_time.advance(0.2)
    assert waiting.done()
    await ours.aclose()
    await other.aclose()


async def test_broken_store(fake_time: Any, direct: Direct, caplog: pytest.LogCaptureFixture) -> None:
    """A store that fails is only pacing: sends go on at our own pace, one line is logged, and it is asked again later."""
    fake_time.flows = True
    ours, direct.broken = process(fake_time, direct), True
    with caplog.at_level(logging.INFO):
        for _ in range(200):
            await ours.acquire(BULK)
            ours.settle(SendResult.PASSED)
    assert fake_time.now - 1_000 == pytest.approx((200 - 49 + Plan().kept_for_people) / 2)
    assert [(line.levelname, getattr(line, "action", "")) for line in caplog.records] == [("ERROR", "pace.alone")]
    assert direct.asked == 3  # at 0 s, and at rest for half a minute after each failure

    direct.broken = False
    fake_time.now += 30
    await ours.acquire(BULK)
    assert direct.asked == 4
    await ours.aclose()


NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("row", "seconds"),
    [
        (f"49.0 {(NOW + timedelta(hours=6)).isoformat()}", DUE_AFTER),
        (f"49.0 {(NOW + timedelta(seconds=4)).isoformat()}", 4.5),
        (f"1e9 {NOW.isoformat()}", 11),
        (f"1e9 {(NOW + timedelta(hours=6)).isoformat()}", 11),
        (f"inf {NOW.isoformat()}", DUE_AFTER),
        (f"nan {NOW.isoformat()}", DUE_AFTER),
        (f"-1e9 {NOW.isoformat()}", 0),
        ("49.0 2026-11-21T12:00:00", DUE_AFTER),
        ("garbage", DUE_AFTER),
        ("", DUE_AFTER),
    ],
)
async def test_rows_that_nobody_wrote(fake_time: Any, direct: Direct, caplog: pytest.LogCaptureFixture, row: str, seconds: float) -> None:
    """Bulk work is held up for seconds at most by a row of a wrong clock or with another's text, and the row is mended."""
    fake_time.flows, began = True, fake_time.now
    assert direct.store.swap_value(f"bitrix.level.{PORTAL}", None, row)
    shared = SharedLevel(direct, PORTAL, now=lambda: NOW + timedelta(seconds=fake_time.now - began))
    ours = Limiter(shared=shared, clock=fake_time.clock, sleep=fake_time.sleep)
    async with asyncio.timeout(30):
        await ours.acquire(BULK)
    ours.settle(SendResult.PASSED)
    await ours.aclose()

    assert fake_time.now - began == pytest.approx(seconds, abs=0.6)
    level, _, moment = (direct.store.get_value(f"bitrix.level.{PORTAL}") or "").partition(" ")
    assert 0 < float(level) <= 50
    assert abs(datetime.fromisoformat(moment) - NOW) < timedelta(seconds=20)
    assert not caplog.records


async def test_rest_of_a_wrong_clock(direct: Direct) -> None:
    """A clock that is set back while a broken store rests does not make it rest for hours."""
    now, direct.broken = [NOW], True
    shared = SharedLevel(direct, PORTAL, now=lambda: now[0])
    assert await shared.add(Plan(), Traffic(sent=1)) is None
    direct.broken, now[0] = False, NOW - timedelta(hours=6)
    assert await shared.add(Plan(), Traffic(sent=1)) == 1


async def test_clock_set_back(fake_time: Any, direct: Direct) -> None:
    """A wall clock that is set back by an hour does not stop the bucket from draining."""
    now = datetime.fromtimestamp(fake_time.now, UTC)
    assert await SharedLevel(direct, PORTAL, now=lambda: now + timedelta(hours=1)).add(Plan(), Traffic(sent=40)) == 40
    assert await SharedLevel(direct, PORTAL, now=lambda: now).add(Plan(), Traffic()) == 40
    assert await SharedLevel(direct, PORTAL, now=lambda: now + timedelta(seconds=10)).add(Plan(), Traffic()) == 20
