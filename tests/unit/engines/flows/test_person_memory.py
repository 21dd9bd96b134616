"""Channels keep what steps write, for a run or for a person, with its origins and for as many days as they say."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from engines.flows.core.definition import Flow, SharedChannel
from engines.flows.core.memory import MOST_ENTRY, Entry
from engines.flows.wiring import StoredMemory
from orchestrator.domain.actor import Actor
from orchestrator.domain.taint import Origin, Value
from orchestrator.engines.runs import RunInfo
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow, StoreUnwritable
from tests.unit.engines.flows.flow_kit import SILENT, a_flow_world, flow, start, step
from tests.unit.engines.flows.http.flows_kit import FLOWS, a_running_flow_api
from tests.unit.engines.flows.test_checks import find, mend
from tests.unit.engines.flows.test_flows import told
from tests.unit.runs import runs_kit
from tests.unit.runs.runs_kit import events, index
from tests.unit.spine_kit import ANNA, World, until

BORIS = Actor(key="tg:1008", name="Борис", role="manager", bitrix_user_id=8)
ANNA_AT_HOME = ANNA.model_copy(update={"key": "tg:2007"})
PLAN = flow(
    step("note", memoryReads=[{"channel": "log", "limit": 5}], memoryWrites=[{"channel": "log"}, {"channel": "own"}]),
    memory={"sharedChannels": [{"id": "log", "scope": "user", "retentionVersions": 3, "retentionDays": 10}, {"id": "own"}]},
)


def begin(key: str, *, actor: Actor = ANNA, definition: str = "plan", origin: Origin = "person") -> InboxRow:
    """The start of a run under a key of its own, with words of that origin."""
    words = Value({"text": "слова"}, frozenset({origin}))
    return runs_kit.start(
        definition, engine="flow", actor=actor, home=actor.key, key=f"run:{key}", parameters=Value({}), sharedContext=words
    )


async def play(world: World, key: str, answer: str, **more: Any) -> list[str]:
    """Play a run to its end and return what its agent was told of its channels."""
    world.model.will(answer)
    await world.work(begin(key, **more))
    assert index(world, f"run:{key}").status == "done"
    return [text.partition("\n")[2] for text in told(world, -1)[1:-1]]


@pytest.mark.req("S002-A8", "S002-29")
async def test_later_runs_of_the_same_person_and_flow_read_it(tmp_path: Path) -> None:
    """From any account of the employee; another person, another flow and a channel of the run's own have nothing of it."""
    async with a_flow_world(tmp_path, PLAN) as (world, _):
        assert await play(world, "1", "один") == []
        assert await play(world, "2", "два", actor=ANNA_AT_HOME) == ['[{"content":"один"}]']
        assert await play(world, "3", "чужой", actor=BORIS) == []
        assert await play(world, "4", "другой", definition="other") == []
        assert await play(world, "5", "три") == ['[{"content":"два"},{"content":"один"}]']


@pytest.mark.req("S002-16")
async def test_old_and_replaced_entries_are_not_read(tmp_path: Path) -> None:
    """Three entries, each for ten days."""
    async with a_flow_world(tmp_path, PLAN) as (world, _):
        for number in range(4):
            await play(world, str(number), str(number))
            world.clock.advance(timedelta(days=3))
        assert await play(world, "later", "4") == ['[{"content":"3"},{"content":"2"},{"content":"1"}]']
        world.clock.advance(timedelta(days=9))
        assert await play(world, "late", "5") == ['[{"content":"4"}]']


@pytest.mark.parametrize(("origin", "is_foreign"), [("prose", True), ("person", False)])
async def test_what_came_from_strangers_counts_as_theirs_in_later_runs(tmp_path: Path, origin: Origin, *, is_foreign: bool) -> None:
    """What an agent made of a customer's text last month is a customer's text today; what it made of its person's words is not."""
    async with a_flow_world(tmp_path, PLAN) as (world, _):
        await play(world, "1", "скидка 90 %", origin=origin)
        await play(world, "2", "учёл")
        (answer,) = [one for one in events(world, "NodeDone", key="run:2") if one.data["kind"] == "model"]
        assert ("prose" in answer.data["origins"]) == is_foreign
        world.clock.advance(timedelta(days=5))
        await play(world, "3", "и это")
        (answer,) = [one for one in events(world, "NodeDone", key="run:3") if one.data["kind"] == "model"]
        assert ("prose" in answer.data["origins"]) == is_foreign


async def test_a_run_reads_the_same_each_time_it_is_played(tmp_path: Path) -> None:
    """What another run of the person writes meanwhile, and what grows too old, changes nothing for one that has begun."""
    plan = {**PLAN, "steps": [step("note", maxAttempts=2, memoryReads=[{"channel": "log"}], memoryWrites=[{"channel": "log"}])]}
    async with a_flow_world(tmp_path, plan) as (world, _):
        await play(world, "1", "один")
        world.model.will(SILENT)
        await world.work(begin("2"))
        await play(world, "3", "три")
        world.clock.advance(timedelta(days=20))
        world.model.will("два")
        await world.work()
        assert index(world, "run:2").status == "done"
        assert told(world, -1)[1] == told(world, 1)[1]
        assert told(world, -1)[1].endswith('[{"content":"один"}]')


class DyingMemory(StoredMemory):
    """Stores what it is given; then the process is gone before the run has noted it."""

    def __init__(self) -> None:
        super().__init__(cast("AsyncStore", None))
        self.deaths = 2

    async def write(self, run: RunInfo, node: str, entries: Sequence[Entry], channels: Sequence[SharedChannel], at: datetime, /) -> None:
        await super().write(run, node, entries, channels, at)
        if self.deaths:
            self.deaths -= 1
            raise StoreUnwritable("gone")


async def test_what_a_step_wrote_before_a_crash_is_not_written_again(tmp_path: Path) -> None:
    """The entry is stored and the run does not know; played again, it writes nothing twice and asks nothing twice."""
    memory = DyingMemory()
    async with a_flow_world(tmp_path, PLAN, memory=memory) as (world, _):
        world.model.will("один")
        async with world.working():
            await world.put(begin("1"))
            await until(lambda: index(world, "run:1").status == "done" if memory.deaths == 0 else False)
        assert await play(world, "2", "два") == ['[{"content":"один"}]']


async def test_two_runs_at_once_lose_nothing(tmp_path: Path) -> None:
    """Both have begun before either writes; afterwards both entries are there."""
    async with a_flow_world(tmp_path, PLAN) as (world, _):
        world.model.gate = asyncio.Event()
        world.model.will("один", "два")
        async with world.working():
            await world.put(begin("1"), begin("2", actor=ANNA_AT_HOME))
            await until(lambda: len(world.model.prompts) == 2)
            world.model.gate.set()
            await world.idle()
        world.model.gate = None
        (told_now,) = await play(world, "3", "три")
        assert sorted(told_now.strip("[]").split(",")) == ['{"content":"два"}', '{"content":"один"}']


async def test_shadow_leaves_nothing(tmp_path: Path) -> None:
    """Nothing happened, so nothing of it is remembered once the bot writes."""
    async with a_flow_world(tmp_path, PLAN, mode="shadow") as (world, _):
        await play(world, "1", "один")
        noted = [one.data["node"] for one in events(world, "NodeDone", key="run:1") if one.data["node"].endswith("/memory")]
        assert len(noted) == 1, "played again in another mode the run must not remember what was only planned"
        assert await play(world, "2", "два") == []


async def test_an_entry_that_would_fill_every_later_prompt_is_refused(tmp_path: Path) -> None:
    """The run fails with a sentence, and later runs read what was there before."""
    async with a_flow_world(tmp_path, PLAN) as (world, _):
        await play(world, "1", "один")
        world.model.will("x" * MOST_ENTRY)
        await world.work(begin("2"))
        (*_, end) = events(world, "RunFinished", key="run:2")
        assert (end.data["status"], end.data["code"]) == ("failed", "run-large-value")
        assert await play(world, "3", "три") == ['[{"content":"один"}]']


@pytest.mark.req("S002-X10", "S002-16")
def test_what_authors_leave_out_is_as_usual() -> None:
    """Defaults and bounds of channels, triggers, parameters and options."""
    read = Flow.model_validate(mend(memory={"sharedChannels": [{"id": "log"}]}, launchParameters=[{"name": "client"}]))
    (channel,), (parameter,) = read.memory.shared_channels, read.launch_parameters
    assert (channel.retention_versions, channel.retention_days, channel.scope) == (10, 30, "run")
    assert (read.triggers.ui, read.triggers.api, parameter.type, parameter.required) == (True, True, "string", True)
    wrong = [
        {"memory": {"sharedChannels": [{"id": "log", "scope": "team"}]}},
        {"memory": {"sharedChannels": [{"id": "log", "retentionDays": 0}]}},
        {"memory": {"sharedChannels": [{"id": "log", "retentionVersions": 0}]}},
        {"defaults": {"overrides": {"options": {"temperature": 2.1}}}},
        {"defaults": {"overrides": {"options": {"topP": 1.1}}}},
        {"defaults": {"overrides": {"options": {"maxTokens": 0}}}},
        {"launchParameters": [{"name": "client", "type": "date"}]},
    ]
    for one in wrong:
        assert [severity for severity, *_ in find(mend(**one))] == ["error"], one
    for kind in ("string", "number", "boolean", "object", "array"):
        assert find(mend(launchParameters=[{"name": "client", "type": kind}])) == []


LOG = [{"channel": "log"}]


def channel(**fields: Any) -> dict[str, Any]:
    return {"sharedChannels": [{"id": "log", "retentionVersions": 50, **fields}]}


def waiting_flow(**fields: Any) -> dict[str, Any]:
    """A flow whose run may wait between writing and reading."""
    return flow(
        step("note", success="wait", memoryWrites=LOG),
        step("wait", success="read", maxAttempts=2, memoryWrites=LOG),
        step("read", memoryReads=LOG),
        **fields,
    )


def begin_run(key: str) -> InboxRow:
    return runs_kit.start("plan", engine="flow", key=key, parameters=Value({}))


async def play_for_days(world: World, row: InboxRow, days: float) -> list[str]:
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
        assert await play_for_days(world, begin_run("run:1"), days - 1) == ['[{"content":"два"},{"content":"один"}]']
        assert await play_for_days(world, begin_run("run:2"), days + 1) == ['[{"content":"два"}]']


@pytest.mark.req("S002-16")
async def test_what_earlier_runs_left_grows_too_old_in_a_run_that_waits(tmp_path: Path) -> None:
    """An entry of scope `user` was nine days old when the run began, and is eleven when a step reads it."""
    plan = waiting_flow(memory=channel(retentionDays=10, scope="user"))
    async with a_flow_world(tmp_path, plan) as (world, _):
        await play_for_days(world, begin_run("run:1"), 0.01)
        world.clock.advance(timedelta(days=9))
        later = await play_for_days(world, begin_run("run:2"), 2)
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
