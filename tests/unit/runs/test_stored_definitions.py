"""Runs execute what is published, and the texts that were in force when they began, whatever becomes of them meanwhile."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.engines.runs import Definition, RunFailed
from orchestrator.runs import definitions as pinning
from orchestrator.runs.children import MAX_DEPTH
from orchestrator.runs.feature import build_feature
from orchestrator.runs.registry import Definitions
from orchestrator.runs.stored_definitions import StoredDefinitions
from orchestrator.turns.feature import merge_features
from state.journal import definitions
from state.journal.run_index import RunFilter
from tests.unit.definitions.service_kit import OLEG, VERA, Desk, build_desk, data
from tests.unit.runs.runs_kit import RUN, a_run_world, build_engines, events, index, start, started, steps
from tests.unit.runs.test_runs_bad_input import _list_notices, change
from tests.unit.runs.test_runs_wait import order, texts
from tests.unit.spine_kit import World, a_world, command

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


@pytest.mark.req("S002-7", "S002-8", "G1")
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


@pytest.mark.req("G1")
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


@pytest.mark.req("G1")
async def test_what_is_published_stands_before_what_the_program_came_with(tmp_path: Path) -> None:
    """A draft does not, so that nobody takes a definition out of service by writing another one."""
    async with a_world_with_store(tmp_path, {"plan": steps({"say": "Из программы"})}) as (world, desk):
        await desk.service.create(VERA, "steps", "plan", data(SECOND_TEXT))
        await world.work(start("plan"))
        await desk.service.publish(OLEG, "steps", "plan", 1, expected=1)
        await world.work(start("plan", key=SECOND))
        assert said(world) == ["Из программы", "Готово.", "Вторая", "Готово."]


@pytest.mark.req("G1")
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


@pytest.mark.req("G1")
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


@pytest.mark.req("G1")
async def test_a_child_that_is_under_way_ends_after_its_key_was_switched_off(tmp_path: Path) -> None:
    async with a_world_with_store(tmp_path) as (world, desk):
        await desk.publish("inner", steps({"sleep": 3600}, {"say": "Внутри"}))
        await desk.publish("plan", steps({"child": "inner"}, {"say": "План"}))
        await world.work(start("plan"))
        for key in ("inner", "plan"):
            await desk.switch(key, enabled=False)
        await _let_hours_pass(world)
        assert (index(world).status, said(world)) == ("done", ["Внутри", "План", "Готово."])


@pytest.mark.req("G1")
async def test_a_damaged_text_is_not_executed(tmp_path: Path) -> None:
    """The run does not begin, and nothing else is executed in its place."""
    async with a_world_with_store(tmp_path, {"plan": steps({"say": "Из программы"})}) as (world, desk):
        await desk.publish("plan", SECOND_TEXT)
        digest = (await desk.service.find_version(VERA, "steps", "plan")).digest
        change(world, "UPDATE definition_texts SET document = ? WHERE digest = ?", '{"steps":[]}', digest)
        await world.work(start("plan"))
        assert said(world) == ["run-definition-damaged"]


@pytest.mark.req("G1")
async def test_a_key_that_is_switched_off_between_two_reads_is_not_replaced_by_the_programs_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_world_with_store(tmp_path, {"plan": steps({"say": "Из программы"})}) as (world, desk):
        await desk.publish("plan", SECOND_TEXT)
        monkeypatch.setattr(definitions, "find_active", lambda *_: None)
        await world.work(start("plan"))
        assert said(world) == ["run-definition-off"]


@pytest.mark.req("G1")
async def test_whoever_looks_a_switched_off_key_up_hears_that_it_is_off(tmp_path: Path) -> None:
    """Schedules and the HTTP API look it up before a run begins; they must not be told of the program's own."""
    async with a_world_with_store(tmp_path) as (world, desk):
        await desk.publish("plan", SECOND_TEXT)
        await desk.switch("plan", enabled=False)
        found = StoredDefinitions(world.store, build_engines({("steps", "plan"): FIRST_TEXT}))
        with pytest.raises(RunFailed) as refused:
            await found.find("steps", "plan")
        assert refused.value.code == "run-definition-off"


@pytest.mark.req("G1")
async def test_keys_that_the_store_never_takes_are_those_of_the_program(tmp_path: Path) -> None:
    """A key with spaces or of another alphabet costs no look into the database."""
    async with a_world_with_store(tmp_path) as (world, _):
        found = StoredDefinitions(world.store, build_engines({("steps", "Новый клиент"): SECOND_TEXT}))
        made = await found.find("steps", "Новый клиент")
        assert made is not None
        assert made.document == SECOND_TEXT
        assert await found.find("other", "plan") is None


PLAN = steps({"sleep": 3600}, {"child": "inner"}, {"say": "План"})
INNER = steps({"sleep": 3600}, {"child": "leaf"}, {"say": "Внутри, как было"})
LEAF = steps({"say": "Лист, как был"})


@pytest.fixture
def documents() -> dict[str, Any]:
    """A plan that starts a run which starts a run."""
    return {"plan": PLAN, "inner": INNER, "leaf": LEAF}


class _Changing(Definitions):
    """Definitions that their author changes: what the mapping holds now is in force."""

    def __init__(self, documents: Mapping[str, Any]) -> None:
        self.documents = documents

    async def find(self, _engine: str, key: str, /) -> Definition | None:
        document = self.documents.get(key)
        return Definition(key=key, version=7, document=document) if document is not None else None


@asynccontextmanager
async def a_changing_world(folder: Path, documents: Mapping[str, Any]) -> AsyncIterator[tuple[World, _Changing]]:
    """The product with the example engines, and the definitions that their author may change meanwhile."""
    definitions = _Changing(documents)
    async with a_world(folder) as world:
        tools = world.orchestrator.tools
        engines = replace(build_engines({}), definitions=definitions)
        world.orchestrator.tools = replace(tools, features=merge_features(tools.features, build_feature(engines)))
        yield world, definitions


@pytest.mark.req("G1")
@pytest.mark.parametrize(
    "after", [{}, {"plan": LEAF, "inner": steps({"say": "Новое"}), "leaf": steps({"say": "Новое"})}], ids=["gone", "changed"]
)
async def test_children_execute_what_was_in_force_when_the_first_run_began(
    tmp_path: Path, documents: dict[str, Any], after: Mapping[str, Any]
) -> None:
    """The child and its child begin hours after all three definitions were changed or removed."""
    async with a_changing_world(tmp_path, documents) as (world, definitions):
        await world.work(start("plan"))
        definitions.documents = after
        await _let_hours_pass(world, 3)
        assert texts(world) == ["Лист, как был", "Внутри, как было", "План", "Готово."]
        assert {row.status for row in world.sql.list_runs(RunFilter())} == {"done"}


async def test_the_start_names_every_text_that_it_fixes(tmp_path: Path, documents: dict[str, Any]) -> None:
    """Of each: whose it is, its version and its digest, under which the text is kept."""
    async with a_changing_world(tmp_path, documents) as (world, _):
        await world.work(start("plan"))
        pinned = started(world).pinned
        assert [(one["engine"], one["definition"], one["version"]) for one in pinned] == [("steps", "inner", 7), ("steps", "leaf", 7)]
        assert [one for one in pinned if not world.sql.load_blob(one["digest"])] == []


async def test_a_definition_that_starts_itself_starts_itself_as_it_was(tmp_path: Path) -> None:
    """Its own text is fixed like those of others, and the circle ends at the bound of depth."""
    async with a_changing_world(tmp_path, {"plan": steps({"sleep": 3600}, {"child": "plan"})}) as (world, definitions):
        await world.work(start("plan"))
        definitions.documents = {"plan": LEAF}
        await _let_hours_pass(world, MAX_DEPTH + 2)
        assert "Лист, как был" not in texts(world)
        assert {row.status for row in world.sql.list_runs(RunFilter())} == {"failed"}


async def test_a_fixed_text_that_is_gone_ends_the_parent_with_a_sentence(tmp_path: Path, documents: dict[str, Any]) -> None:
    """The text that is in force now is not executed in its place."""
    async with a_changing_world(tmp_path, documents) as (world, _):
        await world.work(start("plan"))
        (digest,) = [one["digest"] for one in started(world).pinned if one["definition"] == "inner"]
        change(world, "DELETE FROM blobs WHERE digest = ?", digest)
        await _let_hours_pass(world, 3)
        assert (index(world).status, len(world.sql.list_runs(RunFilter()))) == ("failed", 1)
        assert "Внутри, как было" not in texts(world)


async def test_what_is_missing_at_the_start_may_be_written_before_it_is_needed(tmp_path: Path) -> None:
    """A retry starts the definition that its author has written since."""
    async with a_changing_world(tmp_path, {"plan": steps({"child": "inner"}, {"say": "План"})}) as (world, definitions):
        await world.work(start("plan"))
        assert index(world).status == "failed"
        definitions.documents = {"inner": LEAF}
        await world.work(order("retry"))
        assert (index(world).status, texts(world)[-3:]) == ("done", ["Лист, как был", "План", "Готово."])


async def test_more_definitions_than_a_run_fixes_are_looked_up_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The start of a run is bounded, however many definitions hang together."""
    monkeypatch.setattr(pinning, "MAX_USED", 5)
    most = 9
    many = {f"d{number}": steps({"say": f"{number}"}) for number in range(most)}
    plan = steps(*({"child": key} for key in many))
    async with a_changing_world(tmp_path, {"plan": plan, **many}) as (world, _):
        await world.work(start("plan"))
        assert len(started(world).pinned) == 5
        assert index(world).status == "done"


@pytest.mark.parametrize("document", [{}, [], "text", {"steps": [{"child": None}]}, {"steps": 5}], ids=repr)
async def test_a_document_that_cannot_be_read_ends_its_run_with_a_sentence(tmp_path: Path, document: Any) -> None:
    """It is no input that ends the process again and again."""
    async with a_changing_world(tmp_path, {"plan": steps({"child": "inner"}), "inner": steps({"say": "а"})}) as (world, definitions):
        definitions.documents = {"plan": document}
        await world.work(start("plan"))
        assert [one.data["status"] for one in events(world, "RunFinished", key=RUN)] == ["failed"]
