"""A database with runs and definitions of an engine that is taken out: people are told, nothing is lost, and all goes on when it is back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.definitions.reader import KindUnknown
from orchestrator.domain.run_inputs import RunStart
from orchestrator.runs.absent_engines import EngineReturns
from orchestrator.runs.registry import Engines
from state.journal.run_index import RunFilter
from state.sql import build_sqlite_url, open_store
from tests.unit.definitions.service_kit import HELLO, VERA, a_desk, build_desk, data
from tests.unit.runs.runs_kit import RUN, build_engines, events, index, start, steps
from tests.unit.runs.test_runs_wait import WRITE, click, order, texts
from tests.unit.spine_kit import World, a_world, command, press

OTHER = "run:0190aaaa-0000-7000-8000-000000000002"
PLAN = steps({"ask": "Какой тариф?", "options": ["Базовый", "Полный"]}, {"say": "Тариф: {s0}"})
NIGHT = steps({"sleep": 60}, {"say": "Проснулся"})
CARD = steps(WRITE, {"say": "Записано"})
OUTER = {"name": "Снаружи", "steps": [{"type": "message", "params": {"text": "ничего"}}]}
DOCUMENTS = {("steps", "plan"): PLAN, ("steps", "night"): NIGHT, ("steps", "card"): CARD, ("scenario", "outer"): OUTER}


ALL = "*"


def load(*, without: str = "") -> Engines:
    engines = build_engines(DOCUMENTS)
    return replace(engines, runs={name: one for name, one in engines.runs.items() if without not in {name, ALL}})


@asynccontextmanager
async def a_start(tmp_path: Path, *, without: str = "", later: timedelta = timedelta()) -> AsyncIterator[World]:
    """The program, started on the database; it has looked for runs that may go on."""
    store = open_store(build_sqlite_url(tmp_path / "sdelka.db"))
    async with a_world(tmp_path, engines=load(without=without), store=store) as world:
        world.clock.advance(later)
        yield world


async def look(world: World) -> None:
    """The first round of the task that looks for runs whose engine is back."""
    rows: list[Any] = []

    async def receive(given: Any) -> None:
        rows.extend(given)

    runner = world.tools.features.inbox[RunStart.KIND].__self__  # type: ignore[attr-defined]
    await EngineReturns(runner._engines, world.store).run(receive, world.clock.now())
    await world.work(*rows)


def told(world: World) -> list[str]:
    return [notice["code"] for row in world.outbox() for notice in row.body.get("notices", ())]


@pytest.mark.parametrize("without", ["steps", ALL])
async def test_an_answer_that_comes_meanwhile_is_kept(tmp_path: Path, without: str) -> None:
    """The run pauses with a sentence in place of failing; when its engine is back it goes on with the answer."""
    async with a_start(tmp_path) as world:
        await world.work(start("plan"))
        words = world.outbox()[0].body["actions"][0]["words"]
    async with a_start(tmp_path, without=without) as world:
        await look(world)
        assert (told(world), index(world).status) == ([], "waiting")
        await world.work(click(*words))
        assert "run-engine-away" in told(world)
        assert index(world).status == "paused"
        await world.work(click(*words))
        assert (index(world).status, len(events(world, "RunFinished"))) == ("paused", 0)
    async with a_start(tmp_path, later=timedelta(hours=2)) as world:
        await look(world)
        assert "Тариф: Базовый" in texts(world)
        assert index(world).status == "done"


@pytest.mark.parametrize("without", ["steps", ALL])
async def test_a_timer_that_is_due_meanwhile_is_kept(tmp_path: Path, without: str) -> None:
    async with a_start(tmp_path) as world:
        await world.work(start("night"))
    async with a_start(tmp_path, without=without, later=timedelta(hours=1)) as world:
        await world.work()
        assert (told(world), index(world).status) == (["run-engine-away"], "paused")
    async with a_start(tmp_path, later=timedelta(hours=3)) as world:
        await look(world)
        assert texts(world)[0] == "Проснулся"


async def test_a_card_is_decided_meanwhile(tmp_path: Path) -> None:
    """The gate needs no engine: what a person approves is done once, and the run goes on behind it later."""
    async with a_start(tmp_path) as world:
        await world.work(start("card"))
        (card,) = [row.body for row in world.outbox() if row.kind == "card"]
    async with a_start(tmp_path, without="steps") as world:
        await world.work(press(card, key=RUN))
        assert [method for method, _ in world.portal.written()] == ["crm.deal.update"]
        assert "run-engine-away" in told(world)
    async with a_start(tmp_path, later=timedelta(hours=2)) as world:
        await look(world)
        assert (world.portal.written(), texts(world)[0]) == ([], "Записано")
        assert index(world).status == "done"


async def test_a_run_that_a_person_paused_stays_so(tmp_path: Path) -> None:
    async with a_start(tmp_path) as world:
        await world.work(start("plan"))
        await world.work(order("pause"))
    async with a_start(tmp_path, later=timedelta(hours=2)) as world:
        await look(world)
        assert index(world).status == "paused"


async def test_a_person_resumes_too_early_and_then_ends_it(tmp_path: Path) -> None:
    """It pauses again; a cancelled run never comes back."""
    async with a_start(tmp_path) as world:
        await world.work(start("night"))
    async with a_start(tmp_path, without="steps", later=timedelta(hours=1)) as world:
        await world.work()
        await world.work(order("resume"))
        assert (index(world).status, told(world).count("run-engine-away")) == ("paused", 2)
        await world.work(order("cancel"))
        assert index(world).status == "cancelled"
    async with a_start(tmp_path, later=timedelta(hours=3)) as world:
        await look(world)
        assert index(world).status == "cancelled"


async def test_nothing_of_it_starts_meanwhile_and_others_run(tmp_path: Path) -> None:
    async with a_start(tmp_path, without="steps") as world:
        await world.work(start("plan"), start("outer", engine="scenario", key=OTHER))
        assert "run-engine-gone" in told(world)
        assert [(row.definition, row.status) for row in world.sql.list_runs(RunFilter())] == [("outer", "done")]
        await world.work(command("runs"))


async def test_its_engine_is_named_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with a_start(tmp_path) as world:
        await world.work(start("plan"))
    async with a_start(tmp_path, without="steps") as world:
        await look(world)
        assert "1 runs wait for the engine steps, which is not here" in caplog.text


async def test_its_definitions_are_kept_and_told() -> None:
    """They are listed no more, nothing of them can be changed, and they are there again with their engine."""
    async with a_desk() as desk:
        await desk.service.create(VERA, "steps", "hello", data(HELLO))
        absent = build_desk(desk.store, desk.sql, engines=load(without="steps")).service
        assert (await absent.list_keys(VERA), await absent.list_absent_kinds(VERA)) == ([], ["steps"])
        with pytest.raises(KindUnknown):
            await absent.find_version(VERA, "steps", "hello")
        assert [head.key for head in await desk.service.list_keys(VERA)] == ["hello"]
        assert await desk.service.list_absent_kinds(VERA) == []
