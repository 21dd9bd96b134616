"""Random workflows give what their tuums give in a row, also if their program dies at a random commit and another goes on."""

import random
from collections import Counter
from pathlib import Path

import pytest

from orchestrator.domain.taint import Value
from orchestrator.engines.shared.launch import PARAMETERS
from orchestrator.runtime import worker
from orchestrator.sessions import session
from tests.contract.run_survival_kit import survive
from tests.unit.engines.flows.acting_flow import ANSWER
from tests.unit.engines.workflows.random_dags import SEEDS, START, build_random_dag, expect, shuffle_tuums

FAST = 20
MOST_COMMITS = 8
"""The fewest commits that any of these workflows makes are about as many."""
ARGS = {PARAMETERS: Value({"start": START}, frozenset({"person"}))}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of the loop are a matter of the real clock: shortened, not mocked away."""
    monkeypatch.setattr(session, "BUFFER_SECONDS", 60.0)  # on a slow machine, too, what is noted leaves with the next commit
    monkeypatch.setattr(worker, "POLL", 0.01)


@pytest.mark.req("S003-30", "S003-34", "S003-A6", "G2")
@pytest.mark.parametrize("seed", [*range(FAST), *(pytest.param(seed, marks=pytest.mark.crash_long) for seed in range(FAST, SEEDS))])
async def test_a_random_workflow_survives_a_death(tmp_path: Path, seed: int) -> None:
    """Every tuum is stored once, no answered question is asked again, each record is made once, and the text is the same."""
    document = shuffle_tuums(build_random_dag(seed), seed)
    dice = random.Random(seed)  # noqa: S311 - a plan is no secret
    ended = await survive(
        tmp_path, {"dag": document}, "dag", "workflow", dies_at=dice.randint(1, MOST_COMMITS), after=dice.random() < 0.5, args=ARGS
    )
    expected = expect(document, lambda text: f"{ANSWER}{text}")
    assert ended.status == "done"
    assert ended.said == [expected.raw_text]
    assert set(ended.asked) == set(expected.prompts)
    assert ended.asked_again == {}
    done = Counter((one.data["node"], one.data["attempt"]) for one in ended.events if one.type == "NodeDone")
    assert set(done.values()) == {1}
    assert {(one["tuumId"], 1) for one in document["tuums"]} <= set(done)
    assert sorted(params["fields"]["TITLE"].partition("(")[0] for _, params in ended.writes) == sorted(expected.names)
