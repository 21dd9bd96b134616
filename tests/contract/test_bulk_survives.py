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


async def _check(folder: Path, firm: Firm, store: Any) -> int:
    """Every record has one outcome, which is true, and was written once at most. Return how many were changed."""
    writes = firm.list_writes()
    assert len(writes) == len(set(writes))
    changed = len(await firm.read("crm.deal.list", {"filter": {"COMMENTS": "Проверено"}}))
    async with a_program(folder, firm, store=DyingStore(store)) as world:
        runs = world.sql.list_runs(RunFilter())
        if not runs:  # killed between the intent and the order to begin: the card says that it was not carried out
            cards = (await world.session()).state.cards.values()
            assert [card.status for card in cards] == ["refused"]
            assert changed == 0
            return 0
        assert [run.status for run in runs] == ["done"]
        done, *left = [row.body["notices"] for row in world.outbox() if row.key.endswith(":progress")][-1]
        assert (done["args"]["made"], done["args"]["count"]) == (changed, COUNT)
        assert sum(notice["args"]["count"] for notice in left) == COUNT - changed
        assert {notice["args"]["why"] for notice in left} <= {"bulk-not-sent"}
    return changed


async def test_an_undisturbed_program_makes_so_many_writes(tmp_path: Path) -> None:
    """The number says where the others are killed."""
    async with a_firm() as firm:
        store, pressed = await _propose(tmp_path, firm)
        dying = DyingStore(store)
        await _work(tmp_path, firm, dying, timedelta(), pressed)
        assert STEPS // 2 < dying.writes <= STEPS
        assert await _check(tmp_path, firm, store) == COUNT


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
