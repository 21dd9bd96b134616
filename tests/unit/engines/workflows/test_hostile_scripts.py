"""Whatever a script or rune does, its tuum ends with a typed error in time, the other tuums end well, and nothing is proposed."""

import asyncio
import time
from typing import Any

import pytest

from tests.unit.engines.workflows.hostile_scripts import FAILING, FAILING_TUUMS, HARMLESS, ODD_TEXTS, act
from tests.unit.engines.workflows.played_kit import code
from tests.unit.engines.workflows.stage_kit import QuietOutside, a_stage, play_quietly
from tests.unit.engines.workflows.workflow_kit import put, tuum, workflow

WITHIN = 30.0
"""Seconds after which any of them must have ended, on a busy machine."""
BESIDE = tuum("beside", put("text", "цел"), mainScript=code('{"fine": text + "!"}', consumes="text", produces="fine"), outputMappings={"fine": "fine"})  # fmt: skip


@pytest.mark.long
@pytest.mark.req("S003-A13", "S003-57", "S003-A6")
@pytest.mark.parametrize("name", FAILING)
async def test_a_hostile_script_ends_its_own_tuum(name: str) -> None:
    """The run fails with the code of a failed tuum, the tuum beside is done, and no operation leaves the engine."""
    await _check_failing(act(FAILING[name]))


@pytest.mark.req("S003-A13", "S003-A6")
@pytest.mark.parametrize("name", FAILING_TUUMS)
async def test_a_hostile_tuum_ends_by_itself(name: str) -> None:
    """The same of runes and prompts."""
    await _check_failing(FAILING_TUUMS[name])


async def _check_failing(fields: dict[str, Any]) -> None:
    document = workflow(tuum("bad", **fields), BESIDE, onFailure="finish")
    async with a_stage() as stage:
        outside, begun = QuietOutside(), time.monotonic()
        ended = await stage.play(document, outside)
        assert time.monotonic() - begun < WITHIN
    assert (ended.status, ended.code) == ("failed", "workflow-tuum-failed"), outside.failures
    assert outside.made["beside"] == 1
    assert [effect for effect in outside.effects if effect[0] != "crm.deal.get"] == []


@pytest.mark.req("S003-A13")
@pytest.mark.parametrize("name", HARMLESS)
async def test_an_odd_script_ends_well(name: str) -> None:
    """It gives its variable and proposes nothing."""
    ended, outside = await play_quietly(workflow(tuum("odd", **act(HARMLESS[name]))))
    assert (ended.status, outside.failures) == ("done", [])
    assert "out" in ended.value.data["globals"]
    assert ended.value.data["operations"] == []


@pytest.mark.long
@pytest.mark.req("S003-15")
async def test_many_scripts_at_once_wait_for_their_turn() -> None:
    """Of 300 tuums with scripts that could all run at once none is refused because the sandbox is busy, nor for waiting."""
    count = 300
    tuums = [
        tuum(f"t{number}", mainScript=code('{"out": 1}', produces="out"), outputMappings={f"v{number}": "out"}) for number in range(count)
    ]
    async with a_stage() as stage:
        outside = QuietOutside()
        ended = await asyncio.wait_for(stage.play(workflow(*tuums), outside), 30)
    assert outside.failures == []
    assert len(ended.value.data["finished"]) == count


@pytest.mark.req("S003-A13")
@pytest.mark.parametrize("name", ODD_TEXTS)
async def test_json_is_taken_out_of_any_text(name: str) -> None:
    """A text that cannot be read gives the default, in time."""
    take = {"runeType": "json", "input": "AiOutput", "output": "found", "default": "нет"}
    asking = tuum(
        "ask", {"runeType": "prompt", "template": "?"}, {"runeType": "ai", "aiService": "tool"}, take, outputMappings={"out": "found"}
    )
    async with a_stage() as stage:
        outside, begun = QuietOutside(answer=lambda _: ODD_TEXTS[name]), time.monotonic()
        ended = await stage.play(workflow(asking), outside)
        assert time.monotonic() - begun < WITHIN
    assert outside.failures == []
    assert ended.status == "done"


@pytest.mark.req("S003-49")
async def test_an_emit_that_is_not_awaited_counts() -> None:
    """Operations stand as they were emitted, however the script calls the function."""
    source = "for n in range(1, 6):\n    emit({'operationType': 'DeleteEntity', 'entityType': 'deal', 'entityId': n})\n{'out': given}"
    ended, _ = await play_quietly(workflow(tuum("odd", **act(source))))
    assert [one["entityId"] for one in ended.value.data["operations"]] == ["1", "2", "3", "4", "5"]


@pytest.mark.req("S003-74")
@pytest.mark.parametrize("name", ["clock", "tuums", "say", "apply", "block", "launch", "closed", "turn", "run", "result", "parameters"])
async def test_a_tuum_may_have_any_name(name: str) -> None:
    """The names of the run's own nodes are none of tuums."""
    asking = tuum(name, put("x", 1), promptRunes=[{"runeType": "prompt", "template": "?"}], aiService="tool", mainScript=code("{'out': x}", consumes="x", produces="out"), outputMappings={"out": "out"})  # fmt: skip
    ended, outside = await play_quietly(workflow(asking))
    assert outside.failures == []
    assert ended.value.data["globals"] == {"out": 1}
