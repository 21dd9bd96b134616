"""A run of a flow uses no more than its author allows: each question is reserved before it is asked, and a person's retry grants it anew."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.models import ModelAnswer
from orchestrator.runs.limits import RunUsage
from tests.unit.engines.flows.flow_kit import SILENT, a_flow_world, flow, rest, start, start_in_chat, step
from tests.unit.engines.flows.test_checks import find, mend
from tests.unit.engines.flows.test_flows import failure
from tests.unit.runs.runs_kit import events, index
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import World, message, until

PRICES = {"budget": {"prices": {"gpt-5-thinking": {"input": 1000, "output": 1000}, "scripted": {"input": 1000, "output": 1000}}}}
"""A thousandth for each token, of the model that is asked and of the one that says that it answers."""


def spend(read: int, written: int) -> ModelAnswer:
    return ModelAnswer(text="ответ", model="scripted", prompt_tokens=read, completion_tokens=written, finish_reason="stop", seconds=0.0)


def chain(count: int, **fields: Any) -> dict[str, Any]:
    """A flow of so many steps, each of whose answers may have 100 tokens."""
    names = [f"s{number}" for number in range(1, count + 1)]
    steps = [step(one, success=following, overrides={"maxTokens": 100}) for one, following in zip(names, [*names[1:], ""], strict=True)]
    return flow(*steps, **fields)


def told(world: World) -> list[tuple[str, dict[str, Any]]]:
    """The sentences about the end that wait to be delivered: (code, arguments)."""
    rows = [row.body for row in world.outbox() if row.kind == "reply"]
    return [(one["code"], one["args"]) for body in rows for one in body.get("notices", ())]


@pytest.mark.req("S002-A6")
async def test_tokens_are_reserved_before_a_question_and_a_retry_grants_them_once_more(tmp_path: Path) -> None:
    """The third question might exceed what is left and is not asked; after a retry the count begins anew, and finished steps stay."""
    async with a_flow_world(tmp_path, chain(3, budget={"maxTokens": 500})) as (world, _):
        world.model.will(spend(150, 50), spend(150, 50))
        await world.work(start())
        assert (index(world).status, failure(world)["code"], len(world.model.prompts)) == ("failed", "run-limit-tokens", 2)
        ((code, args),) = [one for one in told(world) if one[0].startswith("run-limit")]
        assert (code, args["most"], args["spent"], args["small"]) == ("run-limit-tokens", "500", "400", "no")
        assert 100 < int(args["needed"]) < 200
        world.model.will(spend(150, 50))
        await world.work(order("retry"))
        assert (index(world).status, len(world.model.prompts)) == ("done", 3)


async def test_a_question_that_the_whole_budget_would_not_hold_is_said_to_be_hopeless(tmp_path: Path) -> None:
    """No retry helps there, and the sentence says so."""
    async with a_flow_world(tmp_path, chain(1, budget={"maxTokens": 90})) as (world, _):
        await world.work(start())
        assert failure(world)["code"] == "run-limit-tokens"
        assert [args["small"] for code, args in told(world) if code == "run-limit-tokens"] == ["yes"]


async def test_a_question_in_flight_at_a_stop_counts(tmp_path: Path) -> None:
    """Its answer is lost and may have been paid: what is left does not hold the same question a second time."""
    async with a_flow_world(tmp_path, chain(1, budget={"maxTokens": 200})) as (world, _):
        world.model.gate = asyncio.Event()
        world.model.will("потерян")
        async with world.working():
            await world.put(start())
            await until(lambda: len(world.model.prompts) == 1)
        world.model.gate = None
        await world.work()
        assert (failure(world)["code"], len(world.model.prompts)) == ("run-limit-tokens", 1)
        world.model.will("дошёл")
        await world.work(order("retry"))
        assert index(world).status == "done"


async def test_failed_questions_cost_nothing_and_each_attempt_is_reserved(tmp_path: Path) -> None:
    """A question without an answer gives back what was set aside, so its second attempt fits."""
    plan = flow(step("a", maxAttempts=2, overrides={"maxTokens": 100}), budget={"maxTokens": 200})
    async with a_flow_world(tmp_path, plan) as (world, _):
        world.model.will(SILENT, "готово")
        await world.work(start())
        await rest(world)
        assert index(world).status == "done"


async def test_money_is_counted_by_the_prices_of_the_policy(tmp_path: Path) -> None:
    """Of 0.45 two answers of 0.2 leave too little for a question of 0.1 and its prompt."""
    async with a_flow_world(tmp_path, chain(3, budget={"maxCost": 0.45}), policy=PRICES) as (world, _):
        world.model.will(spend(150, 50), spend(150, 50))
        await world.work(start())
        assert (failure(world)["code"], len(world.model.prompts)) == ("run-limit-cost", 2)
        ((_, args),) = [one for one in told(world) if one[0] == "run-limit-cost"]
        assert (args["most"], args["spent"], args["currency"], args["small"]) == ("0.45", "0.4", "RUB", "no")


@pytest.mark.parametrize("listed", [{}, {"gpt-5-thinking": {"input": 1, "output": 1}}])
async def test_a_limit_in_money_is_not_passed_by_a_model_without_a_price(tmp_path: Path, listed: dict[str, Any]) -> None:
    """Neither the model that would be asked nor one that has answered may be free where the author limited money."""
    async with a_flow_world(tmp_path, chain(2, budget={"maxCost": 1}), policy={"budget": {"prices": listed}}) as (world, _):
        world.model.will(*["ответ"][: len(listed)])
        await world.work(start())
        ((_, args),) = [one for one in told(world) if one[0] == "run-limit-unpriced"]
        assert (args["model"], len(world.model.prompts)) == (("scripted", 1) if listed else ("gpt-5-thinking", 0))


async def test_time_passes_while_it_works_and_not_while_people_think(tmp_path: Path) -> None:
    """An hour before the answer to a question counts nothing, two minutes of waiting for the next attempt do."""
    plan = flow(
        step("a", success="b", maxAttempts=2),
        step("b"),
        budget={"maxSeconds": 60},
        launchParameters=[{"name": "client", "description": "Кто?"}],
    )
    async with a_flow_world(tmp_path, plan) as (world, _):
        world.model.will(SILENT)
        await world.work(start_in_chat())
        world.clock.advance(timedelta(hours=1))
        await world.work(message("Ромашка"))
        assert len(world.model.prompts) == 1
        world.clock.advance(timedelta(minutes=2))
        await world.work()
        assert (failure(world)["code"], len(world.model.prompts)) == ("run-limit-time", 1)
        world.model.will("a", "b")
        await world.work(order("retry"))
        assert index(world).status == "done"


async def test_steps_are_counted_and_a_retry_grants_them_once_more(tmp_path: Path) -> None:
    """Two of five steps, then two more after each retry; none is played twice."""
    async with a_flow_world(tmp_path, chain(5, budget={"maxSteps": 2})) as (world, _):
        world.model.will("1", "2")
        await world.work(start())
        assert failure(world)["code"] == "flow-budget-steps"
        assert set(failure(world)["result"]) == {"payload", "summary"}  # what was collected by then
        for more, status in ((("3", "4"), "failed"), (("5",), "done")):
            world.model.will(*more)
            await world.work(order("retry"))
            assert index(world).status == status
        assert len(events(world, "ModelAsked")) == 5


@pytest.mark.parametrize(("budget", "path"), [
    ({"maxSteps": 0}, "budget.maxSteps"), ({"maxSteps": 101}, "budget.maxSteps"), ({"maxTokens": 1.5}, "budget.maxTokens"),
    ({"maxCost": 0}, "budget.maxCost"), ({"maxCost": "5"}, "budget.maxCost"), ({"maxSeconds": -1}, "budget.maxSeconds"),
    ([], "budget"),
])  # fmt: skip
def test_a_budget_that_is_none_is_a_mistake_at_its_place(budget: object, path: str) -> None:
    """Numbers out of bounds and other types are refused before the flow is saved."""
    assert [one[::2] for one in find(mend(budget=budget))] == [("error", path)]
    assert find(mend(budget={"maxSteps": 5, "maxTokens": 1000, "maxCost": 2.5, "maxSeconds": 60})) == []


async def test_another_process_counts_the_same_from_the_stream(tmp_path: Path) -> None:
    """Answers with what they cost, a lost question with its estimate, a failed one with nothing; time without that of people."""
    plan = chain(3, launchParameters=[{"name": "client", "description": "Кто?"}])
    async with a_flow_world(tmp_path, plan) as (world, _):
        await world.work(start_in_chat())
        world.clock.advance(timedelta(hours=1))
        world.model.will(spend(150, 50), "потерян")
        world.model.gate = asyncio.Event()
        async with world.working():
            await world.put(message("Ромашка"))
            await until(lambda: len(world.model.prompts) == 1)
            held, world.model.gate = world.model.gate, asyncio.Event()
            held.set()
            await until(lambda: len(world.model.prompts) == 2)
        world.clock.advance(timedelta(minutes=1))
        usage = RunUsage()
        for event in events(world):
            usage.add_event(event.type, event.data, event.ts)
        used = usage.sum_by_model()
        assert used["scripted"] == (150, 50)
        assert used["gpt-5-thinking"][1] == 100
        assert usage.measure_time(world.clock.now()) == timedelta(minutes=1)
