"""Quick calls run in the loop's thread, slow ones in another: nobody is held up for longer than one call."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from typing import Any

import pytest

from state.journal import quick_worker
from state.journal.quick_worker import FULL, IN_A_ROW, LONGEST_PAUSE, PAUSE, SLOW, UNWATCHED, LoopRound, QuickWorker
from state.journal.store import StoreLocked, StoreUnwritable


class Desk:
    """A worker on a clock that moves only when a call takes its time."""

    def __init__(self, *, in_order: bool = True) -> None:
        self.now = 100.0
        self.locked = False
        self.worker = QuickWorker("test", self.run_here, LoopRound(), in_order=in_order)

    def perf_counter(self) -> float:
        return self.now

    def run_here(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if self.locked:
            raise StoreLocked("somebody else has it")
        return function(*args, **kwargs)

    def work(self, seconds: float = 0.0) -> threading.Thread:
        """A call that takes so long, and says in which thread it ran."""
        self.now += seconds
        return threading.current_thread()

    async def is_here(self, seconds: float = 0.0) -> bool:
        """Whether such a call ran in the loop's thread."""
        return await self.worker.call(self.work, seconds) is threading.current_thread()

    async def call_in_full_round(self, function: Callable[[], Any]) -> Any:
        """Call it when others have run for long in this round of the loop."""
        self.worker._round.spend(FULL)
        return await self.worker.call(function)


@pytest.fixture
async def desk(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    made = Desk()
    monkeypatch.setattr(quick_worker.time, "perf_counter", made.perf_counter)
    monkeypatch.setattr(quick_worker.os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    yield made
    await made.worker.aclose()


async def test_quick_calls_need_no_thread(desk: Desk) -> None:
    """However many there are."""
    assert [await desk.is_here(SLOW / 10) for _ in range(30)] == [True] * 30


async def test_after_a_slow_call_others_run_in_the_thread_for_a_while(desk: Desk) -> None:
    """A disk that stalls for two seconds holds up the loop once; the pause lasts a multiple of that, and quick calls must have followed."""
    assert await desk.is_here(2.0)
    assert [await desk.is_here() for _ in range(20)] == [False] * 20
    desk.now += 2.0 * PAUSE
    assert await desk.is_here()


async def test_quick_calls_must_follow_in_a_row(desk: Desk) -> None:
    """While the disk goes on stalling, the end of the pause changes nothing."""
    await desk.is_here(1.0)
    desk.now += PAUSE + 1
    assert [await desk.is_here(seconds) for seconds in (0, 0, 1.0, *[0] * IN_A_ROW)] == [False] * (3 + IN_A_ROW)
    assert await desk.is_here()


async def test_pauses_grow_while_the_disk_stays_slow(desk: Desk) -> None:
    """A disk that is slow each time is tried seldom, and at least once a minute."""
    pauses = []
    for _ in range(12):
        assert await desk.is_here(SLOW * 1.5)
        since = desk.now
        while not await desk.is_here():
            desk.now += 0.01
        pauses.append(desk.now - since)
    assert pauses[0] == pytest.approx(SLOW * 1.5 * PAUSE, abs=0.1)
    assert all(later > 1.8 * earlier for earlier, later in pairwise(pauses[:6]))
    assert 4.0 < max(pauses) <= LONGEST_PAUSE


async def test_what_is_slow_each_time_sends_nobody_else_to_the_thread(desk: Desk) -> None:
    """A report over the whole journal takes long because it is long: after its first time it says nothing of the disk."""

    def report() -> threading.Thread:
        return desk.work(0.5)

    here = threading.current_thread()
    assert await desk.worker.call(report) is here
    for _ in range(IN_A_ROW):
        assert await desk.worker.call(report) is not here
        await desk.is_here()
    desk.now += 0.5 * PAUSE
    assert await desk.is_here()
    assert await desk.worker.call(report) is not here
    assert await desk.is_here()


async def test_a_function_of_unknown_cost_is_tried_in_the_thread_first(desk: Desk) -> None:
    """The first time of a long one must not hold up everybody."""
    here = threading.current_thread()
    ran = [await desk.worker.call_unmeasured(desk.work) is here for _ in range(IN_A_ROW + 1)]
    assert ran == [*[False] * IN_A_ROW, True]


async def test_a_call_that_would_wait_for_a_lock_waits_in_the_thread(desk: Desk) -> None:
    """Nobody else is held up; the caller gets what it asked for."""
    desk.locked = True
    assert not await desk.is_here()
    desk.locked = False
    assert [await desk.is_here() for _ in range(IN_A_ROW)] == [*[False] * (IN_A_ROW - 1), True]


async def test_calls_keep_their_order_while_one_is_in_the_thread(desk: Desk) -> None:
    """A later write never overtakes an earlier one."""
    free, done = threading.Event(), []
    first = asyncio.ensure_future(desk.worker.call_in_thread(lambda: (free.wait(5), done.append("first"))))
    await asyncio.sleep(0)
    second = asyncio.ensure_future(desk.worker.call(lambda: done.append("second")))
    await asyncio.sleep(0)
    assert done == []
    free.set()
    await asyncio.gather(first, second)
    assert done == ["first", "second"]


async def test_reads_do_not_wait_for_one_in_the_thread(desk: Desk) -> None:
    """A long report holds up no point read."""
    reader = QuickWorker("reader", desk.run_here, LoopRound(), in_order=False)
    free = threading.Event()
    report = asyncio.ensure_future(reader.call_in_thread(free.wait, 5))
    await asyncio.sleep(0)
    assert await reader.call(desk.work) is threading.current_thread()
    free.set()
    await report
    await reader.aclose()


async def test_a_caller_of_many_calls_lets_others_have_their_turn(desk: Desk) -> None:
    """A loop of calls that never wait would otherwise hold up everybody, and could not be cancelled."""
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.ensure_future(others())
    for _ in range(20):
        await desk.is_here(FULL / 4)
    beside.cancel()
    assert turns >= 4


async def test_quick_calls_leave_the_loop_alone_and_fill_no_round(desk: Desk) -> None:
    """A round for each, nothing is scheduled for few of them, and many in many rounds never make a later one full."""
    scheduled = 0
    loop = asyncio.get_running_loop()
    call_soon = loop.call_soon

    def count(*given: Any, **more: Any) -> asyncio.Handle:
        nonlocal scheduled
        scheduled += 1
        return call_soon(*given, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "call_soon", count)
        for _ in range(10):
            assert await desk.is_here(UNWATCHED / 20)
        assert scheduled == 0
    for _ in range(20):
        assert await desk.is_here(UNWATCHED * 0.9)
        assert not desk.worker._round.is_full
        await asyncio.sleep(0)


async def test_calls_that_wait_for_a_round_do_not_all_run_in_the_next_one(desk: Desk) -> None:
    """Two hundred people at once: between the calls that a round has room for, others get their turn; each round has one at least."""
    rounds = 0
    ran_in: list[int] = []

    async def others() -> None:
        nonlocal rounds
        while len(ran_in) < 12:
            rounds += 1
            await asyncio.sleep(0)

    def work() -> None:
        desk.now += FULL * 0.3
        ran_in.append(rounds)

    await asyncio.gather(others(), *(desk.call_in_full_round(work) for _ in range(12)))
    assert [ran_in.count(one) for one in sorted(set(ran_in))] == [4, 4, 4]


async def test_what_was_handed_in_is_done_also_if_its_caller_is_cancelled_before_its_round(desk: Desk) -> None:
    """As in the thread: the cancellation is raised after the call."""
    done: list[int] = []
    waiting = asyncio.ensure_future(desk.call_in_full_round(lambda: done.append(1)))
    await asyncio.sleep(0)
    assert done == []
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert done == [1]


async def test_what_was_handed_in_is_done_also_if_its_caller_is_cancelled_twice(desk: Desk) -> None:
    """A time limit and a shutdown may meet in one round of the loop: a write that nobody carried out would be lost to both."""
    done: list[int] = []
    waiting = asyncio.ensure_future(desk.call_in_full_round(lambda: done.append(1)))
    await asyncio.sleep(0)
    waiting.cancel()
    following = desk.worker._round._next
    assert following is not None
    following.add_done_callback(lambda _: waiting.cancel())  # once the first one has woken it
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert done == [1]


async def test_closing_waits_for_the_calls_of_the_next_round(desk: Desk) -> None:
    """Taken is taken; what comes later is refused."""
    waiting = asyncio.ensure_future(desk.call_in_full_round(desk.work))
    await asyncio.sleep(0)
    closing = asyncio.ensure_future(desk.worker.aclose())
    await asyncio.sleep(0)
    with pytest.raises(StoreUnwritable):
        await desk.worker.call(desk.work)
    await closing
    assert await waiting is threading.current_thread()


async def test_errors_reach_the_caller_and_count_as_calls(desk: Desk) -> None:
    """A disk that stalls and then fails was slow, too."""

    def fail() -> None:
        desk.work(1.0)
        raise StoreUnwritable("disk I/O error")

    with pytest.raises(StoreUnwritable, match="disk I/O error"):
        await desk.worker.call(fail)
    assert not await desk.is_here()


def test_on_an_overloaded_machine_slow_means_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where ten processes share a processor each call takes longer, in the thread, too; but four times is slow however many wait for a disk."""
    monkeypatch.setattr(quick_worker, "_PROCESSORS", 2)
    monkeypatch.setattr(quick_worker.os, "getloadavg", lambda: (20.0, 0.0, 0.0))
    assert [quick_worker.is_slow(SLOW * times) for times in (1, 3, 4)] == [False, False, True]
    monkeypatch.setattr(quick_worker.os, "getloadavg", lambda: (0.5, 0.0, 0.0))
    assert quick_worker.is_slow(SLOW)


async def test_what_was_done_is_answered_also_if_nobody_tells_the_load(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without /proc, or without a descriptor to open it: a stored commit that is answered with an error would be made again."""

    def refuse() -> tuple[float, float, float]:
        raise OSError("load averages are unobtainable")

    monkeypatch.setattr(quick_worker.os, "getloadavg", refuse)
    assert await desk.is_here(SLOW * 2)
    assert not await desk.is_here(SLOW * 2)
    assert not await desk.is_here()
