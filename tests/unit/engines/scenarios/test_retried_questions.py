"""«Повторить» of a run that ended at a question asks it anew."""

from pathlib import Path

import pytest

from orchestrator.runtime import worker
from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, ask, failure, say, start, texts
from tests.unit.runs.runs_kit import events, index
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import message


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of the loop are a matter of the real clock: shortened, not mocked away."""
    monkeypatch.setattr(worker, "POLL", 0.02)


async def test_a_run_that_ended_because_no_answer_fitted_asks_again_when_it_is_retried(tmp_path: Path) -> None:
    """The person has all their tries again, each time; an answer that fits goes on."""
    async with a_scenario_world(tmp_path, ask("age", type="integer", tries=2), say("Вам {age}")) as world:
        await world.work(start())
        for given in ("сто", "двести"):
            await world.work(message(given))
        assert failure(world)["code"] == "scenario-input-failed"
        await world.work(order("retry"))
        assert index(world).status == "waiting"
        await world.work(message("триста"))
        assert index(world).status == "waiting"
        await world.work(message("17"))
        assert index(world).status == "done"
        assert texts(world)[-1] == "Вам 17"


async def test_a_retry_further_on_does_not_ask_again_what_went_its_way(tmp_path: Path) -> None:
    """The answer that did not fit led to its step; the run failed behind it, and its retry takes the same way."""
    broken = {"id": "no", "type": "branch", "condition": "missing > 5", "branches": {"if": "no"}}
    async with a_scenario_world(tmp_path, ask("age", type="integer", tries=1, on_invalid="no"), {"type": "end"}, broken) as world:
        await world.work(start())
        await world.work(message("сто"))
        assert failure(world)["code"] == "scenario-condition-failed"
        await world.work(order("retry"))
        assert [event.data["code"] for event in events(world, "RunFinished")] == ["scenario-condition-failed"] * 2
