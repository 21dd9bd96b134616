"""A run that failed while some of its children still waited: a retry lets all of them go on, and nothing is done twice."""

from pathlib import Path

import pytest

from orchestrator.domain.taint import Value
from orchestrator.engines.runs import Ask, Option, RunContext, RunEffect, RunFailed, RunResult, run_all
from state.journal.run_index import RunFilter
from tests.unit.runs.function_kit import a_function_world
from tests.unit.runs.runs_kit import index, start
from tests.unit.runs.test_runs_wait import click, order
from tests.unit.spine_kit import World, press

OWN = frozenset({"definition"})
YES = (Option(label="Да", value=1),)


async def _play(ctx: RunContext) -> RunResult:
    """One child writes freely and then asks a question, the other asks for a write that is denied at first."""
    kind = ctx.run.args.get("kind")
    if kind is None:
        await run_all(*(_need(ctx, name) for name in ("asks", "writes")))
        return RunResult()
    if kind.data == "asks":
        new = {"fields": {"TITLE": Value("Сделка ребёнка", OWN)}}
        await ctx.submit("free", RunEffect(method="crm.deal.add", params=new))
        await ctx.wait_input("ask", Ask(text="Дальше?", options=YES))
        return RunResult()
    change = {"id": Value(481, OWN), "fields": {"OPPORTUNITY": Value(1200000, OWN)}}
    if (await ctx.submit("act", RunEffect(method="crm.deal.update", params=change))).status != "succeeded":
        raise RunFailed("run-step-refused", "denied", step="act")
    return RunResult()


async def _need(ctx: RunContext, name: str) -> None:
    if (await ctx.child(name, "steps", "plan", {"kind": Value(name, OWN)})).status != "done":
        raise RunFailed("run-step-failed", "a child did not end", step=name)


def _shown(world: World) -> tuple[list[dict[str, object]], list[tuple[str, ...]]]:
    """The open cards, and the buttons of questions, among what waits to be delivered."""
    rows = world.outbox()
    cards = [dict(row.body) for row in rows if row.kind == "card" and row.body["status"] == "requested"]
    asked = [tuple(row.body["actions"][0]["words"]) for row in rows if row.kind == "reply" and row.body["actions"]]
    return cards, [words for words in asked if len(words) == 4]


@pytest.mark.req("G1", "G2")
async def test_a_retry_lets_the_children_go_on_that_were_cancelled_with_their_parent(tmp_path: Path) -> None:
    """The deal that the waiting child had made before is not made again, and its question is asked anew."""
    async with a_function_world(tmp_path, _play) as world:
        await world.work(start("plan"))
        (card,), _ = _shown(world)
        await world.work(press(card, key=str(card["home"]), approve=False))
        assert {row.status for row in world.sql.list_runs(RunFilter())} == {"failed", "cancelled"}
        world.outbox()
        await world.work(order("retry"))
        (again,), (asked,) = _shown(world)
        await world.work(press(again, key=str(again["home"])), click(*asked))
        assert index(world).status == "done"
        assert (len(world.portal.written("crm.deal.update")), len(world.portal.written("crm.deal.add"))) == (1, 1)
