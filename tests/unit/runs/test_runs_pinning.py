"""A run and everything that it starts execute the texts that were in force when it began, whatever becomes of them meanwhile."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.engines.runs import Definition
from orchestrator.runs import definitions as pinning
from orchestrator.runs.children import MAX_DEPTH
from orchestrator.runs.feature import build_feature
from orchestrator.runs.registry import Definitions
from orchestrator.turns.feature import merge_features
from state.journal.run_index import RunFilter
from tests.unit.runs.runs_kit import RUN, build_engines, events, index, start, started, steps
from tests.unit.runs.test_runs_bad_input import change
from tests.unit.runs.test_runs_wait import order, texts
from tests.unit.spine_kit import World, a_world

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


async def _let_hours_pass(world: World, times: int = 3) -> None:
    for _ in range(times):
        world.clock.advance(timedelta(hours=2))
        await world.work()


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
        await _let_hours_pass(world)
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
        await _let_hours_pass(world)
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
