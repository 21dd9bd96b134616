"""A scenario runs a workflow inside: values go in, parts of the result come back, and the workflow stays silent in the chat."""

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.domain.taint import Value
from orchestrator.engines.workflows.engine import WorkflowEngine
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.runs.registry import RegisteredEngine
from orchestrator.runtime import worker
from tests.unit.engines.scenarios.scenario_kit import build_engines, failure, say, scenario, start, texts
from tests.unit.engines.workflows.played_kit import code
from tests.unit.engines.workflows.workflow_kit import TYPES, parameter, tuum, workflow
from tests.unit.spine_kit import a_world

LETTER = workflow(
    tuum(
        "write",
        mainScript=code('{"text": f"Здравствуйте, {client}!"}', consumes="client", produces="text"),
        outputMappings={"letter": "text"},
    ),
    triggerParameters=[parameter("client", description="Кому?")],
    terminal={"rawText": "letter"},
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of the loop are a matter of the real clock: shortened, not mocked away."""
    monkeypatch.setattr(worker, "POLL", 0.02)


@pytest.mark.parametrize(
    ("taken", "told"),
    [
        ({"output_mapping": {"draft": "rawText"}}, "{draft}"),
        ({"output_mapping": ["rawText"]}, "{rawText}"),
        ({}, "{workflow_result.globals.letter}"),
    ],
)
async def test_a_workflow_gets_values_and_gives_its_result(tmp_path: Path, taken: dict[str, object], told: str) -> None:
    """The scenario's own message is the only one."""
    run = {"id": "run", "type": "run_workflow", "params": {"workflow_id": "letter", "parameters": {"client": "{who}"}, **taken}}
    engines = build_engines({"plan": scenario(run, say(told))})
    engines.definitions._documents["workflow", "letter"] = LETTER  # type: ignore[attr-defined]
    async with ScriptRunner() as scripts:
        workflows = RegisteredEngine(engine=WorkflowEngine(TYPES, scripts))
        async with a_world(tmp_path, engines=replace(engines, runs={**engines.runs, "workflow": workflows})) as world:
            await world.work(start(who=Value("Север", frozenset({"person"}))))
            assert texts(world) == ["Здравствуйте, Север!"]


async def test_a_workflow_that_fails_ends_the_scenario(tmp_path: Path) -> None:
    """Nothing behind it is done."""
    run = {"id": "run", "type": "run_workflow", "params": {"workflow_id": "letter", "parameters": {}}}
    engines = build_engines({"plan": scenario(run, say("никогда"))})
    engines.definitions._documents["workflow", "letter"] = LETTER  # type: ignore[attr-defined]
    async with ScriptRunner() as scripts:
        workflows = RegisteredEngine(engine=WorkflowEngine(TYPES, scripts))
        async with a_world(tmp_path, engines=replace(engines, runs={**engines.runs, "workflow": workflows})) as world:
            await world.work(start())
            assert failure(world)["code"] == "scenario-child-failed"
