"""People read titles, and two runs of one scenario are told apart."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.features import SHIPPED_ENGINES
from orchestrator.runs.registry import StaticDefinitions
from orchestrator.runs.titles import NONE, RunName, name_runs
from orchestrator.runtime import worker
from state.journal.run_index import RunFilter
from tests.unit.engines.scenarios.scenario_kit import ask, scenario
from tests.unit.runs.runs_kit import start
from tests.unit.spine_kit import a_world, command, message

FIRST, SECOND = "run:00000000-0000-8000-a000-000000111111", "run:00000000-0000-8000-a000-000000222222"
DOCUMENTS: dict[tuple[str, str], Any] = {
    ("scenario", "lead"): scenario(ask(), name="Квалификация  лида"),
    ("scenario", "bare"): {"steps": [ask()]},
}
ENGINES = replace(SHIPPED_ENGINES, definitions=StaticDefinitions(DOCUMENTS))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of the loop are a matter of the real clock: shortened, not mocked away."""
    monkeypatch.setattr(worker, "POLL", 0.02)


async def test_the_list_and_the_words_of_two_runs_of_one_scenario_name_title_and_id(tmp_path: Path) -> None:
    """/runs has them with the ends of their ids, and so has the sentence that says which one got the words; /cancel takes a title."""
    async with a_world(tmp_path, engines=ENGINES) as world:
        await world.work(start("lead", engine="scenario", key=FIRST))
        await world.work(start("lead", engine="scenario", key=SECOND))
        world.outbox()
        await world.work(command("runs"))
        (listed,) = [row for row in world.outbox() if row.kind == "reply"]
        names = [(one["args"]["definition"], one["args"]["id"]) for one in listed.body["notices"] if one["code"] == "run-line"]
        assert sorted(names) == [("Квалификация лида", "111111"), ("Квалификация лида", "222222")]
        assert sorted((one["label"]["args"]["definition"], one["label"]["args"]["id"]) for one in listed.body["actions"]) == sorted(names)
        await world.work(message("Иван"))
        (told,) = [one for row in world.outbox() if row.kind == "reply" for one in row.body["notices"] if one["code"] == "run-chosen"]
        assert told["args"] == {"taken": "Квалификация лида · 222222", "waiting": "Квалификация лида · 111111", "count": 1}
        await world.work(command("cancel", args="квалификация лида"))
        assert [one.status for one in world.sql.list_runs(RunFilter(run_id=FIRST.removeprefix("run:")))] == ["cancelled"]
        await world.work(start("lead", engine="scenario", key=FIRST[:-1] + "4"))
        await world.work(start("bare", engine="scenario", key="run:00000000-0000-8000-a000-000000333333"))
        world.outbox()
        rows = world.sql.list_runs(RunFilter(statuses=("waiting",)))
        assert await name_runs(rows, ENGINES) == {
            (FIRST[:-1] + "4").removeprefix("run:"): RunName("Квалификация лида", NONE),
            "00000000-0000-8000-a000-000000333333": RunName("bare", NONE),
        }


async def test_what_is_gone_is_called_by_its_key(tmp_path: Path) -> None:
    """A title that nobody can look up any more keeps no list from being shown."""
    documents = dict(DOCUMENTS)
    engines = replace(SHIPPED_ENGINES, definitions=StaticDefinitions(documents))
    async with a_world(tmp_path, engines=engines) as world:
        await world.work(start("lead", engine="scenario", key=FIRST))
        documents.clear()
        rows = world.sql.list_runs(RunFilter())
        assert [one.written for one in (await name_runs(rows, engines)).values()] == ["lead"]
        assert await name_runs([rows[0]._replace(engine="gone")], engines) == {rows[0].run_id: RunName("lead")}
