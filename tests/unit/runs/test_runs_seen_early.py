"""What lets a run go on can be seen in the database before the state of its session has the commit that stored it: nothing is lost by that."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.domain.run_inputs import RunPlay
from state.journal.store import Commit, InboxRow, Lane, StoredEvent
from tests.unit.runs.runs_kit import a_run_world, events, index, start, steps
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import World

ROUNDS = 60
"""So many rounds of the loop lie between a commit and its coming into the state: enough for a whole pass over a run."""


def come_late(world: World, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Let what was stored come into the state later, as where the thread of the commit waits for the processor while others read.

    The event says that something is stored.
    """
    commit_then, is_stored = world.store.commit_then, asyncio.Event()

    async def commit_late(commit: Commit, then: Callable[[list[StoredEvent]], None]) -> None:
        stored: list[list[StoredEvent]] = []
        await commit_then(commit, stored.append)
        is_stored.set()
        for _ in range(ROUNDS):
            await asyncio.sleep(0)
        then(stored[0])

    monkeypatch.setattr(world.store, "commit_then", commit_late)
    return is_stored


@pytest.mark.req("G2")
async def test_a_retry_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen in the crash lab on a busy machine: the run was taken for one that is over, its input was done, and nothing ever woke it."""
    async with a_run_world(tmp_path, {"plan": steps({"child": "nowhere"})}) as world:
        await world.work(start("plan"))
        come_late(world, monkeypatch)
        await world.work(order("retry"))
        assert (index(world).status, len(events(world, "RunFinished"))) == ("failed", 2)


@pytest.mark.req("G2")
async def test_a_retry_that_is_stored_while_the_run_is_looked_at_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One pass serves all inputs that let the run go on; what it serves with is the state that they were stored with."""
    async with a_run_world(tmp_path, {"plan": steps({"child": "nowhere"})}) as world:
        await world.work(start("plan"))
        is_stored, list_waiting = come_late(world, monkeypatch), world.store.list_waiting_inbox

        async def list_once_stored(session: str, lane: Lane) -> list[InboxRow]:
            await is_stored.wait()
            return await list_waiting(session, lane)

        monkeypatch.setattr(world.store, "list_waiting_inbox", list_once_stored)
        late = replace(order(""), lane="turn", kind=RunPlay.KIND, body=RunPlay().to_json())
        await world.work(late, order("retry"))
        assert (index(world).status, len(events(world, "RunFinished"))) == ("failed", 2)
