"""A moment of a schedule starts one run, however the programs die, and however many of them work on one database."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.runtime.dispatch import collect_due_rows
from state.journal.store import StaleEpoch, StoreUnwritable
from state.sql import build_sqlite_url, open_store
from state.sql.store import SqlStore
from tests.unit.schedules.schedules_kit import QUIET, SECOND, Bench, a_bench, add
from tests.unit.spine_kit import CHAT, NOW, memory_store, until

FIRST = datetime(2026, 11, 22, 6, 0, tzinfo=UTC)
DAY = timedelta(days=1)
WRITES = frozenset({"commit", "commit_group", "put_inbox", "take_inbox", "return_inbox", "finish_inbox", "acquire", "release"})
"""What a program stores; between any two of them it may be killed."""
STEPS = 16
"""How many writes the program makes from the moment of the schedule to the end of its run; the first test holds it against the truth."""


class DyingStore:
    """A store whose program is killed at one write: from then on nothing that it does is stored."""

    def __init__(self, store: SqlStore, *, dies_at: int = 0, after: bool = False) -> None:
        """Die at the write with this number, counted from 1; with `after` that one is still stored. 0 is never."""
        self._store, self._dies_at, self._after = store, dies_at, after
        self.writes = 0
        self.is_dead = False

    def close(self) -> None:
        """Stay open: the next program needs the database."""

    def __getattr__(self, name: str) -> Any:
        """Return the method of the store, which refuses to write once the program is dead."""
        found: Callable[..., Any] = getattr(self._store, name)
        if name not in WRITES:
            return found

        def write(*args: Any, **named: Any) -> Any:
            if self.is_dead:
                raise StoreUnwritable("the program is dead")
            self.writes += 1
            if self.writes != self._dies_at:
                return found(*args, **named)
            self.is_dead = True
            if self._after:
                found(*args, **named)
            raise StoreUnwritable("the program was killed")

        return write


async def made(folder: Path) -> SqlStore:
    """A database with a schedule for nine each morning."""
    store = memory_store()
    async with a_bench(folder, QUIET, store=DyingStore(store)) as bench:  # type: ignore[arg-type]  # it is one
        await bench.world.work(add(cron="0 9 * * *"))
        bench.told()
    return store


async def work(folder: Path, store: DyingStore, moment: datetime) -> None:
    """Let a program work at this moment until nothing is left or it is killed."""
    async with a_bench(folder, QUIET, store=store) as bench:  # type: ignore[arg-type]  # it is one
        bench.world.clock.advance(moment + SECOND - NOW)
        async with bench.world.working():

            async def done() -> bool:
                due = bench.world.sql.list_due_timers(bench.world.clock.now())
                return store.is_dead or (not due and await bench.world.orchestrator.is_idle())

            await until(done)


async def check(folder: Path, store: SqlStore, *, late: bool) -> None:
    """One run was started for the moment, everything was said once, and the next moment is the next morning."""
    async with a_bench(folder, QUIET, store=DyingStore(store)) as bench:  # type: ignore[arg-type]  # it is one
        (fired,) = bench.fired()
        (run,) = bench.runs()
        assert (fired.data["run"], run.status) == (f"run:{run.run_id}", "done")
        told = bench.told()
        assert [text for text in told if "Бот тогда не работал" not in text] == ["Начинаю", "Готово."]
        assert len(told) == (3 if late else 2)
        assert [one.due_at.replace(microsecond=0) for one in bench.timers()] == [FIRST + DAY]


async def test_an_undisturbed_program_makes_so_many_writes(tmp_path: Path) -> None:
    """The number says where the others are killed."""
    store = DyingStore(await made(tmp_path))
    await work(tmp_path, store, FIRST)
    assert STEPS // 2 < store.writes <= STEPS
    await check(tmp_path, store._store, late=False)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("dies_at", range(1, STEPS + 1))
async def test_a_program_that_is_killed_between_any_two_writes_doubles_and_loses_nothing(
    tmp_path: Path, dies_at: int, *, after: bool
) -> None:
    """The next program comes five minutes later."""
    sql = await made(tmp_path)
    first = DyingStore(sql, dies_at=dies_at, after=after)
    await work(tmp_path, first, FIRST)
    has_fired = bool([one for one in sql.read_events(f"session:{CHAT}") if one.type == "ScheduleFired"])
    sql.expire_leases()
    await work(tmp_path, DyingStore(sql), FIRST + timedelta(minutes=5))
    await check(tmp_path, sql, late=not has_fired)


@pytest.mark.parametrize("kind", ["file", "postgresql"])
async def test_two_programs_on_one_database_start_one_run(tmp_path: Path, request: pytest.FixtureRequest, kind: str) -> None:
    """Both see the due timer at the same time, each over connections of its own."""
    server = request.getfixturevalue("postgres") if kind == "postgresql" else None
    url = server.fresh() if server is not None else build_sqlite_url(tmp_path / "sdelka.db")
    async with a_bench(tmp_path, QUIET, store=open_store(url)) as one, a_bench(tmp_path, QUIET, store=open_store(url)) as two:
        await one.world.work(add(cron="0 9 * * *"))
        one.told()
        for day in range(4):
            for bench in (one, two):
                bench.world.clock.advance(FIRST + day * DAY + SECOND - bench.world.clock.now())
            async with one.world.working(), two.world.working():
                await asyncio.gather(one.world.idle(), two.world.idle())
        assert len(one.fired()) == len(one.runs()) == 4
        assert [run.status for run in one.runs()] == ["done"] * 4
        assert one.told() == ["Начинаю", "Готово."] * 4
    if server is not None:
        server.drop(url)


async def test_a_program_that_lost_the_chat_to_another_one_cannot_fire(tmp_path: Path) -> None:
    """It slept through the moment with the input in its hand, and another program has fired meanwhile."""
    sql = await made(tmp_path)
    async with a_bench(tmp_path, QUIET, store=DyingStore(sql)) as slow:  # type: ignore[arg-type]  # it is one
        slow.world.clock.advance(FIRST + SECOND - NOW)
        session = await slow.world.session(CHAT, owner="slow")
        (row,) = await collect_due_rows(slow.world.store, slow.world.clock.now())
        sql.expire_leases()
        await work(tmp_path, DyingStore(sql), FIRST)
        with pytest.raises(StaleEpoch):
            await slow.world.tools.features.timers["schedule"](row, session, slow.world.tools)
        await check_once(slow)


async def check_once(bench: Bench) -> None:
    """There is one run."""
    assert len(bench.fired()) == len(bench.runs()) == 1
