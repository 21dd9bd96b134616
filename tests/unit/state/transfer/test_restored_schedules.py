"""Schedules that came back with a backup: what they did since is not done again, and people decide which of them go on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.runtime.timers import collect_due_rows
from state.sql import open_store
from tests.unit.schedules.schedules_kit import ID, QUIET, Bench, a_bench, add, click, order
from tests.unit.spine_kit import CHAT, NOW
from tests.unit.state.transfer.moving_kit import KINDS, Homes

OTHER = "0190aaaa-0000-7000-8000-0000000000bb"
FIRST = datetime(2026, 11, 22, 6, 0, tzinfo=UTC)


@asynccontextmanager
async def bot(home: Any) -> AsyncIterator[Bench]:
    """The bot on that database."""
    async with a_bench(home.folder, QUIET, store=open_store(home.url)) as bench:
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
