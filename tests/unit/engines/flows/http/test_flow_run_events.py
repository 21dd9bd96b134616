"""What the journal of a flow's run says in the words of the seed: pure, on the journals of runs that were really played."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engines.flows.core.definition import Flow
from engines.flows.http.run_events import FlowHistory
from orchestrator.domain.errors import ModelClientError
from tests.unit.engines.flows.flow_kit import a_flow_world, agent, flow, start, step
from tests.unit.runs.runs_kit import events
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import World

pytestmark = pytest.mark.req("S002-X5", "S002-X6")

SILENT = ModelClientError("no answer in 60 s")


def read(world: World, document: Mapping[str, Any]) -> FlowHistory:
    """The history of the run as its journal has it now."""
    history = FlowHistory(Flow.model_validate(document))
    for event in events(world):
        history.add(event)
    return history


def told(history: FlowHistory) -> list[str]:
    """The events in short: the type, and of a step its name, visit and attempt."""
    return [
        f"{one.type} {one.step}" + (f"/{one.execution.visit}/{one.execution.attempt}" if one.execution is not None else "")
        for one in history.happenings
    ]


async def rest(world: World) -> None:
    """Let the pause before the next attempt pass."""
    world.clock.advance(timedelta(seconds=1.1))
    await world.work()


async def test_each_step_begins_and_ends_in_order_and_what_was_not_reached_is_skipped(tmp_path: Path) -> None:
    document = flow(step("one", success="two"), step("two"), step("rescue"))
    async with a_flow_world(tmp_path, document) as (world, _):
        world.model.will("первое", '{"draft": "второе"}')
        await world.work(start())
        history = read(world, document)
    assert told(history) == [
        "FLOW_STARTED ",
        "STEP_STARTED one/1/1",
        "STEP_COMPLETED one/1/1",
        "STEP_STARTED two/1/1",
        "STEP_COMPLETED two/1/1",
        "STEP_SKIPPED rescue",
        "FLOW_COMPLETED ",
    ]
    assert history.status == "COMPLETED"
    assert [history.find_status(name) for name in ("one", "two", "rescue")] == ["COMPLETED", "COMPLETED", "SKIPPED"]
    assert history.executions[1].output == {"draft": "второе", "content": '{"draft": "второе"}'}
    assert [used for one in history.executions for used in one.used.values()] != []
    numbers = [one.number for one in history.happenings]
    assert numbers == sorted(set(numbers))


async def test_an_attempt_without_an_answer_is_repeated_as_an_execution_of_its_own(tmp_path: Path) -> None:
    """A retry is scheduled a second later; an empty answer is a failure as silence is."""
    document = flow(step("one", maxAttempts=3))
    async with a_flow_world(tmp_path, document) as (world, _):
        world.model.will(SILENT, "  ", "ответ")
        await world.work(start())
        waiting = read(world, document)
        assert (waiting.find_status("one"), waiting.status, waiting.happenings[-1].type) == ("PENDING", "RUNNING", "STEP_RETRY_SCHEDULED")
        assert waiting.executions[0].retry_at > waiting.executions[0].ended_at
        await rest(world)
        await rest(world)
        history = read(world, document)
    assert told(history)[1:-1] == [
        "STEP_STARTED one/1/1",
        "STEP_RETRY_SCHEDULED one/1/1",
        "STEP_STARTED one/1/2",
        "STEP_RETRY_SCHEDULED one/1/2",
        "STEP_STARTED one/1/3",
        "STEP_COMPLETED one/1/3",
    ]
    assert [one.error.code if one.error else "" for one in history.executions] == ["degraded", "empty-answer", ""]
    assert history.executions[0].error is not None
    assert history.executions[0].error.message == "no answer in 60 s"


async def test_a_failed_flow_goes_on_at_the_failed_step_when_it_is_retried(tmp_path: Path) -> None:
    document = flow(step("one", success="two"), step("two"))
    async with a_flow_world(tmp_path, document) as (world, _):
        world.model.will("первое", SILENT)
        await world.work(start())
        failed = read(world, document)
        assert (failed.status, failed.find_status("two"), failed.is_over) == ("FAILED", "FAILED", True)
        assert failed.error is not None
        assert (failed.error.code, failed.error.message) == ("flow-step-failed", "Step two failed: no answer in 60 s")
        world.model.will("второе")
        await world.work(order("retry"))
        await rest(world)
        history = read(world, document)
    assert told(history)[3:] == [
        "STEP_STARTED two/1/1",
        "STEP_FAILED two/1/1",
        "FLOW_FAILED ",
        "FLOW_RESUMED ",
        "STEP_RETRY_SCHEDULED two/1/1",
        "STEP_STARTED two/1/2",
        "STEP_COMPLETED two/1/2",
        "FLOW_COMPLETED ",
    ]
    assert (history.status, history.error, history.happenings[6].reason) == ("COMPLETED", None, "retry")


async def test_a_step_that_is_visited_twice_has_two_executions(tmp_path: Path) -> None:
    document = flow(step("one", success="two"), step("two", failure="one"))
    async with a_flow_world(tmp_path, document) as (world, _):
        world.model.will("раз", SILENT, "два", "готово")
        await world.work(start())
        history = read(world, document)
    assert [one.key for one in history.executions] == [("one", 1, 1), ("two", 1, 1), ("one", 2, 1), ("two", 2, 1)]
    assert (history.status, history.find_status("two")) == ("COMPLETED", "COMPLETED")


async def test_operations_wait_for_a_person_and_a_refusal_fails_the_step(tmp_path: Path) -> None:
    """The step waits for approval while its card is open; it has failed if the person says no."""
    document = flow(step("one"))
    agents = {"writer": agent(effects=["crm.deal.update"])}
    proposal = '{"operations": [{"method": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 150000}}}]}'
    async with a_flow_world(tmp_path, document, agents) as (world, _):
        world.model.will(proposal)
        await world.work(start())
        waiting = read(world, document)
        assert (waiting.find_status("one"), waiting.status) == ("WAITING_APPROVAL", "RUNNING")
        await world.work(order("cancel"))
        history = read(world, document)
    assert told(history)[-1] == "FLOW_CANCELLED "
    assert (history.status, history.find_status("one")) == ("CANCELLED", "CANCELLED")


async def test_what_an_agent_may_not_propose_is_no_answer(tmp_path: Path) -> None:
    document = flow(step("one"))
    agents = {"writer": agent(effects=["crm.deal.update"])}
    async with a_flow_world(tmp_path, document, agents) as (world, _):
        world.model.will('{"operations": [{"method": "crm.deal.delete", "params": {"id": 481}}]}')
        await world.work(start())
        history = read(world, document)
    assert [one.error.code for one in history.executions if one.error] == ["operations-unfit"]
    assert told(history)[-2:] == ["STEP_FAILED one/1/1", "FLOW_FAILED "]


async def test_a_run_that_the_program_ends_is_aborted(tmp_path: Path) -> None:
    """A run whose owner was erased was not failed by its flow; a flow whose agent is gone has failed."""
    document = flow(step("one", success="two"), step("two"))
    async with a_flow_world(tmp_path, document) as (world, _):
        world.model.will("первое", SILENT)
        await world.work(start())
        (*before, end) = events(world)
    ended = {code: FlowHistory(Flow.model_validate(document)) for code in ("run-owner-gone", "flow-agent-gone")}
    for code, history in ended.items():
        for event in (*before, end._replace(data={**end.data, "code": code})):
            history.add(event)
    assert {code: history.status for code, history in ended.items()} == {"run-owner-gone": "ABORTED", "flow-agent-gone": "FAILED"}
    assert {history.happenings[-1].type for history in ended.values()} == {"FLOW_FAILED"}


async def test_a_flow_that_no_step_has_failed_says_why_all_the_same(tmp_path: Path) -> None:
    """A parameter that is missing ends the run before its first step: a program reads which one it is."""
    document = {**flow(step("one")), "launchParameters": [{"name": "client"}]}
    async with a_flow_world(tmp_path, document) as (world, _):
        await world.work(start({}))
        history = read(world, document)
    assert history.error is not None
    assert (history.error.code, history.error.message) == ("flow-parameter-unfit", "client is missing, it must be of the type string")
