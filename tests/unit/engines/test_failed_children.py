"""What the person reads when a run inside of a scenario fails: that it did, by its title, and its own reason behind, each once."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.i18n.translate import Translator
from bot.rendering.kinds import render_message
from bot.rendering.spans import to_plain_text
from engines.flows.core.engine import FlowEngine
from engines.workflows.core.engine import WorkflowEngine
from orchestrator.domain.run_inputs import RunChildEnd
from orchestrator.domain.taint import Value
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.runs.registry import RegisteredEngine
from state.journal.store import OutboxRow
from tests.unit.engines.flows.flow_kit import Agents, agent, flow
from tests.unit.engines.flows.flow_kit import step as flow_step
from tests.unit.engines.scenarios.scenario_kit import build_engines, failure, replies, say, scenario, start
from tests.unit.engines.workflows.played_kit import code
from tests.unit.engines.workflows.workflow_kit import TYPES, parameter, tuum, workflow
from tests.unit.runs.runs_kit import events
from tests.unit.spine_kit import ANNA, World, a_world, codes_of

STOPPING = workflow(
    tuum("look", mainScript=code('await stop(f"Клиента «{client}» нет в базе")', consumes="client")),
    triggerParameters=[parameter("client", description="Кто?")],
)
STOPPED = ["run-ended", "scenario-child-failed", "workflow-stopped"]
FLOW = flow(flow_step("write"), launchParameters=[{"name": "client", "description": "Кто клиент?"}])


def run_workflow(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": "run", "type": "run_workflow", "params": {"workflow_id": "dossier", "parameters": parameters}}


def call(key: str) -> dict[str, Any]:
    return {"id": "inner", "type": "execute_sub_scenario", "params": {"sub_scenario_id": key, "output_mapping": []}}


@asynccontextmanager
async def a_world_with(folder: Path, documents: Mapping[str, Any]) -> AsyncIterator[World]:
    """The product with scenarios, a workflow "dossier" whose title is Dossier, and a flow "draft" of no title."""
    engines = build_engines(documents)
    engines.definitions._documents["workflow", "dossier"] = STOPPING  # type: ignore[attr-defined]
    engines.definitions._documents["flow", "draft"] = FLOW  # type: ignore[attr-defined]
    async with ScriptRunner() as scripts:
        runs = {
            **engines.runs,
            "workflow": RegisteredEngine(engine=WorkflowEngine(TYPES, scripts), describe=lambda one: (one["metadata"]["title"], "")),
            "flow": RegisteredEngine(engine=FlowEngine(Agents({"writer": agent()}).find)),
        }
        async with a_world(folder, engines=replace(engines, runs=runs)) as world:
            yield world


def read(told: OutboxRow, language: str = "ru") -> str:
    return to_plain_text(render_message("reply", told.body, Translator(language)))


@pytest.mark.parametrize("language", ["ru", "en"])
async def test_the_words_of_a_workflow_that_stops_are_read_once(tmp_path: Path, language: str) -> None:
    """Behind the sentence that names it by its title; it says nothing by itself."""
    async with a_world_with(tmp_path, {"plan": scenario(run_workflow({"client": "Север"}), say("никогда"))}) as world:
        await world.work(start())
        (told,) = replies(world)
        assert list(codes_of(told)) == STOPPED
        assert read(told, language).count("Клиента «Север» нет в базе") == 1
        named = {"ru": "Не выполнен процесс «Dossier»", "en": "The workflow “Dossier” inside of this scenario failed"}
        assert named[language] in read(told, language)
        assert failure(world)["code"] == "scenario-child-failed"


async def test_a_parameter_that_does_not_fit_is_named(tmp_path: Path) -> None:
    """By the sentence that the person would read of the workflow itself."""
    async with a_world_with(tmp_path, {"plan": scenario(run_workflow({"client": {"a": 1}}))}) as world:
        await world.work(start())
        (told,) = replies(world)
        assert list(codes_of(told))[:2] == STOPPED[:2]
        assert told.body["notices"][2]["args"]["name"] == "client"


async def test_a_flow_says_why_and_has_its_key_for_a_title(tmp_path: Path) -> None:
    """The model does not answer: the flow has no title."""
    run = {"id": "run", "type": "run_flow", "params": {"flow_id": "draft", "parameters": {}}}
    async with a_world_with(tmp_path, {"plan": scenario(run)}) as world:
        await world.work(start())
        (told,) = replies(world)
        assert len(codes_of(told)) == 3
        assert "«draft»" in read(told)
        assert "client" in read(told)


async def test_a_definition_that_there_is_not_is_told(tmp_path: Path) -> None:
    """What kept the run inside from beginning is read, too."""
    async with a_world_with(tmp_path, {"plan": scenario(call("nowhere"))}) as world:
        await world.work(start())
        assert [list(codes_of(one)) for one in replies(world)] == [["run-ended", "scenario-child-failed", "run-definition-gone"]]


async def test_reasons_go_through_scenarios_inside_of_each_other(tmp_path: Path) -> None:
    """Each says what failed inside of it, and the innermost why."""
    documents = {"plan": scenario(call("middle")), "middle": scenario(run_workflow({"client": "Север"}))}
    async with a_world_with(tmp_path, documents) as world:
        await world.work(start())
        (told,) = replies(world)
        assert list(codes_of(told)) == ["run-ended", "scenario-child-failed", *STOPPED[1:]]


async def test_a_long_chain_tells_its_beginning_and_its_end(tmp_path: Path) -> None:
    """Of eight scenarios inside of each other the person reads the first that failed, and what happened in the last."""
    documents = {f"s{number}": scenario(call(f"s{number + 1}")) for number in range(7)}
    async with a_world_with(tmp_path, {**documents, "s7": scenario(run_workflow({"client": "Север"}))}) as world:
        await world.work(start("s0"))
        (told,) = replies(world)
        assert len(codes_of(told)) == 5
        assert list(codes_of(told))[-1] == "workflow-stopped"


async def test_customers_read_nothing_of_it(tmp_path: Path) -> None:
    """Why it ended is the company's business, also in a scenario inside of another."""
    broken = scenario({"id": "закупки", "type": "branch", "condition": "нет > 1", "branches": {"if": "закупки"}}, customers=True)
    async with a_world_with(tmp_path, {"plan": scenario(call("inner"), customers=True), "inner": broken}) as world:
        await world.work(start(actor=ANNA.model_copy(update={"for_customers": True})))
        (told,) = world.outbox()
        assert list(codes_of(told)) == ["run-ended-outside"]
        assert "закупки" not in str(told.body)
        (woken,) = events(world, "RunWoken")
        assert woken.data["value"]["reasons"]["notices"]  # the parent knows it


async def test_the_end_of_an_earlier_version_has_no_reasons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that ended before the program was renewed: its parent says what it can."""
    write = RunChildEnd.to_json

    def write_old(self: RunChildEnd) -> dict[str, Any]:
        return {name: one for name, one in write(self).items() if name not in {"title", "reasons"}}

    monkeypatch.setattr(RunChildEnd, "to_json", write_old)
    async with a_world_with(tmp_path, {"plan": scenario(run_workflow({"client": "Север"}))}) as world:
        await world.work(start())
        (told,) = replies(world)
        assert list(codes_of(told)) == STOPPED[:2]
        assert "«dossier»" in read(told)


async def test_text_of_strangers_in_a_reason_stays_marked(tmp_path: Path) -> None:
    """The words of the workflow quote a value of strangers."""
    async with a_world_with(tmp_path, {"plan": scenario(run_workflow({"client": "{client}"}))}) as world:
        await world.work(start(client=Value("Север", frozenset({"prose"}))))
        (woken,) = events(world, "RunWoken")
        assert "prose" in woken.data["value"]["reasons"]["origins"]
        assert "prose" in woken.data["origins"]
