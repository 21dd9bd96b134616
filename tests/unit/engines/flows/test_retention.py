"""Channels keep an entry for as many days as they say, also in a run that waits for weeks, and a visit reads the same each time it is played."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.taint import Value
from state.journal.store import InboxRow
from tests.unit.engines.flows.flow_kit import SILENT, a_flow_world, flow, start, step
from tests.unit.engines.flows.http.flows_kit import FLOWS, a_running_flow_api
from tests.unit.engines.flows.test_flows import told
from tests.unit.runs import runs_kit
from tests.unit.runs.runs_kit import events, index
from tests.unit.spine_kit import World

LOG = [{"channel": "log"}]


def channel(**fields: Any) -> dict[str, Any]:
    """The memory of a flow with the channel "log"."""
    return {"sharedChannels": [{"id": "log", "retentionVersions": 50, **fields}]}


def waiting_flow(**fields: Any) -> dict[str, Any]:
    """A flow whose run may wait between writing and reading."""
    return flow(
        step("note", success="wait", memoryWrites=LOG),
        step("wait", success="read", maxAttempts=2, memoryWrites=LOG),
        step("read", memoryReads=LOG),
        **fields,
    )


def begin(key: str) -> InboxRow:
    """The start of a run under this key."""
    return runs_kit.start("plan", engine="flow", key=key, parameters=Value({}))


async def play(world: World, row: InboxRow, days: float) -> list[str]:
    """Play a run that waits so many days at its second step, and return what the third is told of its channels."""
    world.model.will("один", SILENT)
    await world.work(row)
    world.clock.advance(timedelta(days=days))
    world.model.will("два", "три")
    await world.work()
    assert index(world, row.session).status == "done"
    return [text.partition("\n")[2] for text in told(world, -1)[1:-1]]


@pytest.mark.req("S002-16", "S002-30")
@pytest.mark.parametrize("memory", [channel(retentionDays=10), {}], ids=["declared", "usual"])
async def test_a_run_that_waits_too_long_forgets_what_it_wrote_before(tmp_path: Path, memory: dict[str, Any]) -> None:
    """Ten days if the channel says so, thirty if nobody declared it; younger entries stay."""
    days = 10 if memory else 30
    async with a_flow_world(tmp_path, waiting_flow(memory=memory)) as (world, _):
        assert await play(world, begin("run:1"), days - 1) == ['[{"content":"два"},{"content":"один"}]']
        assert await play(world, begin("run:2"), days + 1) == ['[{"content":"два"}]']


@pytest.mark.req("S002-16")
async def test_what_earlier_runs_left_grows_too_old_in_a_run_that_waits(tmp_path: Path) -> None:
    """An entry of scope `user` was nine days old when the run began, and is eleven when a step reads it."""
    plan = waiting_flow(memory=channel(retentionDays=10, scope="user"))
    async with a_flow_world(tmp_path, plan) as (world, _):
        await play(world, begin("run:1"), 0.01)
        world.clock.advance(timedelta(days=9))
        later = await play(world, begin("run:2"), 2)
        assert later == ['[{"content":"два"},{"content":"один"}]']


async def test_a_visit_is_told_the_same_however_long_it_is_tried(tmp_path: Path) -> None:
    """Its first attempt is told of an entry of nine days and not of one of eleven; the second, weeks later, is asked the same."""
    plan = flow(
        step("first", success="wait", memoryWrites=LOG),
        step("wait", success="second", maxAttempts=2),
        step("second", success="long", memoryWrites=LOG),
        step("long", success="read", maxAttempts=2),
        step("read", maxAttempts=2, memoryReads=LOG),
        memory=channel(retentionDays=10),
    )
    async with a_flow_world(tmp_path, plan) as (world, _):
        for days, answers in ((2, ["один", SILENT]), (9, ["ждал", "два", SILENT]), (9, ["ждал", SILENT]), (0, ["три"])):
            world.model.will(*answers)
            await world.work(*([] if has_begun(world) else [start()]))
            world.clock.advance(timedelta(days=days))
        assert index(world).status == "done"
        assert told(world, -1) == told(world, -2)
        assert told(world, -1)[1].endswith('\n[{"content":"два"}]')
        noted = [(one.data["node"], one.data["output"]) for one in events(world, "NodeDone") if one.data["node"].endswith("/outdated")]
        assert noted == [("read/1/outdated", {"log": 1})]


def has_begun(world: World) -> bool:
    """Whether the run has begun."""
    return bool(events(world, "RunStarted"))


async def test_a_visit_that_began_in_time_is_told_the_same_later(tmp_path: Path) -> None:
    """Nothing was too old at its first attempt, and nothing is noted: a run that does not wait stores nothing more."""
    plan = flow(
        step("note", success="read", memoryWrites=LOG), step("read", maxAttempts=2, memoryReads=LOG), memory=channel(retentionDays=10)
    )
    async with a_flow_world(tmp_path, plan) as (world, _):
        world.model.will("один", SILENT)
        await world.work(start())
        world.clock.advance(timedelta(days=20))
        world.model.will("два")
        await world.work()
        assert (index(world).status, told(world, -1)) == ("done", told(world, -2))
        assert told(world, -1)[1].endswith('\n[{"content":"один"}]')
        assert not [one for one in events(world, "NodeDone") if one.data["node"].endswith("/outdated")]


@pytest.mark.req("S002-X3")
async def test_a_snapshot_shows_what_channels_hold_now_and_held_at_the_end(tmp_path: Path) -> None:
    """While the run waits an entry falls out; after its end nothing does."""
    plan = waiting_flow(memory=channel(retentionDays=10))
    async with a_running_flow_api(tmp_path) as (api, world):
        await api.hire()
        await api.publish(await api.create(plan, FLOWS))
        world.model.will("один", SILENT)
        run = (await api.post("/api/flows/plan/start", {"parameters": {}})).json()["sessionId"]
        await world.idle()

        async def find_contents() -> list[Any]:
            snapshot = (await api.get(f"/api/flows/{run}/snapshot")).json()
            return [(version["version"], version["data"]["content"]) for one in snapshot["channels"] for version in one["versions"]]

        assert await find_contents() == [(1, "один")]
        world.clock.advance(timedelta(days=11))
        world.model.will("два", "три")
        await world.idle()
        assert await find_contents() == [(2, "два")]
        world.clock.advance(timedelta(days=50))
        assert await find_contents() == [(2, "два")]
