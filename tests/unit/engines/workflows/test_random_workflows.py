"""Random workflows give what the same tuums give one after the other, in any order of the file and with either scheduling."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.domain.outcome import Outcome
from orchestrator.domain.run_inputs import RunAnswer
from orchestrator.domain.taint import Value
from orchestrator.engines.flows.launch import PARAMETERS
from orchestrator.engines.runs import Ask, RunEffect, RunModelRequest
from orchestrator.engines.workflows.engine import WorkflowEngine
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.rehearsals.rehearsal import Happening, Outside, Place, Rehearsal
from tests.unit.engines.workflows.random_dags import SEEDS, START, Expected, answer_prompt, build_random_dag, expect, shuffle_tuums
from tests.unit.engines.workflows.workflow_kit import TYPES

NOW = datetime(2026, 11, 27, 9, 0, tzinfo=UTC)


class UnevenOutside(Outside):
    """Answers after pauses of random length, so that tuums end in another order each time; counts what is done."""

    def __init__(self, seed: int) -> None:
        """Pause as this seed says."""
        self._dice = random.Random(seed)  # noqa: S311 - a plan is no secret
        self.prompts: list[str] = []
        self.made: Counter[str] = Counter()

    async def _pause(self) -> None:
        for _ in range(self._dice.randint(0, 4)):
            await asyncio.sleep(0)

    async def ask_model(self, place: Place, request: RunModelRequest) -> Any:
        """The answer to the prompt."""
        self.made[place.node] += 1
        await self._pause()
        text = str(request.messages[-1]["content"])
        self.prompts.append(text)
        return answer_prompt(text)

    async def read_memo(self, place: Place, make: Callable[[], Awaitable[Any]]) -> Any:
        """What the run notes."""
        self.made[place.node] += 1
        await self._pause()
        return await make()

    async def perform(self, place: Place, effect: RunEffect, params: Any) -> Outcome:
        """Do nothing, and say that it is done."""
        del place, params
        return Outcome(status="planned", effect_id="none", method=effect.method)

    async def answer(self, place: Place, ask: Ask) -> RunAnswer | None:
        """Nobody is asked."""
        raise AssertionError(f"{place.node} asks {ask.text}")

    async def ask_agent(self, place: Place, engine: str, args: Mapping[str, Any]) -> str:
        """Nobody is asked."""
        raise AssertionError(place.node, engine, args)

    async def run_elsewhere(self, place: Place, engine: str, args: Mapping[str, Any]) -> Any:
        """Nothing else runs."""
        raise AssertionError(place.node, engine, args)

    def tell(self, happening: Happening) -> None:
        """Fail with the run."""
        assert happening.kind != "failure", happening


@pytest.fixture
async def scripts() -> AsyncIterator[ScriptRunner]:
    """The sandbox."""
    async with ScriptRunner() as runner:
        yield runner


async def _play(scripts: ScriptRunner, document: Mapping[str, Any], seed: int) -> tuple[Any, UnevenOutside]:
    """What the workflow gives, and what it did outside."""
    outside = UnevenOutside(seed)
    rehearsal = Rehearsal({"workflow": WorkflowEngine(TYPES, scripts)}, lambda *_: document, outside, now=NOW)
    given = {PARAMETERS: Value({"start": START}, frozenset({"person"}))}
    ended = await rehearsal.play("workflow", "dossier", given)
    return ended.value.data, outside


@pytest.mark.req("S003-13", "S003-14", "S003-15", "S003-30", "S003-31", "S003-34", "S003-35", "S003-A5", "S003-A6", "S003-A14")
async def test_random_workflows_give_what_their_tuums_give_in_a_row(scripts: ScriptRunner) -> None:
    """Of 200 random workflows each tuum runs once, also with the file shuffled and by batches; globals, text and operations are the same."""
    for seed in range(SEEDS):
        document = build_random_dag(seed)
        expected = expect(document)
        shuffled = shuffle_tuums(document, seed)
        assert (expected.values, expected.raw_text) == ((again := expect(shuffled)).values, again.raw_text)
        for given in (document, shuffled, {**shuffled, "scheduling": "batch"}):
            _check(*await _play(scripts, given, seed), given, expect(given))


def _check(found: Any, outside: UnevenOutside, document: Mapping[str, Any], expected: Expected) -> None:
    assert found["isSuccess"]
    assert found["rawText"] == expected.raw_text
    assert [one["entityId"] for one in found["operations"]] == expected.names
    assert sorted(outside.prompts) == sorted(expected.prompts)
    assert set(outside.made.values()) == {1}
    assert {one["tuumId"] for one in document["tuums"]} <= set(outside.made)
    assert found["finished"] == [one["tuumId"] for one in document["tuums"]]


@pytest.mark.req("S003-8", "S003-9", "S003-36", "S003-A8")
async def test_without_a_terminal_the_globals_are_the_result(scripts: ScriptRunner) -> None:
    """The text is empty, the operations are those that were emitted, and all globals of random workflows are returned."""
    for seed in range(0, SEEDS, 10):
        document = {**build_random_dag(seed), "terminal": {}}
        found, _ = await _play(scripts, document, seed)
        expected = expect({**document, "terminal": {"rawText": "start"}})
        assert (found["globals"], found["rawText"]) == (expected.values, "")
        assert [one["entityId"] for one in found["operations"]] == expected.names
