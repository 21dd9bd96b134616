"""A flow is played as its definition draws it: every route, every attempt, what agents are told, and what comes out."""

from pathlib import Path
from typing import Any

import pytest

from engines.flows.core.definition import Flow
from engines.flows.core.engine import draw_progress
from orchestrator.domain.outputs import Notice
from tests.unit.engines.flows.flow_kit import SILENT, a_flow_world, agent, flow, rest, result, start, step
from tests.unit.engines.flows.test_checks import mend
from tests.unit.runs.runs_kit import events, index
from tests.unit.spine_kit import World

AGENTS = {f"{letter * 8}-1111-2222-3333-444444444444": agent(f"Агент {letter}.") for letter in "abcd"}


def told(world: World, number: int) -> list[str]:
    return [str(message["content"]) for message in world.model.prompts[number]]


def find_draft(partial: object) -> str:
    return str(partial.args["said"]) if isinstance(partial, Notice) and partial.code == "run-shows" else ""


def failure(world: World) -> dict[str, Any]:
    """What the run's end says of its failure."""
    (*_, event) = events(world, "RunFinished")
    return dict(event.data)


@pytest.mark.req("S002-1", "S002-21", "S002-22", "S002-34", "S002-35", "S002-41", "S002-42", "S002-43", "S002-A9")
async def test_the_seed_s_example_goes_its_happy_way(tmp_path: Path) -> None:
    """Gather, generate, review, complete; the result takes fields of answers that are JSON, and null where there is none."""
    async with a_flow_world(tmp_path, mend(), AGENTS) as (world, _):
        world.model.will("требования", '{"draft": "План", "summary": "Коротко"}', "хорошо")
        await world.work(start({"problemStatement": "Склад"}))
        assert (index(world).status, len(world.model.prompts)) == ("done", 3)
        assert result(world) == {
            "payload": {"solution": "План", "nextActions": None},
            "summary": {"steps.generate_solution.output.summary": "Коротко"},
        }


@pytest.mark.req("S002-26", "S002-27", "S002-29", "S002-31", "S002-A10", "S002-18")
async def test_an_agent_is_told_its_part_its_memory_and_the_start(tmp_path: Path) -> None:
    """The step's prompt comes before the agent's own; then the channels; then parameters and context as JSON."""
    async with a_flow_world(tmp_path, mend(defaults={"context": {"region": "Томск", "unit": "шт"}}), AGENTS) as (world, _):
        world.model.will("требования", "решение", "хорошо")
        await world.work(start({"problemStatement": "Склад"}, {"region": "Омск"}))
        assert told(world, 0) == [
            "Ты бизнес-аналитик. Собери контекст и требования.",
            '{"context":{"region":"Омск","unit":"шт"},"parameters":{"problemStatement":"Склад"}}',
        ]
        assert told(world, 1)[0] == "Агент b."
        assert told(world, 1)[1] == 'Memory of the channel context, newest first:\n[{"content":"требования"}]'
        assert len(told(world, 1)) == 3


@pytest.mark.req("S002-36", "S002-37", "S002-A1", "S002-X9")
@pytest.mark.parametrize(("route", "status", "asked"), [
    ({}, "failed", 1), ({"fail": False}, "done", 1), ({"failure": "handler"}, "done", 2),
    ({"failure": "handler", "fail": False}, "done", 2), ({"failure": "handler", "fail": True}, "failed", 2),
])  # fmt: skip
async def test_a_step_that_failed_leads_where_its_route_says(tmp_path: Path, route: dict[str, Any], status: str, asked: int) -> None:
    """A handler recovers the flow, unless `fail` is true: then it runs and the flow fails all the same."""
    async with a_flow_world(tmp_path, flow(step("work", **route), step("handler"))) as (world, _):
        world.model.will(*[SILENT, "убрал за собой"][:asked])
        await world.work(start())
        assert (index(world).status, len(world.model.prompts)) == (status, asked)
        if status == "failed":
            assert failure(world)["code"] == "flow-step-failed"


@pytest.mark.req("S002-40", "S002-X6", "S002-X7")
async def test_a_step_is_tried_as_often_as_it_says_and_no_call_twice(tmp_path: Path) -> None:
    """No answer, an empty one, then one: three attempts with a pause before each; what was asked is not asked again."""
    async with a_flow_world(
        tmp_path, flow(step("work", maxAttempts=3), outputs={"resultPayload": {"a": "$steps.work.output.content"}})
    ) as (world, _):
        world.model.will(SILENT, "  ", "готово")
        await world.work(start())
        assert (index(world).status, len(world.model.prompts)) == ("waiting", 1)
        await rest(world)
        assert len(world.model.prompts) == 2
        await rest(world)
        assert (index(world).status, result(world)["payload"]) == ("done", {"a": "готово"})


@pytest.mark.req("S002-28", "S002-19", "S002-X8")
async def test_options_come_from_the_agent_then_the_flow_then_the_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each option from the last that says it."""
    agents = {"writer": agent(defaultOptions={"temperature": 0.1, "topP": 0.5, "maxTokens": 100})}
    plan = flow(step("work", overrides={"maxTokens": 300}), defaults={"overrides": {"options": {"topP": 0.6, "maxTokens": 200}}})
    seen: list[dict[str, Any]] = []
    async with a_flow_world(tmp_path, plan, agents) as (world, _):
        ask = world.model.stream_chat

        async def note(payload: dict[str, Any], on_delta: Any = None) -> Any:
            seen.append(payload)
            return await ask(payload, on_delta)

        monkeypatch.setattr(world.model, "stream_chat", note)
        world.model.will("готово")
        await world.work(start())
    assert {name: seen[0].get(name) for name in ("temperature", "top_p", "max_tokens")} == {
        "temperature": 0.1,
        "top_p": 0.6,
        "max_tokens": 300,
    }


@pytest.mark.req("S002-30", "S002-32", "S002-33", "S002-16", "S002-A7")
async def test_channels_keep_what_steps_write_as_long_as_they_say(tmp_path: Path) -> None:
    """Newest first, bounded by `limit` and by what the channel keeps; a fixed payload is written as it is."""
    writes = [{"channel": "log", "mode": "static", "payload": {"event": "done"}}, {"channel": "log"}, {"channel": "log", "mode": "STATIC"}]
    plan = flow(
        step("a", success="b", memoryWrites=writes),
        step("b", success="c", memoryReads=[{"channel": "log", "limit": 1}, {"channel": "none"}], memoryWrites=[{"channel": "log"}]),
        step("c", memoryReads=[{"channel": "log", "limit": 0}]),
        memory={"sharedChannels": [{"id": "log", "retentionVersions": 2}]},
    )
    async with a_flow_world(tmp_path, plan) as (world, _):
        world.model.will("один", "два", "три")
        await world.work(start())
        assert told(world, 1)[1:-1] == ['Memory of the channel log, newest first:\n[{"content":"один"}]']
        assert told(world, 2)[1:-1] == ['Memory of the channel log, newest first:\n[{"content":"два"},{"content":"один"}]']


@pytest.mark.req("S002-A6")
async def test_a_loop_ends_at_the_bound(tmp_path: Path) -> None:
    """Cycles are allowed; a hundred steps are the bound, here three."""
    async with a_flow_world(tmp_path, flow(step("a", success="a", fail=True)), most_steps=3) as (world, _):
        world.model.will("1", "2", "3")
        await world.work(start())
        assert (failure(world)["code"], len(world.model.prompts)) == ("flow-too-long", 3)


@pytest.mark.req("S002-49", "S002-A5")
async def test_the_first_step_is_the_one_that_is_named(tmp_path: Path) -> None:
    """Without `startStepId` it is the first of the list."""
    async with a_flow_world(tmp_path, flow(step("a"), step("b", prompt="Второй."), startStepId="b")) as (world, _):
        world.model.will("да")
        await world.work(start())
        assert told(world, 0)[0] == "Второй."


@pytest.mark.req("S002-A12", "S002-20")
@pytest.mark.parametrize("given", [{}, {"city": 5}, {"city": "Томск", "other": 1}])
async def test_parameters_that_do_not_fit_start_no_step(tmp_path: Path, given: dict[str, Any]) -> None:
    """The run fails before any agent is asked, and says which parameter it was."""
    async with a_flow_world(tmp_path, flow(step("a"), launchParameters=[{"name": "city"}])) as (world, _):
        await world.work(start(given))
        assert (failure(world)["code"], world.model.prompts) == ("flow-parameter-unfit", [])


@pytest.mark.req("S002-12", "S002-25")
async def test_agents_are_fixed_when_the_run_begins(tmp_path: Path) -> None:
    """One that is taken away while the run waits answers it all the same; a run that begins afterwards fails before it asks."""
    async with a_flow_world(tmp_path, flow(step("work", maxAttempts=2))) as (world, agents):
        world.model.will(SILENT, "готово")
        await world.work(start())
        agents.documents.clear()
        await rest(world)
        assert (index(world).status, agents.asked) == ("done", 1)
    async with a_flow_world(tmp_path / "other", flow(step("work")), {}) as (world, _):
        await world.work(start())
        assert failure(world)["code"] == "flow-agent-gone"


@pytest.mark.req("S002-23")
async def test_the_chat_sees_how_far_the_flow_is_and_no_agent_s_words(tmp_path: Path) -> None:
    """One draft has a line for each step with a sign: done, at work with its attempt, ahead; what is finished is not shown again."""
    async with a_flow_world(tmp_path, flow(step("first", success="second"), step("second", maxAttempts=2))) as (world, _):
        world.model.will("первый", SILENT, "второй")
        await world.work(start())
        await rest(world)
        drawn = [said for said in map(find_draft, world.partials) if said]
        assert drawn == ["Проба\n⏳ FIRST\n⚪ SECOND", "Проба\n✅ FIRST\n⏳ SECOND", "Проба\n✅ FIRST\n⏳ SECOND (2/2)"]


def test_of_a_long_flow_the_steps_around_the_one_at_work_are_shown() -> None:
    """Twelve lines at most, with a mark where some are left out."""
    found = Flow.model_validate(flow(*(step(f"s{number}") for number in range(40))))
    drawn = draw_progress(found, {"s19": "done", "s20": "working"}, 1).splitlines()
    assert (len(drawn), drawn[0], drawn[1], drawn[-1]) == (15, "Проба", "…", "…")
    assert "⏳ S20" in drawn
