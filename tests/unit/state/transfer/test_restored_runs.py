"""Runs that came back with a backup and may have gone on since: they are paused, and nothing is done a second time by itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete

from orchestrator.domain.inputs import FeatureClick
from orchestrator.reports import restore
from state.clock import generate_id
from state.journal.run_index import RunFilter
from state.journal.store import InboxRow
from state.sql import open_store
from state.sql.tables import runs
from tests.unit.runs.runs_kit import RUN, a_run_world, events, index, start, steps
from tests.unit.spine_kit import ANNA, CHAT, NOW, World, press
from tests.unit.spine_portal import Portal
from tests.unit.state.transfer.moving_kit import KINDS, Homes

WRITE = {"write": "crm.deal.add", "params": {"fields": {"TITLE": "Осина", "OPPORTUNITY": 5000}}}
CHANGE = {"write": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1200000}}}
DOCUMENTS = {
    "card": steps(CHANGE, {"say": "Сумма: {s0}"}),
    "new": steps(WRITE),
    "sleep": steps({"sleep": 60}, CHANGE),
    "ask": steps({"ask": "Какой тариф?", "options": ["Базовый", "Полный"]}, {"say": "Тариф: {s0}"}),
    "parent": steps({"child": "sleep"}),
}


class Lost:
    """A bot that was backed up and lost, its successor, and the one portal of both."""

    def __init__(self, homes: Homes, folder: Path, kind: str = "file") -> None:
        self.old, self.new, self.portal, self.file = homes.home("old", kind), homes.home("new", kind), Portal(), folder / "one.backup"

    @asynccontextmanager
    async def bot(self, home: Any) -> AsyncIterator[World]:
        async with a_run_world(home.folder, DOCUMENTS, store=open_store(home.url), portal=self.portal) as world:
            yield world


def order(what: str, key: str = RUN) -> InboxRow:
    fresh = generate_id()
    body = FeatureClick(words=("run", key.removeprefix("run:"), what), callback_id=fresh).to_json()
    return InboxRow(
        id=fresh, source=f"click:{fresh}", session=CHAT, lane="express", kind=FeatureClick.KIND, actor=ANNA.model_dump(mode="json"),
        body=body, received_at=NOW,
    )  # fmt: skip


@pytest.mark.req("G2")
@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_run_that_waits_for_a_card_repeats_nothing(homes: Homes, tmp_path: Path, kind: str, done: bool) -> None:  # noqa: FBT001 - a table
    """Its card may have been approved since: the portal is looked at first. The run goes on when its owner says so, and the write is one."""
    lost = Lost(homes, tmp_path, kind)
    async with lost.bot(lost.old) as world:
        await world.work(start("card"))
        (shown,) = [row for row in world.outbox() if row.kind == "card"]
    lost.old.back_up(lost.file)
    if done:
        async with lost.bot(lost.old) as world:
            await world.work(press(shown.body, key=RUN))
            assert index(world).status == "done"
    assert list(lost.new.restore(lost.file).runs) == [RUN]
    assert lost.new.findings() == []
    async with lost.bot(lost.new) as world:
        await world.work()
        assert (index(world).status, world.codes()) == ("paused", ["run-restored"])
        await world.work(press(shown.body, key=RUN))
        assert index(world).status == "paused"
        await world.work(order("resume"))
        assert index(world).status == "done", "a call that was done already is as good as done"
    assert len(lost.portal.written("crm.deal.update")) == 1


async def test_a_record_that_was_created_meanwhile_is_not_created_again(homes: Homes, tmp_path: Path) -> None:
    """The portal is asked for it when the restored card is approved; the run goes on as if the call had been made now."""
    lost = Lost(homes, tmp_path)
    async with lost.bot(lost.old) as world:
        await world.work(start("new"))
        (shown,) = [row for row in world.outbox() if row.kind == "card"]
    lost.old.back_up(lost.file)
    async with lost.bot(lost.old) as world:
        await world.work(press(shown.body, key=RUN))
        assert index(world).status == "done"
    lost.new.restore(lost.file)
    async with lost.bot(lost.new) as world:
        await world.work(press(shown.body, key=RUN), order("resume"))
        assert (index(world).status, lost.new.findings()) == ("done", [])
    assert len(lost.portal.written("crm.deal.add")) == 1


async def test_every_run_that_was_paused_is_told_of(homes: Homes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the last of more runs than one page of the index holds, each once."""
    monkeypatch.setattr(restore, "PAGE", 2)
    lost = Lost(homes, tmp_path)
    keys = [f"run:0190aaaa-0000-7000-8000-00000000000{number}" for number in range(5)]
    async with lost.bot(lost.old) as world:
        await world.work(*(start("ask", key=key) for key in keys))
        await world.work(*(order("pause", key) for key in keys))
    lost.old.back_up(lost.file)
    assert sorted(lost.new.restore(lost.file).runs) == keys
    async with lost.bot(lost.new) as world:
        world.outbox()
        await world.work()
        assert world.codes() == ["run-restored"] * 5


async def test_a_sleeping_run_does_not_go_on_by_itself(homes: Homes, tmp_path: Path) -> None:
    """Its time came after the backup, and what followed may have been done: the timer wakes nobody before the owner has looked."""
    lost = Lost(homes, tmp_path)
    async with lost.bot(lost.old) as world:
        await world.work(start("parent"))
    lost.old.back_up(lost.file)
    restored = lost.new.restore(lost.file)
    async with lost.bot(lost.new) as world:
        keys = [f"run:{row.run_id}" for row in world.sql.list_runs(RunFilter())]
        assert sorted(restored.runs) == sorted(keys)
        world.clock.advance(timedelta(hours=1))
        await world.work()
        assert {row.status for row in world.sql.list_runs(RunFilter())} == {"paused"}
        assert [row.kind for row in world.outbox() if row.kind == "card"] == []
        (child,) = [key for key in keys if key != RUN]
        await world.work(order("resume", child))
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        await world.work(press(card.body, key=child), order("resume"))
        assert {row.status for row in world.sql.list_runs(RunFilter())} == {"done"}
    assert len(lost.portal.written("crm.deal.update")) == 1


async def test_an_order_to_start_that_waited_is_told_of_and_not_obeyed(homes: Homes, tmp_path: Path) -> None:
    """The run may have begun after the backup was made."""
    lost = Lost(homes, tmp_path)
    async with lost.bot(lost.old) as world:
        await world.put(start("card"))
    lost.old.back_up(lost.file)
    lost.new.restore(lost.file)
    async with lost.bot(lost.new) as world:
        await world.work()
        assert (world.sql.list_runs(RunFilter()), world.codes()) == ([], ["restored-not-worked"])


async def test_the_index_is_built_anew(homes: Homes, tmp_path: Path) -> None:
    """A backup whose index is not what its streams say comes back with the right one; a move carries the table as it is."""
    lost = Lost(homes, tmp_path)
    async with lost.bot(lost.old) as world:
        await world.work(start("ask"))
        with world.sql._dialect.engine.begin() as connection:
            connection.execute(delete(runs))
    lost.old.back_up(lost.file)
    lost.new.restore(lost.file)
    assert lost.new.findings() == []
    with lost.new.store() as store:
        (row,) = store.list_runs(RunFilter())
        assert (row.run_id, row.status) == (RUN.removeprefix("run:"), "paused")
    async with lost.bot(lost.new) as world:
        await world.work(order("resume"))
        assert [one.data["by"] for one in events(world, "RunWoken")] == ["resume"]
        assert index(world).status == "waiting"
