"""Pacing on a clock that the test moves: what passes, who goes first, who waits with whom (facts: telegram §4, edits and own back-off)."""

import asyncio
from collections.abc import Iterator

import pytest

from bot.telegram.outgoing.rate_limiter import Limits, Rank, RateLimiter, Stopped
from bot.token_bucket import BucketRate

GROUP = -100


class Clock:
    """Seconds that only the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Iterator[Clock]:
    return Clock()


async def _passed(pacer: RateLimiter, clock: Clock, chat: int, seconds: float, *, every: float = 0.05) -> list[float]:
    """When calls for a chat pass, of which one always waits."""
    passed: list[float] = []

    async def call() -> None:
        while True:
            await pacer.admit(chat, Rank.FINAL)
            passed.append(clock.now - 100.0)

    task = asyncio.ensure_future(call())
    for _ in range(round(seconds / every)):
        pacer.release_due()
        for _ in range(20):
            await asyncio.sleep(0)
        clock.now += every
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return passed


@pytest.mark.parametrize(("chat", "most_in_a_minute"), [(1007, 63), (GROUP, 18)])
async def test_a_chat_takes_a_short_burst_and_then_its_rate(clock: Clock, chat: int, most_in_a_minute: int) -> None:
    """Edits count as sends: 20 a minute are too many for a group."""
    passed = await _passed(RateLimiter(seconds=clock), clock, chat, 130)
    assert max(sum(at <= moment < at + 60 for moment in passed) for at in passed) <= most_in_a_minute
    assert len(passed) >= 2 * most_in_a_minute - 10
    assert sum(moment == 0 for moment in passed) in (2, 3, 4)


async def test_all_chats_together_keep_below_thirty_a_second_and_cards_go_first(clock: Clock) -> None:
    pacer, passed = RateLimiter(seconds=clock), []

    async def call(number: int, rank: Rank) -> None:
        await pacer.admit(number, rank)
        passed.append((clock.now, rank))

    tasks = [asyncio.ensure_future(call(number, Rank.FINAL)) for number in range(1, 151)]
    await asyncio.sleep(0)
    tasks += [asyncio.ensure_future(call(number, Rank.CARD)) for number in range(151, 201)]
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        pacer.release_due()
        await asyncio.sleep(0)
        clock.now += 0.02
        assert clock.now < 120
    took = clock.now - 100
    assert 7.5 < took < 9
    assert max(sum(at <= moment < at + 1 for moment, _ in passed) for at, _ in passed) <= 27
    assert all(rank is Rank.CARD for _, rank in passed[2:52]), "what a person must decide waits behind answers"


async def test_a_named_wait_is_the_whole_chats_and_nobody_elses(clock: Clock) -> None:
    """Own back-off shorter than retry_after (hermes-agent#52143): the server's number is obeyed."""
    pacer = RateLimiter(seconds=clock)
    pacer.hold(7, 126)
    waiting = asyncio.ensure_future(pacer.admit(7, Rank.CARD))
    await asyncio.wait_for(pacer.admit(8, Rank.FINAL), 30)
    assert not pacer.may_show_now(7)
    assert not pacer.may_draft_now(7)
    for step, is_through in ((125.9, False), (0.2, True)):
        clock.now += step
        pacer.release_due()
        await asyncio.sleep(0)
        assert waiting.done() is is_through


async def test_many_chats_told_to_wait_at_once_mean_that_everybody_waits(clock: Clock) -> None:
    pacer = RateLimiter(seconds=clock)
    for chat in (1, 2, 2, 2):
        pacer.hold(chat, 5)
    assert pacer.measure_hold(9) == 0, "one busy chat was taken for all"
    pacer.hold(3, 5)
    assert pacer.measure_hold(9) == 5
    toast = asyncio.ensure_future(pacer.admit(9, Rank.TOAST))
    await asyncio.sleep(0)
    assert not toast.done()
    clock.now += 5
    pacer.release_due()
    await asyncio.wait_for(toast, 30)


async def test_progress_never_takes_the_place_of_the_answer(clock: Clock) -> None:
    """Edits until the flood limit, then the answer lost (lettabot#433, anything-llm#5447): one place is always left."""
    pacer = RateLimiter(Limits(all=BucketRate(per_second=1, burst=50)), seconds=clock)
    assert [pacer.may_show_now(GROUP) for _ in range(6)] == [True, True, True, False, False, False]
    await asyncio.wait_for(pacer.admit(GROUP, Rank.FINAL), 30)
    waiting = asyncio.ensure_future(pacer.admit(GROUP, Rank.FINAL))
    await asyncio.sleep(0)
    clock.now += 60
    assert not pacer.may_show_now(8), "somebody waits and progress passes"
    pacer.release_due()
    await asyncio.wait_for(waiting, 30)


async def test_a_toast_waits_for_no_message(clock: Clock) -> None:
    """A press is answered within the second, however much its chat has to say."""
    pacer = RateLimiter(seconds=clock)
    pacer.hold(7, 60)
    await asyncio.wait_for(pacer.admit(7, Rank.TOAST), 30)


async def test_a_stop_frees_those_who_wait_and_a_cancelled_one_takes_no_place(clock: Clock) -> None:
    pacer = RateLimiter(Limits(private=BucketRate(per_second=1, burst=1)), seconds=clock)
    await pacer.admit(7, Rank.FINAL)
    gone, first, second = (asyncio.ensure_future(pacer.admit(7, Rank.FINAL)) for _ in range(3))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    clock.now += 1
    pacer.release_due()
    await asyncio.wait_for(first, 30)
    pacer.stop()
    with pytest.raises(Stopped):
        await asyncio.wait_for(second, 30)
    with pytest.raises(Stopped):
        await pacer.admit(8, Rank.TOAST)
    pacer.start()
    await asyncio.wait_for(pacer.admit(8, Rank.TOAST), 30)


async def test_thousands_of_silent_chats_are_forgotten(clock: Clock) -> None:
    pacer = RateLimiter(Limits(all=BucketRate(per_second=1e6, burst=10_000)), seconds=clock)
    for chat in range(1, 5000):
        await pacer.admit(chat, Rank.FINAL)
        clock.now += 0.1
    assert len(pacer._chats) < 2100
