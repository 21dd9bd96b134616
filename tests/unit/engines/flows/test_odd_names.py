"""Whatever an author may call a step or a launch parameter, the flow runs: a name never meets one that the run keeps for itself."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engines.flows.recording import complete_flow_recording, read_flow_recording
from tests.unit.engines.flows.flow_kit import SILENT, a_flow_world, flow, result, start, start_in_chat, step
from tests.unit.engines.flows.http.flows_kit import FLOWS, a_running_flow_api
from tests.unit.runs.runs_kit import RUN, events, index
from tests.unit.spine_kit import message

CHANNEL = [{"channel": "1"}]


def build_plan(name: str) -> dict[str, Any]:
    """A flow whose only step has this name, is tried twice, and writes what later runs of the person read."""
    return flow(
        step(name, maxAttempts=2, memoryReads=CHANNEL, memoryWrites=CHANNEL),
        memory={"sharedChannels": [{"id": "1", "scope": "user"}]},
        outputs={"resultPayload": {"told": f"$steps.{name}.output.content"}},
    )


@pytest.mark.req("S002-10")
@pytest.mark.parametrize("name", ["say", "launch", "memory", "agents", "turn", "closed", "accepted"])
async def test_a_step_may_have_any_name(tmp_path: Path, name: str) -> None:
    """It runs, tries again, and can be recorded as a test, also under a name by which a run calls something of its own."""
    async with a_flow_world(tmp_path, build_plan(name)) as (world, _):
        world.model.will(SILENT, "готово")
        await world.work(start())
        world.clock.advance(timedelta(seconds=1.1))
        await world.work()
        assert (index(world).status, result(world)["payload"]) == ("done", {"told": "готово"})
        case = await complete_flow_recording(await read_flow_recording(RUN.removeprefix("run:"), world.store))
        assert (case.expect.path, list(case.answers)) == ([name], [name])


@pytest.mark.req("S002-10", "S002-X5")
async def test_the_api_tells_of_a_step_by_the_name_of_its_author(tmp_path: Path) -> None:
    """Its events, its status and its output, where the node in the journal has another name."""
    async with a_running_flow_api(tmp_path) as (api, world):
        await api.hire()
        await api.publish(await api.create(build_plan("say"), FLOWS))
        world.model.will("готово")
        run = (await api.post("/api/flows/plan/start", {"parameters": {}})).json()["sessionId"]
        await world.idle()
        told = (await api.get(f"/api/flows/{run}?sinceEventId=0")).json()
        assert [(one["type"], one["stepId"]) for one in told["events"] if one["stepId"]] == [
            ("STEP_STARTED", "say"),
            ("STEP_COMPLETED", "say"),
        ]
        assert [(one["id"], one["status"]) for one in told["steps"]] == [("say", "COMPLETED")]
        shown = (await api.get(f"/api/flows/{run}/snapshot")).json()
        assert shown["steps"][0]["executions"][0]["output"] == {"content": "готово"}


@pytest.mark.req("S002-20")
@pytest.mark.parametrize("name", ["/a", "a/", "a//b", "a\nb", "a\u2028b", "1", "#1", "Бюджет, ₽", "x" * 100])
async def test_a_launch_parameter_may_have_any_name(tmp_path: Path, name: str) -> None:
    """A chat asks for it, asks again for what does not fit, and the agent is told the answer under that name."""
    parameters = [{"name": name, "type": "number"}, {"name": "2", "type": "number"}]
    async with a_flow_world(tmp_path, flow(step("launch"), launchParameters=parameters)) as (world, _):
        await world.work(start_in_chat())
        for words in ("много", "12", "7"):
            await world.work(message(words))
            world.model.will(*(["готово"] if words == "12" else []))
        assert index(world).status == "done"
        (asked,) = [one for one in events(world, "NodeDone") if one.data["kind"] == "model"]
        assert asked.data["output"] == "готово"
        assert world.model.prompts[0][-1]["content"].count("12") == 1
