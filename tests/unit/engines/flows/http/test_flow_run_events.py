"""What the journal of a flow's run says in the words of the seed: pure, on the journals of runs that were really played."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from engines.flows.core.definition import Flow
from engines.flows.http.run_events import FlowHistory
from tests.unit.engines.flows.flow_kit import SILENT, a_flow_world, flow, rest, start, step
from tests.unit.runs.runs_kit import events
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import World

pytestmark = pytest.mark.req("S002-X5", "S002-X6")


def read(world: World, document: Mapping[str, Any]) -> FlowHistory:
    """The history of the run as its journal has it now."""
    history = FlowHistory(Flow.model_validate(document))
    for event in events(world):
        history.add(event)
    return history


async def test_a_run_that_the_program_ends_is_aborted(tmp_path: Path) -> None:
    """A run whose owner was erased was not failed by its flow; a flow whose agent is gone, or whose budget is spent, has failed."""
    document = flow(step("one", success="two"), step("two"))
    async with a_flow_world(tmp_path, document) as (world, _):
        world.model.will("первое", SILENT)
        await world.work(start())
        (*before, end) = events(world)
    ended = {code: FlowHistory(Flow.model_validate(document)) for code in ("run-owner-gone", "flow-agent-gone", "run-limit-tokens")}
    for code, history in ended.items():
        for event in (*before, end._replace(data={**end.data, "code": code})):
            history.add(event)
    assert {code: history.status for code, history in ended.items()} == {
        "run-owner-gone": "ABORTED", "flow-agent-gone": "FAILED", "run-limit-tokens": "FAILED",
    }  # fmt: skip
    assert {history.happenings[-1].type for history in ended.values()} == {"FLOW_FAILED"}


async def test_a_flow_that_no_step_has_failed_says_why_all_the_same(tmp_path: Path) -> None:
    """A parameter that is missing ends the run before its first step: a program reads which one it is."""
    document = {**flow(step("one")), "launchParameters": [{"name": "client"}]}
    async with a_flow_world(tmp_path, document) as (world, _):
        await world.work(start({}))
        history = read(world, document)
    assert history.error is not None
    assert (history.error.code, history.error.message) == ("flow-parameter-unfit", "client is missing, it must be of the type string")


async def test_a_retried_step_has_failed_only_when_its_attempts_are_used_up_again(tmp_path: Path) -> None:
    """A retry gives a step all its attempts anew, so the first of them that fails is no failure of the step."""
    document = flow(step("one", maxAttempts=2))
    async with a_flow_world(tmp_path, document) as (world, _):
        world.model.will(SILENT, SILENT, SILENT, "готово")
        await world.work(start())
        await rest(world)
        await world.work(order("retry"))
        await rest(world)
        await rest(world)
        happened = [happening.type for happening in read(world, document).happenings]
    rested = ["STEP_RETRY_SCHEDULED", "STEP_STARTED"]
    assert happened == [
        "FLOW_STARTED", "STEP_STARTED", *rested, "STEP_FAILED", "FLOW_FAILED",
        "FLOW_RESUMED", *rested, *rested, "STEP_COMPLETED", "FLOW_COMPLETED",
    ]  # fmt: skip
