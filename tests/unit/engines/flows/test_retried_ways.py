"""After a retry a flow may take another way: what followed the failure that is none any more is no part of it."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.unit.engines.flows.flow_kit import SILENT, a_flow_world, agent, flow, result, start, step
from tests.unit.engines.flows.http.flows_kit import FLOWS, a_running_flow_api
from tests.unit.engines.flows.test_operations import CLERK, LEAD, MAKER, RAISE, cards, propose
from tests.unit.runs.runs_kit import RUN, events, index
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import World, press

HANDLED = {"resultPayload": {"told": "$steps.handle.output.content"}}
PLAIN = {"writer": agent()}


def build_plan(**handler: Any) -> dict[str, Any]:
    """Two steps whose failures lead to the same handler, after the first of which the flow fails all the same."""
    return flow(
        step("first", success="second", failure="handle", fail=True),
        step("second", failure="handle"),
        {**step("handle"), **handler},
        outputs=HANDLED,
    )


async def retry(world: World, *answers: Any) -> None:
    """Have the run retried, with these answers."""
    world.model.will(*answers)
    await world.work(order("retry"))
    world.clock.advance(timedelta(seconds=1.1))
    await world.work()


async def test_what_a_handler_has_changed_it_changes_once(tmp_path: Path) -> None:
    """Nobody can tell whether its change was for the first failure alone: it is not asked again, and what it gave stands."""
    plan = build_plan(agentVersionId="maker")
    async with a_flow_world(tmp_path, plan, {**PLAIN, "maker": MAKER}) as (world, _):
        world.model.will(SILENT, propose(LEAD, content="завёл лид"))
        await world.work(start())
        assert (index(world).status, len(world.portal.written())) == ("failed", 1)
        await retry(world, "первый", SILENT)
        assert (index(world).status, len(world.portal.written()), len(world.model.prompts)) == ("done", 1, 4)


async def test_the_way_stays_the_same_after_a_further_retry(tmp_path: Path) -> None:
    """What was asked anew is then finished, too, and is not paid again."""
    plan = build_plan(transitions={"onSuccess": {"next": "end"}})
    plan["steps"].append(step("end"))
    async with a_flow_world(tmp_path, plan, PLAIN) as (world, _):
        world.model.will(SILENT, "первый не вышел", "конец")
        await world.work(start())
        await retry(world, "первый", SILENT, "второй не вышел", SILENT)
        assert index(world).status == "failed"
        await retry(world, "конец")
        assert (index(world).status, result(world)["payload"], len(world.model.prompts)) == ("done", {"told": "второй не вышел"}, 8)


async def test_an_approved_change_leads_past_the_handler_of_its_refusal(tmp_path: Path) -> None:
    """Refused, handled, retried and approved: a later failure is handled anew, and the change is made once."""
    plan = build_plan(agentVersionId="plain")
    plan["steps"][0]["agentVersionId"], plan["steps"][1]["agentVersionId"] = "writer", "plain"
    async with a_flow_world(tmp_path, plan, {**CLERK, "plain": agent()}) as (world, _):
        world.model.will(propose(RAISE), "отказано")
        await world.work(start())
        (shown,) = cards(world)
        await world.work(press(shown.body, approve=False, key=RUN))
        assert index(world).status == "failed"
        await retry(world, SILENT, "второй не вышел")
        (shown,) = [one for one in cards(world) if one.body["confirmation_id"] != shown.body["confirmation_id"]]
        await world.work(press(shown.body, key=RUN))
        assert (index(world).status, result(world)["payload"]) == ("done", {"told": "второй не вышел"})
        assert len(world.portal.written("crm.deal.update")) == 1


async def test_a_failure_that_stays_one_does_not_ask_its_handler_again(tmp_path: Path) -> None:
    """The way is the same as before, and what has been done on it is not paid twice."""
    async with a_flow_world(tmp_path, build_plan(), PLAIN) as (world, _):
        world.model.will(SILENT, "первый не вышел")
        await world.work(start())
        await retry(world, SILENT)
        assert (index(world).status, len(world.model.prompts)) == ("failed", 3)
        assert not [one for one in events(world, "NodeDone") if one.data["node"].endswith("/reopened")]


@pytest.mark.req("S002-X3")
async def test_a_snapshot_shows_nothing_in_channels_that_is_no_part_of_the_way(tmp_path: Path) -> None:
    """What the handler of the forgiven failure wrote no step is told any more; its execution stays in the list."""
    log = [{"channel": "log"}]
    plan = build_plan(memoryWrites=log, transitions={"onSuccess": {"next": "end"}})
    plan["steps"].append(step("end", memoryReads=log))
    async with a_running_flow_api(tmp_path) as (api, world):
        await api.hire()
        await api.publish(await api.create(plan, FLOWS))
        world.model.will(SILENT, "первый не вышел", "конец")
        run = (await api.post("/api/flows/plan/start", {"parameters": {}})).json()["sessionId"]
        await world.idle()
        world.model.will("первый", SILENT, "второй не вышел", "конец")
        await api.post(f"/api/flows/{run}/control", {"action": "retryStep"})
        await world.idle()
        world.clock.advance(timedelta(seconds=1.1))
        await world.idle()
        shown = (await api.get(f"/api/flows/{run}/snapshot")).json()
        assert shown["status"] == "COMPLETED"
        assert str(world.model.prompts[-1]).count("не вышел") == 1
        assert [(one["id"], [version["data"]["content"] for version in one["versions"]]) for one in shown["channels"]] == [
            ("log", ["второй не вышел"])
        ]
        assert [len(one["executions"]) for one in shown["steps"]] == [2, 1, 2, 2]
