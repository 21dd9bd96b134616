"""The books of reservations under any sequence of ends, with several readers, over the end of a month, and with what providers leave out."""

import asyncio
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import ModelAnswer, ModelRequest
from orchestrator.domain.outputs import Notice
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.router import ModelRouter
from orchestrator.model_client.settings import ModelSettings
from orchestrator.sessions.model_calls import Reservation, hold
from orchestrator.sessions.session import Session
from state.events.conversation import ModelAnswered, ModelAsked, ModelFailed
from tests.unit.features.budgets.test_reservations import ANSWER, ask_for, limit, reserve, settle_soon
from tests.unit.model_client.loopback_kit import reply as reply_with
from tests.unit.model_client.loopback_kit import serving
from tests.unit.model_client.test_model_client import USAGE, delta, sse
from tests.unit.runs.runs_kit import a_run_world, start, steps
from tests.unit.spine_kit import ANNA, CHAT, NOW, World, message, until

PERSON, MONTH = f"employee:{ANNA.bitrix_user_id}" if ANNA.bitrix_user_id else ANNA.key, 202611


def answered(reservation: str, tokens: int) -> ModelAnswered:
    return ModelAnswered(
        turn_id="t",
        iteration=1,
        text="да",
        model="scripted",
        prompt_tokens=tokens,
        user=ANNA.bitrix_user_id,
        month=MONTH,
        reservation=reservation,
    )


class Books:
    """One process that makes calls of one person at random moments, each with a random end, and counts what they cost."""

    def __init__(self, world: World, session: Session, seed: int) -> None:
        self.world, self.session, self.random = world, session, random.Random(seed)  # noqa: S311 - the order of a test
        self.budget = limit(world, 20_000)
        self.cost = self.lost = self.refused = 0

    async def call(self) -> None:
        asked = ask_for(self.random.choice([200, 500, 5_000]))
        given = await self.budget.reserve(ANNA, NOW, asked)
        if isinstance(given, Notice):
            self.refused += 1
            return
        try:
            async with hold(given):
                await self.play(asked, given)
        except (ModelClientError, ValueError, asyncio.CancelledError):
            return

    async def play(self, asked: ModelAsked, given: Reservation) -> None:
        end = self.random.choice(["answer", "fail", "cancel", "bug", "unsaid"])
        if end != "unsaid":
            await self.session.commit(asked, actor=ANNA.key)
        for _ in range(self.random.randrange(5)):
            await asyncio.sleep(0)
        if end == "answer":
            tokens = self.random.choice([1, 300, 2_000])
            early = self.random.random() < 0.5
            if early:
                given.settle(ModelAnswer("да", tokens, 0, "scripted", "stop", 0.0))
            await self.session.commit(answered(given.id, tokens), actor=ANNA.key)
            given.settle(ModelAnswer("да", tokens, 0, "scripted", "stop", 0.0))
            self.cost += tokens
            return
        if end == "fail":
            await self.session.commit(ModelFailed(turn_id="t", iteration=1, reason="gone", reservation=given.id), actor=ANNA.key)
            raise ModelClientError("gone")
        if end == "unsaid":  # the run was cancelled while the call waited: nothing was asked
            raise ValueError("not asked")
        self.lost += asked.prompt_tokens + asked.completion_tokens
        raise asyncio.CancelledError if end == "cancel" else ValueError("a bug")


@pytest.mark.parametrize("seed", range(8))
async def test_nothing_stays_reserved_whatever_the_calls_come_to(seed: int, runs: World) -> None:
    """After thirty calls side by side that were answered, failed, cancelled or never made, the books hold what was really used."""
    session = await runs.session()
    books = Books(runs, session, seed)
    await asyncio.gather(*(books.call() for _ in range(30)))
    used = await books.budget._sum_usage(ANNA, NOW)
    assert sum(sum(tokens) for tokens in used.values()) == books.cost + books.lost
    assert books.budget._reserved == {}
    await session.close()


async def test_a_failed_turn_does_not_refuse_the_next_call_for_a_moment(runs: World) -> None:
    """The failure is stored before the budget lets another call of the person go on: it must not read an estimate that is void."""
    budget = limit(runs, 1_000)
    runs.model.gate = asyncio.Event()
    runs.model.will(ModelClientError("gone"))
    turn = asyncio.ensure_future(runs.work(message("что нового?")))
    await until(lambda: len(runs.model.prompts) == 1)
    waiting = asyncio.ensure_future(budget.reserve(ANNA, NOW, ask_for(900)))
    await settle_soon()
    await runs.orchestrator._sessions[CHAT].flush()  # as after 50 ms; tests have no such timer
    runs.model.gate.set()
    assert isinstance(await waiting, Reservation)
    await turn


async def test_two_processes_together_exceed_a_budget_by_no_more_than_a_call_each(runs: World) -> None:
    """Each of them makes twenty calls at once with twenty tokens left."""
    session = await runs.session()
    spent = refused = 0

    async def call(budget: object) -> None:
        nonlocal spent, refused
        asked = ask_for(500)
        given = await budget.reserve(ANNA, NOW, asked)  # type: ignore[attr-defined]  # as `limit` makes it
        if isinstance(given, Notice):
            refused += 1
            return
        await session.commit(asked, actor=ANNA.key)
        await asyncio.sleep(0)
        await session.commit(answered(given.id, 7), actor=ANNA.key)
        given.settle(ModelAnswer("да", 7, 0, "scripted", "stop", 0.0))
        spent += 7

    both = [limit(runs, 20), limit(runs, 20)]
    await asyncio.gather(*(call(both[number % 2]) for number in range(40)))
    assert spent <= 20 + 2 * 7
    assert refused == 40 - spent // 7
    await session.close()


async def test_a_call_over_the_end_of_a_month_is_paid_by_the_month_of_its_answer(runs: World) -> None:
    """It was reserved in the old month; the books of both months are right and hold nothing back."""
    session = await runs.session()
    budget = limit(runs, 1_000)
    before, after = datetime(2026, 11, 30, 20, tzinfo=UTC), datetime(2026, 12, 2, tzinfo=UTC)
    asked = ask_for(900)
    given = await budget.reserve(ANNA, before, asked)
    assert isinstance(given, Reservation)
    await session.commit(asked, actor=ANNA.key)
    assert isinstance(await budget.reserve(ANNA, after, ask_for(900).model_copy(update={"month": 202612})), Reservation)
    await session.commit(answered(given.id, 800).model_copy(update={"month": 202612}), actor=ANNA.key)
    given.settle(ModelAnswer("да", 800, 0, "scripted", "stop", 0.0))
    assert await budget._sum_usage(ANNA, before) == {}
    assert await budget._sum_usage(ANNA, after) == {"scripted": (800, 0)}
    await session.close()


async def test_an_answer_that_could_not_be_stored_does_not_stay_in_the_books_for_ever(runs: World) -> None:
    """It counts in its month, and is forgotten with it."""
    budget = limit(runs, 100_000)
    (await reserve(budget)).settle(ANSWER)
    assert await budget._sum_usage(ANNA, NOW) == {"scripted": (10, 5)}
    await budget._sum_usage(ANNA, NOW + timedelta(days=70))
    assert budget._reserved == {}


def test_an_estimate_of_a_missing_count_leaves_the_other_one_as_it_is() -> None:
    """Also of an answer that is empty but for a call."""
    request = ModelRequest(messages=({"role": "user", "content": "x" * 300},))
    known = request.count_missing(ModelAnswer("я" * 30, 5, 0, "m", "stop", 0.0))
    assert (known.prompt_tokens, known.completion_tokens) == (5, 10)
    assert request.count_missing(known) == known


CUT: dict[str, tuple[bytes, tuple[int, int]]] = {
    "cut off": (sse(delta("слово"), delta(None, "length"), USAGE, "[DONE]"), (7, 5)),
    "stopped by a filter": (
        sse(delta("слово"), {**delta(None, "blacklist"), "usage": {"prompt_tokens": 9, "completion_tokens": 1}}),
        (9, 1),
    ),
    "refused": (sse({**delta(None, refusal="no"), "usage": {"prompt_tokens": 8, "completion_tokens": 2}}), (8, 2)),
    "empty": (sse(delta(None, "stop"), USAGE), (7, 5)),
    "a call without tools": (sse(delta(None, function_call={"name": "f", "arguments": {}}), delta(None, "function_call"), USAGE), (7, 5)),
}


@pytest.mark.parametrize("name", CUT)
async def test_an_answer_that_cannot_be_used_was_paid_and_counts(name: str, tmp_path: Path) -> None:
    """In a turn and in a run, for the person who asked; its reservation ends."""
    body, tokens = CUT[name]
    async with serving(lambda _: reply_with(body)) as service, a_run_world(tmp_path, {"plan": steps({"model": "подумай"})}) as world:
        budget = limit(world, 100_000)
        client = ModelClient(ModelSettings(base_url=f"{service.base}/v1"))
        world.orchestrator.tools = replace(world.orchestrator.tools, model=ModelRouter.from_client(client, model="m-1"))
        await world.work(message("что нового?"))
        assert await budget._sum_usage(ANNA, NOW) == {"m-1": tokens}
        assert budget._reserved == {}
        await world.work(start("plan"))
        assert await budget._sum_usage(ANNA, NOW) == {"m-1": (2 * tokens[0], 2 * tokens[1])}
        assert budget._reserved == {}
        await client.aclose()


async def test_an_unusable_answer_without_counts_is_estimated(tmp_path: Path) -> None:
    """A service that reports nothing makes it no cheaper."""
    body = sse(delta("слово" * 30), delta(None, "length"))
    async with serving(lambda _: reply_with(body)) as service, a_run_world(tmp_path, {}) as world:
        budget = limit(world, 100_000)
        client = ModelClient(ModelSettings(base_url=f"{service.base}/v1"))
        world.orchestrator.tools = replace(world.orchestrator.tools, model=ModelRouter.from_client(client, model="m-1"))
        await world.work(message("что нового?"))
        (tokens,) = (await budget._sum_usage(ANNA, NOW)).values()
        assert tokens[0] > 1_000
        assert tokens[1] == 50
        await client.aclose()


async def test_a_limit_that_is_raised_lets_a_waiting_call_go_on(runs: World) -> None:
    """The policy of the moment counts, not that of when the call began to wait."""
    budget = limit(runs, 600)
    first = await reserve(budget)
    second = asyncio.ensure_future(budget.reserve(ANNA, NOW, ask_for(500)))
    await settle_soon()
    assert not second.done()
    budget._policies = limit(runs, None)._policies
    first.settle(replace(ANSWER, prompt_tokens=900))
    assert isinstance(await second, Reservation)
