"""An approved change of many records writes each once and loses none, however the programs die."""

import contextlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain import bulk
from state.journal.run_index import RunFilter
from state.journal.store import InboxRow, StoreUnwritable
from tests.contract.test_schedules_survive import DyingStore
from tests.unit.engines.bulk_changes.bulk_kit import Firm, a_firm, a_program, find_card, propose
from tests.unit.spine_kit import memory_store, press, until

STEPS = 60
"""How many writes the program makes from the press to the end of the run; the first test holds it against the truth."""
COUNT = 19


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the records of the sample firm make several."""
    monkeypatch.setattr(bulk, "PART", 4)


async def _propose(folder: Path, firm: Firm) -> tuple[Any, InboxRow]:
    store = memory_store()
    async with a_program(folder, firm, store=DyingStore(store)) as world:
        card = find_card(await propose(world))
    return store, press(card)


async def _work(folder: Path, firm: Firm, store: DyingStore, later: timedelta, *rows: InboxRow) -> None:
    """Let a program work until nothing is left or it is killed."""
    async with a_program(folder, firm, store=store) as world:
        world.clock.advance(later)
        async with world.working() as orchestrator:
            with contextlib.suppress(StoreUnwritable):  # killed as it took them in
                await orchestrator.receive(rows)

            async def done() -> bool:
                due = world.sql.list_due_timers(world.clock.now())
                return store.is_dead or (not due and await world.orchestrator.is_idle())

            await until(done)


async def _check(folder: Path, firm: Firm, store: Any) -> None:
    writes = firm.list_writes()
    assert len(writes) == len(set(writes)) == COUNT
    assert len(await firm.read("crm.deal.list", {"filter": {"COMMENTS": "Проверено"}})) == COUNT
    async with a_program(folder, firm, store=DyingStore(store)) as world:
        (run,) = world.sql.list_runs(RunFilter())
        assert run.status == "done"
        ends = [row.body["notices"] for row in world.outbox() if row.key.endswith(":progress")]
        assert [notice["code"] for notice in ends[-1]] == ["bulk-done"]
        assert ends[-1][0]["args"] == {"made": COUNT, "count": COUNT}


async def test_an_undisturbed_program_makes_so_many_writes(tmp_path: Path) -> None:
    """The number says where the others are killed."""
    async with a_firm() as firm:
        store, pressed = await _propose(tmp_path, firm)
        dying = DyingStore(store)
        await _work(tmp_path, firm, dying, timedelta(), pressed)
        assert STEPS // 2 < dying.writes <= STEPS, dying.writes
        await _check(tmp_path, firm, store)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("dies_at", range(1, STEPS + 1))
@pytest.mark.long
async def test_a_program_that_is_killed_between_any_two_writes_doubles_and_loses_nothing(
    tmp_path: Path, dies_at: int, *, after: bool
) -> None:
    """The next program comes five minutes later; what the first one sent is found out by reading."""
    async with a_firm() as firm:
        store, pressed = await _propose(tmp_path, firm)
        await _work(tmp_path, firm, DyingStore(store, dies_at=dies_at, after=after), timedelta(), pressed)
        store.expire_leases()
        again = [pressed] if store.find_inbox(pressed.source) is None else []  # Telegram gives an update again that was not taken in
        await _work(tmp_path, firm, DyingStore(store), timedelta(minutes=5), *again)
        await _check(tmp_path, firm, store)
