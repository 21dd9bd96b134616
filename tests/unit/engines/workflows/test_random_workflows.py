"""Random workflows give what the same tuums give one after the other, in any order of the file and with either scheduling."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.unit.engines.workflows.random_dags import SEEDS, START, Expected, answer_prompt, build_random_dag, expect, shuffle_tuums
from tests.unit.engines.workflows.stage_kit import QuietOutside, Stage, a_stage


async def _play(stage: Stage, document: Mapping[str, Any], seed: int) -> tuple[Any, QuietOutside]:
    """What the workflow gives, and what it did outside."""
    outside = QuietOutside(seed, answer_prompt)
    ended = await stage.play(document, outside, start=START)
    assert outside.failures == []
    return ended.value.data, outside


@pytest.mark.long
@pytest.mark.req("S003-13", "S003-14", "S003-15", "S003-30", "S003-31", "S003-34", "S003-35", "S003-A5", "S003-A6", "S003-A14")
async def test_random_workflows_give_what_their_tuums_give_in_a_row() -> None:
    """Of 200 random workflows each tuum runs once, also with the file shuffled and by batches; globals, text and operations are the same."""
    async with a_stage() as stage:
        for seed in range(SEEDS):
            document = build_random_dag(seed)
            expected = expect(document)
            shuffled = shuffle_tuums(document, seed)
            assert (expected.values, expected.raw_text) == ((again := expect(shuffled)).values, again.raw_text)
            for given in (document, shuffled, {**shuffled, "scheduling": "batch"}):
                _check(*await _play(stage, given, seed), given, expect(given))


def _check(found: Any, outside: QuietOutside, document: Mapping[str, Any], expected: Expected) -> None:
    assert found["isSuccess"]
    assert found["rawText"] == expected.raw_text
    assert [one["entityId"] for one in found["operations"]] == expected.names
    assert sorted(outside.prompts) == sorted(expected.prompts)
    assert set(outside.made.values()) == {1}
    assert {one["tuumId"] for one in document["tuums"]} <= set(outside.made)
    assert found["finished"] == [one["tuumId"] for one in document["tuums"]]


@pytest.mark.req("S003-8", "S003-9", "S003-36", "S003-A8")
async def test_without_a_terminal_the_globals_are_the_result() -> None:
    """The text is empty, the operations are those that were emitted, and all globals of random workflows are returned."""
    async with a_stage() as stage:
        for seed in range(0, SEEDS, 10):
            document = {**build_random_dag(seed), "terminal": {}}
            found, _ = await _play(stage, document, seed)
            expected = expect({**document, "terminal": {"rawText": "start"}})
            assert (found["globals"], found["rawText"]) == (expected.values, "")
            assert [one["entityId"] for one in found["operations"]] == expected.names
