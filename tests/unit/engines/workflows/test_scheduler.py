"""The scheduler runs each place of a graph once, when what it needs has ended, and starts nothing after a failure."""

import asyncio
import random
from collections.abc import Sequence
from typing import Literal

import pytest

from engines.workflows.core.scheduler import Graph, play_graph
from orchestrator.engines.runs import RunSuspended


def graph(*needs: Sequence[int]) -> Graph:
    """A graph in which each place needs these."""
    dependents: list[list[int]] = [[] for _ in needs]
    levels: list[int] = []
    for place, wanted in enumerate(needs):
        for one in wanted:
            dependents[one].append(place)
        levels.append(1 + max((levels[one] for one in wanted), default=-1))
    batches = [[place for place, level in enumerate(levels) if level == number] for number in range(max(levels, default=-1) + 1)]
    return Graph(needs=needs, dependents=dependents, levels=batches)


LANES = graph([], [0], [], [2])
"""Two chains of two: 0 → 1 and 2 → 3."""


@pytest.mark.req("S003-15", "S003-30")
async def test_each_place_is_played_once_after_what_it_needs() -> None:
    """In 200 random graphs every place is played exactly once, and never before one that it needs."""
    for seed in range(200):
        dice = random.Random(seed)  # noqa: S311 - a plan is no secret
        needs = [sorted(dice.sample(range(place), min(place, dice.randint(0, 3)))) for place in range(dice.randint(1, 40))]
        ended: list[int] = []

        async def play(place: int, needs: Sequence[Sequence[int]] = needs, ended: list[int] = ended) -> None:
            assert set(needs[place]) <= set(ended)
            for _ in range(place % 3):
                await asyncio.sleep(0)
            ended.append(place)

        for scheduling in ("ready", "batch"):
            ended.clear()
            played = await play_graph(graph(*needs), play, scheduling=scheduling)  # type: ignore[arg-type]  # one of the two words
            assert sorted(ended) == list(range(len(needs))) == sorted(played.finished)


async def test_a_place_starts_with_its_last_input_and_not_with_its_batch() -> None:
    """The second place of one chain starts while the first of the other still runs; by batches it waits."""
    for scheduling, expected in (("ready", True), ("batch", False)):
        slow, started = asyncio.Event(), asyncio.Event()

        async def play(place: int, slow: asyncio.Event = slow, started: asyncio.Event = started) -> None:
            if place == 0:
                await slow.wait()
            if place == 3:
                started.set()

        playing = asyncio.create_task(play_graph(LANES, play, scheduling=scheduling))  # type: ignore[arg-type]  # one of the two words
        for _ in range(10):
            await asyncio.sleep(0)
        assert started.is_set() is expected
        slow.set()
        assert (await playing).finished == {0, 1, 2, 3}


@pytest.mark.req("S003-X4")
async def test_after_a_failure_nothing_starts_and_what_runs_ends() -> None:
    """What was running is finished; with `finish` whatever does not need the failed place still runs."""
    for on_failure, finished in (("stop", {2}), ("finish", {2, 3})):
        running, failed = asyncio.Event(), asyncio.Event()

        async def play(place: int, running: asyncio.Event = running, failed: asyncio.Event = failed) -> None:
            if place == 0:
                await running.wait()
                failed.set()
                raise ValueError("no")
            if place == 2:
                running.set()
                await failed.wait()
                await asyncio.sleep(0)

        played = await play_graph(LANES, play, on_failure=on_failure)  # type: ignore[arg-type]  # one of the two words
        assert played.finished == finished
        assert set(played.failed) == {0}


async def test_a_place_that_waits_holds_up_only_what_needs_it() -> None:
    """The other chain is played to its end."""

    async def play(place: int) -> None:
        if place == 0:
            raise RunSuspended("0")

    played = await play_graph(LANES, play)
    assert played.finished == {2, 3}
    assert set(played.waiting) == {0}


async def test_cancelling_ends_everything_that_runs() -> None:
    """Nothing goes on behind the back of whoever cancelled."""
    ended: list[int] = []

    async def play(place: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(place)

    playing = asyncio.create_task(play_graph(LANES, play))
    for _ in range(5):
        await asyncio.sleep(0)
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing
    assert sorted(ended) == [0, 2]


@pytest.mark.long
async def test_a_chain_of_ten_thousand_runs() -> None:
    """Depth costs no recursion."""
    chain = graph([], *([place] for place in range(9_999)))
    played = await play_graph(chain, _play_nothing)
    assert len(played.finished) == 10_000


async def _play_nothing(_place: int) -> None:
    """End at once."""


@pytest.mark.req("S003-13", "S003-X4")
@pytest.mark.parametrize("scheduling", ["ready", "batch"])
@pytest.mark.parametrize("failing", [0, 1, 2])
async def test_a_failure_holds_back_nothing_that_was_ready_before_it(failing: int, scheduling: Literal["ready", "batch"]) -> None:
    """Which of three places that wait for nothing stands first changes nothing: all of them are played, and what needs them is not."""

    async def play(place: int) -> None:
        if place == failing:
            raise ValueError("no")

    played = await play_graph(graph([], [], [], [0], [1], [2]), play, scheduling=scheduling)
    assert {*played.finished, *played.failed} >= {0, 1, 2}
    assert set(played.failed) == {failing}
