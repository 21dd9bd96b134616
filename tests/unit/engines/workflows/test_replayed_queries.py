"""A script that is played again gets to each of its queries the answer that this query had, whatever came first the time before (S003-64)."""

import asyncio
from pathlib import Path

import pytest

from orchestrator.domain.effect import Outcome
from orchestrator.engines.runs import RunEffect
from orchestrator.runs.context import Context
from tests.unit.engines.workflows.played_kit import a_workflow_world, code, result, start
from tests.unit.engines.workflows.workflow_kit import tuum, workflow
from tests.unit.runs.runs_kit import events, index
from tests.unit.runs.test_runs_wait import order

MISSING = 9999
SIDE_BY_SIDE = f"""
import asyncio
async def look(number):
    deal = await get_entity("deal", number)
    again = await query("crm.deal.get", {{"id": deal["ID"]}})
    return f"{{number}} is {{again['ID']}}"
found = await asyncio.gather(look(481), look(482))
await get_entity("deal", {MISSING})
{{"said": ", ".join(found)}}
"""
SAME = f"""
first = await get_entity("deal", 481)
second = await get_entity("deal", 481)
await get_entity("deal", {MISSING})
{{"said": f"{{first['ID']}} {{second['ID']}}"}}
"""


@pytest.mark.req("S003-64", "G2")
@pytest.mark.parametrize(("source", "said", "reads"), [(SIDE_BY_SIDE, "481 is 481, 482 is 482", 4), (SAME, "481 481", 2)])
async def test_a_query_keeps_its_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, said: str, reads: int) -> None:
    """The first deal is read last, so the script goes on with the second; after a failure behind them nothing is read anew or mixed up."""
    submit, is_slow = Context.submit, True

    async def submit_slowly(self: Context, node: str, effect: RunEffect) -> Outcome:
        found = await submit(self, node, effect)
        if is_slow and effect.params["id"] == 481:
            await asyncio.sleep(0.2)
        return found

    monkeypatch.setattr(Context, "submit", submit_slowly)
    only = tuum("only", mainScript=code(source, produces="said"), outputMappings={"said": "said"})
    async with a_workflow_world(tmp_path, workflow(only, terminal={"rawText": "said"})) as world:
        await world.work(start())
        assert index(world).status == "failed"
        is_slow = False
        world.portal.records["deal", MISSING] = {**world.portal.records["deal", 481], "ID": str(MISSING)}
        await world.work(order("retry"))
        assert result(world)["rawText"] == said
        done = [one.data["node"] for one in events(world, "NodeDone") if one.data["kind"] == "effect" and not one.data["refused"]]
        assert len(done) == len(set(done)) == reads + 1
