"""A run that waits for its person for more than a day says so once, with what it waits for."""

from datetime import timedelta
from pathlib import Path

import pytest

from bot.i18n.translate import Translator
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from orchestrator.domain.outputs import Reply
from orchestrator.engines.runs import Ask, Option, RunContext, RunEffect, RunResult, run_all
from state.sql import build_sqlite_url, open_store
from tests.unit.runs.function_kit import a_function_world
from tests.unit.runs.runs_kit import a_run_world, index, start, steps
from tests.unit.runs.test_runs_wait import click, order
from tests.unit.spine_kit import World

ASK = steps({"ask": "Какой тариф?", "options": ["Базовый", "Полный"]}, {"say": "Тариф: {s0}"})
DAY = timedelta(hours=24, minutes=6)


def _reminders(world: World) -> list[Reply]:
    said = [Reply.model_validate(row.body) for row in world.outbox() if row.kind == "reply"]
    return [one for one in said if [notice.code for notice in one.notices] == ["run-reminder"]]


async def _pass(world: World, *times: timedelta) -> list[Reply]:
    """Let the time pass, and return the reminders that came."""
    found: list[Reply] = []
    for one in times:
        world.clock.advance(one)
        await world.work()
        found += _reminders(world)
    return found


@pytest.mark.req("G3")
async def test_a_question_of_yesterday_is_named_once_with_its_buttons(tmp_path: Path) -> None:
    """The button of the reminder answers as that of the question does; no second reminder comes."""
    async with a_run_world(tmp_path, {"plan": ASK}) as world:
        await world.work(start("plan"))
        assert await _pass(world, timedelta(hours=23)) == []
        (told,) = await _pass(world, timedelta(hours=2), DAY, DAY)
        assert to_plain_text(render_reply(told, Translator("ru"))) == "⏰ Запуск «plan» ждёт вас больше суток:\n• Какой тариф?"
        assert "run “plan” has waited for you" in to_plain_text(render_reply(told, Translator("en")))
        await world.work(click(*told.actions[1].words))
        assert index(world).status == "done"


async def test_what_was_answered_is_not_reminded_of(tmp_path: Path) -> None:
    async with a_run_world(tmp_path, {"plan": ASK}) as world:
        await world.work(start("plan"))
        (asked,) = [row for row in world.outbox() if row.kind == "reply"]
        await world.work(click(*asked.body["actions"][0]["words"]))
        assert await _pass(world, DAY, DAY) == []


async def test_a_cancelled_run_leaves_no_timer(tmp_path: Path) -> None:
    async with a_run_world(tmp_path, {"plan": ASK}) as world:
        await world.work(start("plan"))
        await world.work(order("cancel"))
        assert world.sql.list_due_timers(world.clock.now() + timedelta(days=9)) == []


async def test_a_paused_run_reminds_after_it_goes_on(tmp_path: Path) -> None:
    """Who paused it knows of it."""
    async with a_run_world(tmp_path, {"plan": ASK}) as world:
        await world.work(start("plan"))
        await world.work(order("pause"))
        assert await _pass(world, DAY, DAY) == []
        await world.work(order("resume"))
        assert len(await _pass(world, DAY, DAY)) == 1


async def test_several_waits_are_named_in_one_message(tmp_path: Path) -> None:
    """Two questions and a card that outlives the day: one reminder, without buttons, since it could not be told whose they are."""
    options = (Option(label="Да", value=1),)

    async def play(ctx: RunContext) -> RunResult:
        effect = RunEffect(method="crm.deal.update", params={"id": 481, "fields": {"OPPORTUNITY": 1200000}})
        await run_all(
            ctx.wait_input("a", Ask(text="Первый?", options=options)),
            ctx.wait_input("b", Ask(text="Второй?", options=options)),
            ctx.submit("c", effect),
        )
        return RunResult()

    async with a_function_world(tmp_path, play) as world:
        await world.work(start("plan"))
        (told,) = await _pass(world, DAY, DAY)
        text = to_plain_text(render_reply(told, Translator("ru")))
        assert ("Первый?" in text, "Второй?" in text, told.actions) == (True, True, ())


async def test_a_restart_reminds_neither_twice_nor_never(tmp_path: Path) -> None:
    """The timer is in the transaction of the wait, and goes in that of the reminder."""
    found: list[int] = []
    for number in range(3):
        store = open_store(build_sqlite_url(tmp_path / "own.db"))
        async with a_run_world(tmp_path, {"plan": ASK}, store=store) as world:
            await world.work(*([start("plan")] if not number else []))
            found.append(len(await _pass(world, number * DAY)))
    assert found == [0, 1, 0]
