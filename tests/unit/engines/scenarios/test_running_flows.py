"""A scenario runs a flow of agents inside, hands values to it and takes over what it gives; what strangers wrote never chooses one."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engines.flows.core.engine import FlowEngine
from engines.scenarios.core.engine import ScenarioEngine
from engines.scenarios.core.kind import build_kind
from orchestrator.definitions.service import DefinitionService
from orchestrator.domain.finding import DefinitionRefused
from orchestrator.domain.taint import Value
from orchestrator.runs.registry import RegisteredEngine
from state.journal.run_index import RunFilter
from tests.unit.definitions.service_kit import OLEG, VERA, data
from tests.unit.definitions.test_references import a_service, publish
from tests.unit.engines.flows.flow_kit import Agents, agent, flow
from tests.unit.engines.flows.flow_kit import step as flow_step
from tests.unit.engines.flows.test_flows import find_draft
from tests.unit.engines.scenarios.scenario_kit import TYPES, build_engines, failure, say, scenario, start, texts
from tests.unit.engines.scenarios.test_checks import errors
from tests.unit.runs.runs_kit import events, index
from tests.unit.spine_kit import World, a_world, message

FLOW = flow(
    flow_step("write"),
    launchParameters=[{"name": "client", "description": "Кто клиент?"}],
    outputs={"resultPayload": {"text": "$steps.write.output.content"}},
)


def run_flow(key: str = "draft", **params: Any) -> dict[str, Any]:
    return {"id": "run", "type": "run_flow", "params": {"flow_id": key, **params}}


def scenario_service() -> AbstractAsyncContextManager[DefinitionService]:
    return a_service({"scenario": RegisteredEngine(engine=ScenarioEngine(TYPES), kind=build_kind(TYPES))})


@asynccontextmanager
async def a_world_with_flows(folder: Path, *steps: Mapping[str, Any], document: Mapping[str, Any] = FLOW) -> AsyncIterator[World]:
    """The product with both engines, a scenario "plan" of these steps and a flow "draft"."""
    engines = build_engines({"plan": scenario(*steps)})
    engines.definitions._documents["flow", "draft"] = document  # type: ignore[attr-defined]
    flows = RegisteredEngine(engine=FlowEngine(Agents({"writer": agent()}).find))
    async with a_world(folder, engines=replace(engines, runs={**engines.runs, "flow": flows})) as world:
        yield world


@pytest.mark.parametrize(("taken", "told"), [
    ({"output_mapping": {"draft": "text"}}, "{draft}"),
    ({"output_mapping": ["text"]}, "{text}"),
    ({}, "{flow_result.payload.text}"),
    ({"output_var": "all"}, "{all.payload.text}"),
])  # fmt: skip
async def test_a_flow_gets_values_and_gives_its_outputs(tmp_path: Path, taken: dict[str, Any], told: str) -> None:
    """Parameters and context are filled from the variables; the outputs become variables as the mapping says."""
    given = run_flow(parameters={"client": "{who}"}, context={"note": "{text}"}, **taken)
    async with a_world_with_flows(tmp_path, {"type": "update_context", "params": {"updates": {"who": "Север"}}}, given, say(told)) as world:
        world.model.will("Письмо готово")
        await world.work(start(text=Value("спешно", frozenset({"person"}))))
        assert str(world.model.prompts[0][-1]["content"]) == '{"context":{"note":"спешно"},"parameters":{"client":"Север"}}'
        assert (texts(world)[-1], index(world).status) == ("Письмо готово", "done")


async def test_without_parameters_the_flow_asks_the_person(tmp_path: Path) -> None:
    """In the chat of the scenario, which waits for the end of it."""
    async with a_world_with_flows(tmp_path, run_flow(output_mapping=["text"]), say("вот: {text}")) as world:
        await world.work(start())
        assert (texts(world), index(world).status) == (["Кто клиент?"], "waiting")
        world.model.will("Письмо")
        await world.work(message("Север"))
        assert texts(world)[-1] == "вот: Письмо"


async def test_the_flow_leaves_the_words_to_the_scenario(tmp_path: Path) -> None:
    """The person reads the scenario's messages and no result of the flow beside them; its progress is shown while it works."""
    async with a_world_with_flows(tmp_path, run_flow(parameters={"client": "x"}, output_mapping=["text"]), say("вот: {text}")) as world:
        world.model.will("Письмо")
        await world.work(start())
        assert texts(world) == ["вот: Письмо"]
        assert "Проба\n⏳ WRITE" in [find_draft(one) for one in world.partials]


async def test_text_of_strangers_names_no_flow(tmp_path: Path) -> None:
    """A key that stood in text of others starts nothing."""
    async with a_world_with_flows(tmp_path, run_flow("{text}", parameters={"client": "x"})) as world:
        await world.work(start(text=Value("draft", frozenset({"prose"}))))
        assert (failure(world)["code"], world.model.prompts) == ("scenario-value-unfit", [])


async def test_a_way_that_strangers_chose_is_told_to_the_flow(tmp_path: Path) -> None:
    """Behind such a branch all that the flow gives counts as caused by their text, though its parameters are the author's."""
    decides = {"type": "branch", "condition": "text == 'да'", "branches": {"if": "run", "else": "run"}}
    async with a_world_with_flows(tmp_path, decides, run_flow(parameters={"client": "x"})) as world:
        world.model.will("Письмо")
        await world.work(start(text=Value("да", frozenset({"prose"}))))
        (child,) = [f"run:{one.run_id}" for one in world.sql.list_runs(RunFilter()) if one.engine == "flow"]
        (ended,) = events(world, "RunFinished", key=child)
        assert "prose" in ended.data["origins"]


async def test_a_scenario_is_published_only_beside_its_flow() -> None:
    """While the flow is not there, a draft or switched off, publishing names the step; a draft may be saved."""
    async with scenario_service() as service:
        made = (await service.create(VERA, "scenario", "plan", data(scenario(say("а"), run_flow())))).version

        async def refused() -> list[tuple[str, str]]:
            with pytest.raises(DefinitionRefused) as error:
                await service.publish(OLEG, "scenario", "plan", made.version, expected=made.revision)
            return [(one.path, one.code) for one in error.value.findings]

        assert await refused() == [("steps[1].params", "finding-reference-unknown")]
        await publish(service, "agent", "writer", agent())
        await service.create(VERA, "flow", "draft", data({**FLOW, "flowId": "draft"}))
        assert await refused() == [("steps[1].params", "finding-reference-draft")]
        await publish(service, "flow", "draft", {**FLOW, "flowId": "draft"})
        assert (await service.publish(OLEG, "scenario", "plan", made.version, expected=made.revision)).version.active


def test_it_is_no_step_for_customers() -> None:
    """The agents of a flow know what the company knows."""
    assert errors(scenario(run_flow(), customers=True)) == ["finding-step-internal"]
    assert errors(scenario(run_flow(), say("{flow_result}"))) == []
    assert errors(scenario(run_flow("draft@2"))) != []
