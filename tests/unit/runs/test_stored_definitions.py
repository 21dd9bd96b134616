"""Runs execute what is published, begin with the version of that moment, and do not begin with what is switched off."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.engines.runs import RunFailed
from orchestrator.runs.stored_definitions import StoredDefinitions
from state.journal import definitions
from state.journal.run_index import RunFilter
from tests.unit.definitions.service_kit import OLEG, VERA, Desk, build_desk, data
from tests.unit.runs.runs_kit import RUN, a_run_world, build_engines, index, start, started, steps
from tests.unit.runs.test_runs_bad_input import _list_notices, change
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import World, command

pytestmark = pytest.mark.req("G1")

SECOND = RUN[:-1] + "2"
FIRST_TEXT, SECOND_TEXT = steps({"sleep": 3600}, {"say": "Первая"}), steps({"say": "Вторая"})


@asynccontextmanager
async def a_world_with_store(folder: Path, documents: dict[str, Any] | None = None) -> AsyncIterator[tuple[World, Desk]]:
    """The product with the example engines, and the desk of those who write definitions."""
    async with a_run_world(folder, documents or {}) as world:
        yield world, build_desk(world.store, world.sql)


def said(world: World) -> list[str]:
    """What waits to be delivered, in order: texts of runs, and the codes of the program's own sentences."""
    rows = world.outbox()
    return [
        one
        for row in rows
        for one in [*(part["text"] for part in row.body.get("parts", ())), *(one["code"] for one in _list_notices(row.body))]
    ]


async def _let_hours_pass(world: World, times: int = 1) -> None:
    for _ in range(times):
        world.clock.advance(timedelta(hours=2))
        await world.work()


@pytest.mark.req("S002-7", "S002-8")
async def test_a_new_version_does_not_reach_a_run_that_waits(tmp_path: Path) -> None:
    """It ends with the text with which it began; the next run begins with the new one."""
    async with a_world_with_store(tmp_path) as (world, desk):
        await desk.publish("plan", FIRST_TEXT)
        await world.work(start("plan"))
        await desk.publish("plan", SECOND_TEXT)
        await _let_hours_pass(world)
        await world.work(start("plan", key=SECOND))
        assert said(world) == ["Первая", "Готово.", "Вторая", "Готово."]
        assert [started(world, key).version for key in (RUN, SECOND)] == [1, 2]


async def test_a_draft_is_not_executed(tmp_path: Path) -> None:
    """Neither one that nobody published, nor one that is newer than the published version."""
    async with a_world_with_store(tmp_path) as (world, desk):
        await desk.service.create(VERA, "steps", "plan", data(SECOND_TEXT))
        await world.work(start("plan"))
        assert (said(world), world.sql.list_runs(RunFilter())) == (["run-definition-unpublished"], [])
        await desk.publish("plan", steps({"say": "Опубликована"}))
        await desk.service.create(VERA, "steps", "plan", data(steps({"say": "Черновик"})))
        await world.work(start("plan", key=SECOND))
        assert said(world) == ["Опубликована", "Готово."]


async def test_what_is_published_stands_before_what_the_program_came_with(tmp_path: Path) -> None:
    """A draft does not, so that nobody takes a definition out of service by writing another one."""
    async with a_world_with_store(tmp_path, {"plan": steps({"say": "Из программы"})}) as (world, desk):
        await desk.service.create(VERA, "steps", "plan", data(SECOND_TEXT))
        await world.work(start("plan"))
        await desk.service.publish(OLEG, "steps", "plan", 1, expected=1)
        await world.work(start("plan", key=SECOND))
        assert said(world) == ["Из программы", "Готово.", "Вторая", "Готово."]


async def test_a_switched_off_key_refuses_new_runs_and_lets_others_end(tmp_path: Path) -> None:
    """Also by its command, and also where the program came with a definition of that key."""
    async with a_world_with_store(tmp_path, {"plan": steps({"say": "Из программы"})}) as (world, desk):
        await desk.publish("plan", FIRST_TEXT)
        await world.work(start("plan"))
        await desk.switch("plan", enabled=False)
        await world.work(start("plan", key=SECOND), command("steps", args="plan"))
        assert [one for one in said(world) if one == "run-definition-off"] == ["run-definition-off"] * 2
        await _let_hours_pass(world)
        assert (said(world), index(world).status, len(world.sql.list_runs(RunFilter()))) == (["Первая", "Готово."], "done", 1)
        await desk.switch("plan", enabled=True)
        await world.work(start("plan", key=SECOND[:-1] + "3"))
        assert len(world.sql.list_runs(RunFilter())) == 2


async def test_a_switched_off_key_is_refused_as_a_child_too(tmp_path: Path) -> None:
    """Whether its text was fixed when the parent began or not; the parent ends with a sentence, and a retry works when it is on again."""
    plan = steps({"sleep": 3600}, {"child": "inner"}, {"say": "План"})
    async with a_world_with_store(tmp_path) as (world, desk):
        await desk.publish("inner", steps({"say": "Внутри"}))
        await desk.publish("plan", plan)
        await world.work(start("plan"))
        assert [one["definition"] for one in started(world).pinned] == ["inner"]
        await desk.switch("inner", enabled=False)
        await world.work(start("plan", key=SECOND))
        assert started(world, SECOND).pinned == []
        await _let_hours_pass(world)
        assert {row.status for row in world.sql.list_runs(RunFilter())} == {"failed"}
        assert "Внутри" not in said(world)
        await desk.switch("inner", enabled=True)
        await world.work(order("retry"))
        assert (index(world).status, said(world)[-3:]) == ("done", ["Внутри", "План", "Готово."])


async def test_a_child_that_is_under_way_ends_after_its_key_was_switched_off(tmp_path: Path) -> None:
    async with a_world_with_store(tmp_path) as (world, desk):
        await desk.publish("inner", steps({"sleep": 3600}, {"say": "Внутри"}))
        await desk.publish("plan", steps({"child": "inner"}, {"say": "План"}))
        await world.work(start("plan"))
        for key in ("inner", "plan"):
            await desk.switch(key, enabled=False)
        await _let_hours_pass(world)
        assert (index(world).status, said(world)) == ("done", ["Внутри", "План", "Готово."])


async def test_a_damaged_text_is_not_executed(tmp_path: Path) -> None:
    """The run does not begin, and nothing else is executed in its place."""
    async with a_world_with_store(tmp_path, {"plan": steps({"say": "Из программы"})}) as (world, desk):
        await desk.publish("plan", SECOND_TEXT)
        digest = (await desk.service.find_version(VERA, "steps", "plan")).digest
        change(world, "UPDATE definition_texts SET document = ? WHERE digest = ?", '{"steps":[]}', digest)
        await world.work(start("plan"))
        assert said(world) == ["run-definition-damaged"]


async def test_a_key_that_is_switched_off_between_two_reads_is_not_replaced_by_the_programs_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_world_with_store(tmp_path, {"plan": steps({"say": "Из программы"})}) as (world, desk):
        await desk.publish("plan", SECOND_TEXT)
        monkeypatch.setattr(definitions, "find_active", lambda *_: None)
        await world.work(start("plan"))
        assert said(world) == ["run-definition-off"]


async def test_whoever_looks_a_switched_off_key_up_hears_that_it_is_off(tmp_path: Path) -> None:
    """Schedules and the HTTP API look it up before a run begins; they must not be told of the program's own."""
    async with a_world_with_store(tmp_path) as (world, desk):
        await desk.publish("plan", SECOND_TEXT)
        await desk.switch("plan", enabled=False)
        found = StoredDefinitions(world.store, build_engines({("steps", "plan"): FIRST_TEXT}))
        with pytest.raises(RunFailed) as refused:
            await found.find("steps", "plan")
        assert refused.value.code == "run-definition-off"


async def test_keys_that_the_store_never_takes_are_those_of_the_program(tmp_path: Path) -> None:
    """A key with spaces or of another alphabet costs no look into the database."""
    async with a_world_with_store(tmp_path) as (world, _):
        found = StoredDefinitions(world.store, build_engines({("steps", "Новый клиент"): SECOND_TEXT}))
        made = await found.find("steps", "Новый клиент")
        assert made is not None
        assert made.document == SECOND_TEXT
        assert await found.find("other", "plan") is None
