"""Schedules that came back with a backup: what they did since is not done again, and people decide which of them go on."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from orchestrator.runtime.dispatch import collect_due_rows
from state.clock import format_iso
from state.journal.store import RESTORED
from state.sql import open_store
from tests.unit.runs.runs_kit import steps
from tests.unit.schedules.schedules_kit import ID, QUIET, Bench, a_bench, add, click, order
from tests.unit.spine_kit import CHAT, NOW
from tests.unit.spine_portal import Portal
from tests.unit.state.transfer.moving_kit import KINDS, Homes

ADDS = {"plan": steps({"write": "crm.deal.add", "params": {"fields": {"TITLE": "Осина"}}})}
OTHER = "0190aaaa-0000-7000-8000-0000000000bb"
FIRST = datetime(2026, 11, 22, 6, 0, tzinfo=UTC)


@asynccontextmanager
async def bot(home: Any, document: Mapping[str, Any] = QUIET, portal: Portal | None = None) -> AsyncIterator[Bench]:
    """The bot on that database."""
    async with a_bench(home.folder, document, store=open_store(home.url), portal=portal) as bench:
        yield bench


@pytest.mark.parametrize("kind", KINDS)
async def test_what_ran_since_the_backup_does_not_run_again_and_the_chat_decides(homes: Homes, tmp_path: Path, kind: str) -> None:
    """One has had its run since, one was cancelled since: neither starts by itself."""
    old, new, file = homes.home("old", kind), homes.home("new", kind), tmp_path / "one.backup"
    async with bot(old) as bench:
        await bench.world.work(add(cron="0 9 * * *"), add(at="2026-11-22T12:00:00+03:00", schedule=OTHER))
        bench.told()
    old.back_up(file)
    async with bot(old) as bench:
        await bench.world.work(order("cancel", schedule=OTHER))
        await bench.until(FIRST)
        assert len(bench.runs()) == 1
    report = new.restore(file)
    assert sorted(report.schedules) == [ID, OTHER]
    assert new.findings() == []
    async with bot(new) as bench:
        await bench.until(FIRST + timedelta(hours=4))
        assert bench.runs() == []
        assert {one.why for one in bench.state().values()} == {"restored"}
        told = bench.told()
        assert told[0].startswith("⏸ Бота восстановили из резервной копии от")
        assert told[0].count("На паузе: бота восстановили из резервной копии") == 2
        await bench.world.work(click(ID, "resume"), click(OTHER, "cancel"))
        assert bench.runs() == [], "the moment that had its run is not made up for"
        await bench.until(FIRST + timedelta(days=1))
        assert [one.data["due"] for one in bench.fired()] == ["2026-11-23T06:00:00.000000Z"]
        assert list(bench.state()) == [ID]


async def test_a_due_input_that_came_back_starts_nothing(homes: Homes, tmp_path: Path) -> None:
    """The backup was made between the timer and its handling."""
    old, new, file = homes.home("old", "file"), homes.home("new", "file"), tmp_path / "one.backup"
    async with bot(old) as bench:
        await bench.world.work(add(cron="0 9 * * *"))
        await bench.world.put(*await collect_due_rows(bench.world.store, FIRST + timedelta(seconds=1)))
    old.back_up(file)
    new.restore(file)
    async with bot(new) as bench:
        await bench.until(FIRST + timedelta(hours=1))
        assert (bench.runs(), bench.entry(CHAT).why) == ([], "restored")
        assert NOW < FIRST


async def test_a_schedule_that_a_person_had_paused_stays_paused_for_that_reason(homes: Homes, tmp_path: Path) -> None:
    old, new, file = homes.home("old", "file"), homes.home("new", "file"), tmp_path / "one.backup"
    async with bot(old) as bench:
        await bench.world.work(add(cron="0 9 * * *"))
        await bench.world.work(order("pause"))
        bench.told()
    old.back_up(file)
    assert list(new.restore(file).schedules) == []
    async with bot(new) as bench:
        await bench.world.work()
        assert (bench.entry().why, bench.told()) == ("person", [])


async def test_a_single_moment_that_had_its_run_is_looked_into(homes: Homes, tmp_path: Path) -> None:
    """A person lets it go on after its moment has passed: the run begins now, with the key that it had, and what it made is found."""
    old, new, file, portal = homes.home("old"), homes.home("new"), tmp_path / "one.backup", Portal()
    async with bot(old, ADDS, portal) as bench:
        await bench.world.work(add(at="2026-11-22T12:00:00+03:00"))
    old.back_up(file)
    async with bot(old, ADDS, portal) as bench:
        await bench.until(FIRST + timedelta(hours=4))
        assert [one.status for one in bench.runs()] == ["done"]
    new.restore(file)
    with new.store() as store:  # the restore came after the moment, whatever the clock of the tests says
        store.set_value(RESTORED, orjson.dumps({"made_at": "", "restored_at": format_iso(FIRST + timedelta(hours=4))}).decode())
    async with bot(new, ADDS, portal) as bench:
        await bench.until(FIRST + timedelta(hours=5))
        assert bench.runs() == []
        await bench.world.work(click(ID, "resume"))
        await bench.until(FIRST + timedelta(hours=6))
        assert [one.status for one in bench.runs()] == ["done"]
    assert len(portal.written("crm.deal.add")) == 1
