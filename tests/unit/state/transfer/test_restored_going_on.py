"""A run that came back with a backup and goes on at a person's word: what it may have done since is looked for, or asked about."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.taint import Value
from orchestrator.engines.runs import RunContext, RunEffect, RunFailed, RunResult
from state.journal.run_index import RunFilter
from state.sql import open_store
from tests.unit.runs.function_kit import a_function_world
from tests.unit.runs.runs_kit import RUN, index, start
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import NOW, World, press
from tests.unit.spine_portal import Portal
from tests.unit.state.transfer.moving_kit import KINDS, Homes

OWN = frozenset({"definition"})
ADD = RunEffect(method="crm.deal.add", params={"fields": {"TITLE": Value("Осина", OWN)}})
COMMENT = RunEffect(
    method="crm.timeline.comment.add",
    params={"fields": {"ENTITY_ID": Value(481, OWN), "ENTITY_TYPE": "deal", "COMMENT": Value("Позвонить", OWN)}},
)
HOUR = timedelta(hours=1)


class Lost:
    """A bot that was backed up and lost, its successor, and the one portal of both."""

    def __init__(self, homes: Homes, folder: Path, kind: str = "file") -> None:
        self.old, self.new, self.portal, self.file = homes.home("old", kind), homes.home("new", kind), Portal(), folder / "one.backup"
        self.effect, self.below, self.is_broken = ADD, False, False

    async def play(self, ctx: RunContext) -> RunResult:
        """Sleep, and then make a change, by a child if it is to be `below`."""
        if not ctx.run.parent:
            await ctx.sleep("night", NOW + HOUR)
            if self.below:
                ended = await ctx.child("child", "steps", "plan", {})
                return RunResult(status=ended.status)
        if self.is_broken:
            raise RunFailed("run-step-refused", "for this once", step="act")
        outcome = await ctx.submit("act", self.effect)
        return RunResult(status="done" if outcome.status == "succeeded" or outcome.already else "failed")

    @asynccontextmanager
    async def bot(self, home: Any) -> AsyncIterator[World]:
        async with a_function_world(home.folder, self.play, store=open_store(home.url), portal=self.portal) as world:
            yield world

    async def went_on(self) -> None:
        """The run went on after the backup, in the database that is lost."""
        async with self.bot(self.old) as world:
            world.clock.advance(HOUR)
            await world.work()
            assert index(world).status == "done"

    async def restored(self, world: World) -> None:
        """The run of the restored database goes on at its owner's word."""
        world.clock.advance(HOUR)
        await world.work(order("resume"))

    def written(self) -> int:
        """How many writes the portal has seen."""
        return len(self.portal.written(self.effect.method))


@pytest.mark.req("G2")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize("done", [False, True])
async def test_what_leaves_a_mark_is_made_once(homes: Homes, tmp_path: Path, kind: str, *, below: bool, done: bool) -> None:
    """The portal is asked for it, also for what a child makes that begins only now; it counts as done, and the run ends as it should."""
    lost = Lost(homes, tmp_path, kind)
    lost.below = below
    async with lost.bot(lost.old) as world:
        await world.work(start("plan"))
    lost.old.back_up(lost.file)
    if done:
        await lost.went_on()
    lost.new.restore(lost.file)
    async with lost.bot(lost.new) as world:
        await lost.restored(world)
        assert {row.status for row in world.sql.list_runs(RunFilter())} == {"done"}
        assert [row for row in world.outbox() if row.kind == "card"] == []
    assert (lost.written(), lost.new.findings()) == (1, [])


@pytest.mark.parametrize("done", [False, True])
async def test_of_what_leaves_no_mark_a_person_decides(homes: Homes, tmp_path: Path, *, done: bool) -> None:
    """The card says why it asks; until then nothing is written."""
    lost = Lost(homes, tmp_path)
    lost.effect = COMMENT
    async with lost.bot(lost.old) as world:
        await world.work(start("plan"))
    lost.old.back_up(lost.file)
    if done:
        await lost.went_on()
    lost.new.restore(lost.file)
    async with lost.bot(lost.new) as world:
        await lost.restored(world)
        (card,) = [row.body for row in world.outbox() if row.kind == "card"]
        assert [one["code"] for one in card["reasons"]] == ["came-back-asks"]
        assert lost.written() == (1 if done else 0)
        await world.work(press(card, key=RUN, approve=not done))
        assert (index(world).status, lost.written()) == ("failed" if done else "done", 1)


@pytest.mark.parametrize("is_computed", [False, True])
async def test_what_was_computed_from_a_record_is_asked_about(homes: Homes, tmp_path: Path, *, is_computed: bool) -> None:
    """The record may hold what the lost run had added to it, and the same would be added once more; other values do no harm a second time."""
    lost = Lost(homes, tmp_path)
    fields = {"COMMENTS": Value("Звонков: 2", OWN)}
    lost.effect = RunEffect(method="crm.deal.update", params={"id": Value(481, OWN), "fields": fields}, is_computed=is_computed)
    async with lost.bot(lost.old) as world:
        await world.work(start("plan"))
    lost.old.back_up(lost.file)
    lost.new.restore(lost.file)
    async with lost.bot(lost.new) as world:
        await lost.restored(world)
        cards = [row.body for row in world.outbox() if row.kind == "card"]
        asked = [one["code"] for card in cards for one in card["reasons"]]
        assert (asked, lost.written()) == ((["came-back-asks"], 0) if is_computed else ([], 1))


async def test_a_card_of_a_new_record_says_that_it_may_be_there(homes: Homes, tmp_path: Path) -> None:
    """A mark that is not found proves little there: who approved the lost card may have changed a value before, which makes a new mark."""
    lost = Lost(homes, tmp_path)
    lost.effect = replace(ADD, requires_confirmation=True)
    async with lost.bot(lost.old) as world:
        await world.work(start("plan"))
    lost.old.back_up(lost.file)
    lost.new.restore(lost.file)
    async with lost.bot(lost.new) as world:
        await lost.restored(world)
        (card,) = [row.body for row in world.outbox() if row.kind == "card"]
        assert "came-back-asks" in [one["code"] for one in card["reasons"]]
        await world.work(press(card, key=RUN))
        assert (index(world).status, lost.written()) == ("done", 1)


async def test_a_failed_run_that_is_tried_again_looks_too(homes: Homes, tmp_path: Path) -> None:
    """Somebody may have had it tried again since the backup."""
    lost = Lost(homes, tmp_path)
    lost.is_broken = True
    async with lost.bot(lost.old) as world:
        await world.work(start("plan"))
        world.clock.advance(HOUR)
        await world.work()
        assert index(world).status == "failed"
    lost.old.back_up(lost.file)
    lost.is_broken = False
    async with lost.bot(lost.old) as world:
        world.clock.advance(HOUR)
        await world.work(order("retry"))
        assert (index(world).status, lost.written()) == ("done", 1)
    lost.new.restore(lost.file)
    async with lost.bot(lost.new) as world:
        world.clock.advance(HOUR)
        await world.work(order("retry"))
        assert (index(world).status, lost.written()) == ("done", 1)


async def test_a_run_that_begins_after_the_restore_is_asked_nothing(homes: Homes, tmp_path: Path) -> None:
    lost = Lost(homes, tmp_path)
    lost.effect = COMMENT
    async with lost.bot(lost.old) as world:
        await world.work()
    lost.old.back_up(lost.file)
    lost.new.restore(lost.file)
    async with lost.bot(lost.new) as world:
        world.clock.advance(HOUR)
        await world.work(start("plan"))
        assert (index(world).status, lost.written()) == ("done", 1)
