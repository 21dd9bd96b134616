"""Metrics say, for each engine, how many runs began, how they ended, what their nodes did, and how many are not over."""

from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from bot.monitoring.gauges import Gauges
from bot.monitoring.meters import MOST_ENGINES, Meters
from orchestrator.runtime.metrics import CommitCounter
from state.clock import SystemClock
from state.sql.backlog import Backlog, BacklogReader
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.bot.monitoring.test_meters import samples
from tests.unit.runs.runs_kit import RUN, a_run_world, start, steps

pytestmark = pytest.mark.req("G1")

OTHER_RUN = RUN[:-1] + "2"


async def test_runs_and_nodes_are_counted_by_engine(tmp_path: Path) -> None:
    """The tokens of nodes count like those of turns; a run that fails counts as failed."""
    documents = {"plan": steps({"say": "Начинаю"}, {"model": "скажи"}), "broken": steps({"child": "nowhere"})}
    meters = Meters()
    async with a_run_world(tmp_path, documents) as world:
        world.store.watchers.append(CommitCounter(meters).count)
        world.model.will("привет")
        await world.work(start("plan"), start("broken", key=OTHER_RUN))
    found = samples(meters)
    assert {key[1:]: value for key, value in found.items() if key[0] == "sdelka_runs_total"} == {
        ("done", "steps"): 1.0,
        ("failed", "steps"): 1.0,
        ("started", "steps"): 2.0,
    }
    assert {key[2]: value for key, value in found.items() if key[0] == "sdelka_run_nodes_total"} == {"say": 1.0, "model": 1.0}
    assert found["sdelka_model_tokens_total", "completion", "scripted"] == 5


async def test_runs_that_are_not_over_are_counted_in_the_database(tmp_path: Path) -> None:
    """By engine and status; a run that has ended is not among them."""
    url = build_sqlite_url(tmp_path / "sdelka.db")
    documents = {"plan": steps({"ask": "Как зовут?"}), "short": steps({"say": "Готово"})}
    async with a_run_world(tmp_path, documents, store=open_store(url)) as world:
        await world.work(start("plan"), start("short", key=OTHER_RUN))
        reader = BacklogReader(url)
        assert reader.read("2026-11-22").runs == {("steps", "waiting"): 1}
        reader.close()


async def test_the_gauge_has_few_engines_whatever_the_index_holds(tmp_path: Path) -> None:
    """Engines beyond the first ones are counted together."""
    many = Backlog(runs={(f"engine{number:03d}", "waiting"): 1 for number in range(100)})
    gauges = Gauges(lambda _: replace(many), SystemClock())
    await gauges.refresh()
    registry = CollectorRegistry()
    registry.register(gauges)
    lines = [line for line in generate_latest(registry).decode().splitlines() if line.startswith("sdelka_runs_open{")]
    await gauges.aclose()
    assert len({line.split('"')[1] for line in lines}) == MOST_ENGINES + 1
    assert 'sdelka_runs_open{engine="other",status="waiting"} 80.0' in lines
