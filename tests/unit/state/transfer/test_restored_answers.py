"""What people had sent to a run when the backup was made: nothing of it is lost in silence, and no run waits for what nobody can give."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from bot.telegram.intake.routed_updates import RestoreGuard, RowBuilder
from orchestrator.domain.inputs import Command, FeatureClick, Input, read_input
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import RunContext, RunEffect, RunFailed, RunResult
from orchestrator.runs.listening import take_message
from orchestrator.runs.registry import Engines
from state.journal.async_store import AsyncStore
from state.journal.run_index import RunFilter
from state.journal.store import RESTORED
from state.sql import open_store
from tests.unit.runs.function_kit import a_function_world
from tests.unit.runs.runs_kit import RUN, a_run_world, index, start, steps
from tests.unit.runs.test_runs_wait import click, order, texts
from tests.unit.spine_kit import ANNA, CHAT, NOW, World, message, press, until
from tests.unit.state.transfer.moving_kit import Homes
from tests.unit.state.transfer.test_what_a_restore_means import _update

CHANGE = {"write": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1200000}}}
OWN = frozenset({"definition"})
DOCUMENTS = {
    "words": steps({"ask": "Как зовут?"}, {"say": "Записал: {s0}"}),
    "buttons": steps({"ask": "Какой тариф?", "options": ["Базовый", "Полный"]}, {"say": "Тариф: {s0}"}),
    "card": steps(CHANGE),
}


@asynccontextmanager
async def bot(home: Any) -> AsyncIterator[World]:
    """The bot on that database."""
    async with a_run_world(home.folder, DOCUMENTS, store=open_store(home.url)) as world:
        yield world


async def test_words_on_their_way_to_a_run_are_asked_for_again(homes: Homes, tmp_path: Path) -> None:
    """The chat had passed them on and listened no more: it listens again, and the run goes on with what is said then."""
    old, new, file = homes.home("old"), homes.home("new"), tmp_path / "one.backup"
    async with bot(old) as world:
        await world.work(start("words"))
        world.outbox()
        said = message("Иван")
        await world.put(said)
        session = await world.session()
        assert await take_message(read_input(said), session, world.orchestrator.tools, engines=Engines())
        await session.close()
        old.back_up(file)
    assert new.restore(file).inputs == []
    async with bot(new) as world:
        await world.work()
        assert sorted(world.codes()) == ["run-paused", "run-restored"]
        await world.work(order("resume"))
        await world.work(message("Пётр"))
        assert texts(world)[-2:] == ["Записал: Пётр", "Готово."]


async def test_a_decision_on_its_way_to_a_run_is_told_of(homes: Homes, tmp_path: Path) -> None:
    """It was pressed before the backup, so the call may have run since: its person reads that nothing happens, and may press again."""
    old, new, file = homes.home("old"), homes.home("new"), tmp_path / "one.backup"
    async with bot(old) as world:
        await world.work(start("card"))
        (shown,) = [row for row in world.outbox() if row.kind == "card"]
        await world.put(press(shown.body, key=RUN))
        old.back_up(file)
    assert [one.kind for one in new.restore(file).inputs] == ["decision"]
    async with bot(new) as world:
        await world.work()
        assert sorted(world.codes()) == ["restored-not-worked", "run-restored"]
        await world.work(press(shown.body, key=RUN), order("resume"))
        assert (index(world).status, len(world.portal.written("crm.deal.update"))) == ("done", 1)


async def filtered(home: Any, said: Input) -> list[str]:
    """The kinds of the inputs that become of a click under a message from before the restore."""
    with home.store() as sql:
        restored = datetime.fromisoformat(orjson.loads(sql.get_value(RESTORED) or "")["restored_at"]).astimezone(UTC)
        store = AsyncStore(sql)
        made = RowBuilder(source="telegram:1:1", session=CHAT, actor=ANNA, now=NOW).build(said, "express")
        routed = await RestoreGuard(store).filter_update(_update("press", restored - timedelta(seconds=5)), made)
        await store.aclose()
        return [row.kind for row in routed.rows]


async def test_the_buttons_of_a_question_work_after_the_restore(homes: Homes, tmp_path: Path) -> None:
    """Nothing else answers it, and the run takes an answer only when its owner has let it go on. Other buttons of runs do not."""
    old, new, file = homes.home("old"), homes.home("new"), tmp_path / "one.backup"
    async with bot(old) as world:
        await world.work(start("buttons"))
        (asked,) = [row for row in world.outbox() if row.kind == "reply"]
    old.back_up(file)
    new.restore(file)
    words = tuple(asked.body["actions"][1]["words"])
    assert await filtered(new, FeatureClick(words=words)) == [FeatureClick.KIND]
    assert await filtered(new, Command(name="details", confirmation_id="c")) == [Command.KIND]
    for other in (("run", words[1], "retry"), ("run", words[1], "undo", "77"), ("again", "c"), ("offer", words[1], words[2], "1")):
        assert await filtered(new, FeatureClick(words=other)) == ["answer"], other
    async with bot(new) as world:
        await world.work(click(*words))
        assert "toast:run-paused" in world.codes()
        await world.work(order("resume"), click(*words))
        assert texts(world)[-2:] == ["Тариф: Полный", "Готово."]


async def _play(ctx: RunContext) -> RunResult:
    """A run with one child, which writes when a person has agreed."""
    if ctx.run.args.get("kind") is None:
        if (await ctx.child("child", "steps", "plan", {"kind": Value("child", OWN)})).status != "done":
            raise RunFailed("run-step-failed", "the child did not end", step="child")
        return RunResult()
    change = {"id": Value(481, OWN), "fields": {"OPPORTUNITY": Value(1200000, OWN)}}
    if (await ctx.submit("act", RunEffect(method="crm.deal.update", params=change))).status != "succeeded":
        raise RunFailed("run-step-refused", "denied", step="act")
    return RunResult()


async def test_a_child_that_was_to_be_tried_again_waits_for_a_person(homes: Homes, tmp_path: Path) -> None:
    """It may have gone on since the backup, so it does not by itself; and its parent does not wait for a run that has failed for good."""
    old, new, file = homes.home("old"), homes.home("new"), tmp_path / "one.backup"
    async with a_function_world(old.folder, _play, store=open_store(old.url)) as world:
        await world.work(start("plan"))
        (card,) = [row.body for row in world.outbox() if row.kind == "card"]
        child = str(card["home"])
        await world.work(press(card, key=child, approve=False))
        assert {row.status for row in world.sql.list_runs(RunFilter())} == {"failed"}
        held = world.sql.acquire(child, "another process", world.clock.now(), world.clock.now() + timedelta(hours=1))
        assert held is not None
        async with world.working() as orchestrator:
            await orchestrator.receive([order("retry")])
            await until(lambda: index(world).status == "waiting")
        world.outbox()
        old.back_up(file)
    report = new.restore(file)
    assert (sorted(report.runs), report.inputs, new.findings()) == (sorted([RUN, child]), [], [])
    async with a_function_world(new.folder, _play, store=open_store(new.url)) as world:
        await world.work()
        assert world.codes() == ["run-restored", "run-restored"]
        await world.work(order("resume"), order("resume", key=child))
        (again,) = [row.body for row in world.outbox() if row.kind == "card" and row.body["status"] == "requested"]
        await world.work(press(again, key=child))
        assert {row.status for row in world.sql.list_runs(RunFilter())} == {"done"}
        assert len(world.portal.written("crm.deal.update")) == 1
