"""Budgets are reserved before the model is asked: calls side by side, calls that a crash cut off, and calls of other processes."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.domain.budget import Budget, Limits
from orchestrator.domain.inputs import read_input
from orchestrator.domain.models import ModelAnswer, ProviderUnavailable
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.engines.base import TurnContext, TurnEnd, TurnModelRequest
from orchestrator.features.budgets.model_budget import MonthlyModelBudget, UsageReader
from orchestrator.gate.call.gate_deps import PolicySource
from orchestrator.model_client.providers import OpenAiProvider, WireClient
from orchestrator.model_client.router import ModelRouter, Route
from orchestrator.runtime.recovery import recover
from orchestrator.sessions.model_calls import Reservation
from orchestrator.sessions.session import Session
from orchestrator.turns.turn import run_turn
from state.clock import generate_id
from state.events.conversation import ModelAsked
from tests.unit.runs.runs_kit import a_run_world, events, index, start
from tests.unit.spine_kit import ANNA, BORIS, CHAT, NOW, World, codes_of, message, reply, until

FAN = {"things": [str(number) for number in range(20)], "prompt": "{thing}"}
ASKED = ModelAsked(reservation="", model="scripted", prompt_tokens=400, completion_tokens=100, user=ANNA.bitrix_user_id, month=202611)
ANSWER = ModelAnswer("да", 10, 5, "scripted", "stop", 0.0)


def limit(world: World, tokens: int | None, **people: int) -> MonthlyModelBudget:
    """Give everybody so many tokens a month, and return the budget."""
    own = {key.replace("_", ":"): Limits(tokens_per_month=one) for key, one in people.items()}
    policy = SimpleNamespace(budget=Budget(tokens_per_month=tokens, people=own))
    budget = MonthlyModelBudget(cast("PolicySource", SimpleNamespace(now=lambda: policy)), UsageReader(world.store))
    world.orchestrator.tools = replace(world.orchestrator.tools, model_budget=budget)
    return budget


def ask_for(tokens: int = 500, actor: Actor = ANNA) -> ModelAsked:
    """Return the event of a call that is taken to cost so many tokens."""
    fresh = {"reservation": generate_id(), "prompt_tokens": tokens - 100, "user": actor.bitrix_user_id}
    return ASKED.model_copy(update=fresh)


async def reserve(budget: MonthlyModelBudget, actor: Actor = ANNA, tokens: int = 500) -> Reservation:
    """Return a reservation of so many tokens, which must be given."""
    given = await budget.reserve(actor, NOW, ask_for(tokens, actor))
    assert isinstance(given, Reservation)
    return given


async def settle_soon() -> None:
    """Let tasks go on that wait for nothing."""
    for _ in range(50):
        await asyncio.sleep(0)


async def test_a_fan_of_twenty_with_twenty_tokens_left_spends_no_more_than_it_reserved(tmp_path: Path) -> None:
    """Two answers of 15 tokens are paid and kept; the rest is refused with the sentence for people, and nothing more is sent."""
    async with a_run_world(tmp_path, {"fan": FAN}) as world:
        limit(world, 20)
        world.model.will("раз", "два")
        await world.work(start("fan", engine="fan"))
        assert len(world.model.prompts) == 2
        assert [one.data["output"] for one in events(world, "NodeDone")] == ["раз", "два"]
        reserved = sum(one.data["prompt_tokens"] + one.data["completion_tokens"] for one in events(world, "ModelAsked"))
        spent = sum(one.data["prompt_tokens"] + one.data["completion_tokens"] for one in events(world, "NodeDone"))
        assert spent <= reserved
        assert (index(world).status, events(world, "RunFinished")[0].data["code"]) == ("failed", "budget-over")


async def test_a_fan_with_enough_left_is_not_slowed_down(tmp_path: Path) -> None:
    """All twenty are under way at once."""
    async with a_run_world(tmp_path, {"fan": FAN}) as world:
        limit(world, 1_000_000)
        world.model.gate = asyncio.Event()
        world.model.will(*["да"] * 20)
        async with world.working():
            await world.orchestrator.receive([start("fan", engine="fan")])
            await until(lambda: len(world.model.prompts) == 20)
            world.model.gate.set()
            await world.idle()
        assert index(world).status == "done"


class SideBySide:
    """An engine that asks the model twenty times at once within a task group."""

    async def run(self, ctx: TurnContext) -> TurnEnd:
        """Ask, and say that it is done."""
        async with asyncio.TaskGroup() as group:
            for number in range(1, 21):
                group.create_task(ctx.ask_model(TurnModelRequest(iteration=number, messages=[{"role": "user", "content": "?"}])))
        return TurnEnd(reason="answered", reply=build_reply(text="Готово."))


async def test_a_turn_whose_parts_are_over_budget_keeps_what_was_paid(runs: World) -> None:
    """The person reads that the budget is used up, not that something failed; the answers that came are stored."""
    limit(runs, 20)
    runs.orchestrator.tools = replace(runs.orchestrator.tools, engines={"crm_agent": SideBySide()})
    runs.model.will("раз", "два")
    await runs.work(message("спроси двадцать раз"))
    assert [code for row in runs.outbox() for code in codes_of(row)] == ["budget-over"]
    assert [one.data["text"] for one in runs.events("ModelAnswered")] == ["раз", "два"]
    assert runs.events("TurnFinished")[0].data["reason"] == "budget"


async def test_a_call_waits_for_those_that_left_too_little(runs: World) -> None:
    """Whatever session they are in; another person does not wait. It goes on when one ends, and is refused only when none is under way."""
    budget = limit(runs, 1000)
    first = await reserve(budget)
    second = asyncio.ensure_future(budget.reserve(ANNA, NOW, ask_for(1000)))
    other = await reserve(budget, BORIS, 900)
    await settle_soon()
    assert not second.done()
    first.settle(ANSWER)
    got = await second
    assert isinstance(got, Reservation)

    third = asyncio.ensure_future(budget.reserve(ANNA, NOW, ask_for()))
    got.settle(replace(ANSWER, prompt_tokens=5000))
    refused = await third
    assert isinstance(refused, Notice)
    assert refused.code == "budget-over"
    other.release()


@pytest.mark.parametrize("end", [lambda one: one.settle(ANSWER), lambda one: one.release(), lambda one: one.abandon()])
async def test_every_end_of_a_call_lets_the_next_one_go_on(runs: World, end: Callable[[Reservation], None]) -> None:
    """Answered, failed or cancelled."""
    budget = limit(runs, 600)
    first = await reserve(budget)
    second = asyncio.ensure_future(reserve(budget))
    await settle_soon()
    assert not second.done()
    end(first)
    await second


async def test_what_was_under_way_at_a_crash_counts_and_is_not_counted_twice(runs: World) -> None:
    """The next process counts the estimate of the call without an answer; the turn is asked again and its answer counts too."""
    limit(runs, 100_000)
    runs.model.gate = asyncio.Event()
    runs.model.will(reply(text="Вот."), reply(text="Вот."))
    row = message("что нового?")
    await runs.store.put_inbox([row])
    session = await runs.session()
    dying = asyncio.ensure_future(_take_turn(runs, session))
    await until(lambda: len(runs.model.prompts) == 1)
    await session.flush()  # as after 50 ms; tests have no such timer
    dying.cancel()
    await asyncio.gather(dying, return_exceptions=True)
    totals = await UsageReader(runs.store).refresh(NOW)
    person, month = f"employee:{ANNA.bitrix_user_id}" if ANNA.bitrix_user_id else ANNA.key, 202611
    (lost,) = totals.sum_estimates(person, month).values()
    assert sum(lost) > 1000
    assert totals.sum_by_model(person, month) == {}

    runs.model.gate = None
    runs.clock.advance(timedelta(minutes=2))
    other = await runs.session(owner="two")
    await recover(other, runs.tools)
    await _take_turn(runs, other)
    totals = await UsageReader(runs.store).refresh(NOW)
    assert totals.sum_by_model(person, month) == {"scripted": (10, 5)}
    assert list(totals.sum_estimates(person, month).values()) == [lost]


async def _take_turn(world: World, session: Session) -> None:
    taken = await world.store.take_inbox(CHAT, "turn")
    assert taken is not None
    await run_turn(read_input(taken), session, world.tools)


async def test_calls_of_another_process_count_once_they_are_stored(runs: World) -> None:
    """Its estimate leaves less here, until its answer or its failure is stored."""
    session = await runs.session()
    theirs = ASKED.model_copy(update={"reservation": "other", "prompt_tokens": 5000})
    await session.commit(theirs, actor=ANNA.key)
    budget = limit(runs, 1000)
    refused = await budget.reserve(ANNA, NOW, ask_for())
    assert isinstance(refused, Notice)
    await session.commit(_failed("other"), actor=ANNA.key)
    await reserve(budget)
    await session.close()


def _failed(reservation: str) -> Any:
    from state.events.conversation import ModelFailed  # noqa: PLC0415 - only here

    return ModelFailed(turn_id="t", iteration=1, reason="gone", reservation=reservation)


async def test_books_are_empty_when_everything_is_stored(runs: World) -> None:
    """Memory does not grow with the number of calls."""
    budget = limit(runs, 1_000_000)
    runs.model.will(*[reply(text="Вот.")] * 5)
    for number in range(5):
        await runs.work(message(f"вопрос {number}"))
    await budget.describe_usage(ANNA, NOW)
    assert budget._reserved == {}
    assert budget._usage.totals.closed == set()
    assert budget._usage.totals._open == {}


async def test_the_record_names_the_provider_that_answered_and_the_one_that_died(tmp_path: Path) -> None:
    """In the journal, in the audit log, for a turn and for a run."""
    async with a_run_world(tmp_path, {"fan": {"things": ["а"], "prompt": "{thing}"}}) as world:

        async def die(_payload: Any, _on_delta: Any = None) -> ModelAnswer:
            raise ProviderUnavailable("gone")

        dead = cast("WireClient", SimpleNamespace(stream_chat=die))
        living = cast("WireClient", world.model)
        routes = [Route(name="main", provider=OpenAiProvider(dead)), Route(name="spare", provider=OpenAiProvider(living))]
        world.orchestrator.tools = replace(world.orchestrator.tools, model=ModelRouter(routes, {}))
        world.model.will(reply(text="Вот."), "да")
        await world.work(message("что нового?"), start("fan", engine="fan"))
        for event in (*world.events("ModelAnswered"), *events(world, "NodeDone")):
            assert (event.data["provider"], event.data["failed_before"]) == ("spare", ["main"])
        assert world.audit().count('"provider":"spare","failed_before":["main"]') == 2
