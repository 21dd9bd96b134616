"""Whatever a script tries, it ends in a finding within its limits, and the next script runs."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from orchestrator.expressions.scripts.failures import SENTENCES, ScriptFailed
from orchestrator.expressions.scripts.runner import ScriptLimits, ScriptRunner
from state.canonical import dumps
from tests.unit.expressions.scripts.hostile import HOSTILE, LOOP

TIGHT = ScriptLimits(memory_bytes=8_000_000, calls=20, print_bytes=5_000)
SHORT = replace(TIGHT, seconds=0.05)
"""For scripts that may use up their time; the others have enough of it also on a busy machine."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def runner() -> AsyncIterator[ScriptRunner]:
    async with ScriptRunner() as runner:
        yield runner


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_script_ends_in_a_finding_and_changes_nothing(runner: ScriptRunner, name: str) -> None:
    source, codes = HOSTILE[name]
    given = {"x": [1]}
    with pytest.raises(ScriptFailed) as failed:
        await runner.run(source, given, {"look": lambda _value: 1}, SHORT if LOOP in codes else TIGHT)
    finding = failed.value.finding
    assert finding.code in codes, str(finding)
    assert len(str(finding)) < 1000
    assert finding.code in SENTENCES
    assert dumps(finding.to_json()), "a finding can be stored"
    assert given == {"x": [1]}
    assert (await runner.run("x[0] + 1", {"x": [1]})).value.data == 2
