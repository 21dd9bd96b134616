"""What an order tells is told once, however the programs die between a change in the portal and the message about it."""

from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.domain.standing_orders import OrderTerms
from orchestrator.mirror.keeper import MirrorKeeper
from state.journal.store import StoreError
from state.sql.store import SqlStore
from tests.contract.test_schedules_survive import DyingStore
from tests.unit.features.orders.orders_kit import MINUTE, Firm, a_bench
from tests.unit.features.orders.test_looking import SUM, add
from tests.unit.spine_kit import CHAT, memory_store, until

STEPS = 8
"""How many writes the program makes from the change to the message; the first test holds it against the truth."""
DAILY = OrderTerms(question={"of": "deals", "where": "open"}, quiet=3, zone="Europe/Moscow")


async def begin(folder: Path, firm: Firm, store: SqlStore) -> None:
    """An order stands, and the first look is over."""
    async with a_bench(folder, firm=firm, store=DyingStore(store)) as bench:  # type: ignore[arg-type]  # it is one
        await bench.load_mirror()
        await bench.world.work(add(SUM), add(DAILY))
        await bench.look()
        bench.all_told()


async def work(folder: Path, firm: Firm, store: DyingStore, *, hours: float) -> list[str]:
    """Let a program look and work until nothing is left or it is killed; returns what waits to be delivered."""
    async with a_bench(folder, firm=firm, store=store) as bench:  # type: ignore[arg-type]  # it is one
        bench.world.clock.advance(timedelta(hours=hours))
        async with bench.world.working() as orchestrator:
            try:
                await bench.looker.run(orchestrator.receive, bench.world.clock.now())
            except StoreError:
                assert store.is_dead

            async def done() -> bool:
                due = bench.world.sql.list_due_timers(bench.world.clock.now())
                return store.is_dead or (not due and await bench.world.orchestrator.is_idle())

            await until(done)
        return [] if store.is_dead else bench.told(CHAT)


async def tell_all(folder: Path, *, dies_at: int, after: bool = False) -> tuple[list[str], int]:
    """What is told of a change and of silence when the first program dies at that write, and how many writes it made."""
    async with Firm.open() as firm:
        store = memory_store()
        await begin(folder, firm, store)
        async with a_bench(folder, firm=firm, store=DyingStore(store)) as bench:  # type: ignore[arg-type]  # it is one
            bench.world.clock.advance(3 * MINUTE)
            await bench.change_portal("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 777000}})
        dying = DyingStore(store, dies_at=dies_at, after=after)
        first = await work(folder, firm, dying, hours=21)
        second = await work(folder, firm, DyingStore(store), hours=21.1)
        return [*first, *second], dying.writes


async def test_a_program_that_is_not_killed_makes_so_many_writes(tmp_path: Path) -> None:
    told, writes = await tell_all(tmp_path, dies_at=0)
    assert sum("777 000" in text for text in told) == 1
    assert sum("дня без событий" in text for text in told) == 1
    assert writes >= STEPS


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", range(1, STEPS + 1))
async def test_killed_at_any_write_everything_is_told_once(tmp_path: Path, step: int, after: bool) -> None:  # noqa: FBT001 - of a parameter
    told, _ = await tell_all(tmp_path, dies_at=step, after=after)
    assert sum("777 000" in text for text in told) == 1, told
    assert sum("дня без событий" in text for text in told) == 1, told


@pytest.mark.parametrize("step", [1, 2])
async def test_killed_at_a_mark_of_the_look_everything_is_told_once(tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the look is noted, and after its news are stored."""
    real, count = MirrorKeeper.write, [0]

    async def write(self: MirrorKeeper, job: object) -> object:
        count[0] += 1
        if count[0] == step:
            raise KeyboardInterrupt
        return await real(self, job)  # type: ignore[arg-type]

    async with Firm.open() as firm:
        store = memory_store()
        await begin(tmp_path, firm, store)
        async with a_bench(tmp_path, firm=firm, store=DyingStore(store)) as bench:  # type: ignore[arg-type]  # it is one
            bench.world.clock.advance(3 * MINUTE)
            await bench.change_portal("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 777000}})
            bench.world.clock.advance(3 * MINUTE)
            monkeypatch.setattr(MirrorKeeper, "write", write)
            with pytest.raises(KeyboardInterrupt):
                await bench.looker.run(bench.world.orchestrator.receive, bench.world.clock.now())
            monkeypatch.undo()
        told = await work(tmp_path, firm, DyingStore(store), hours=1)
    assert sum("777 000" in text for text in told) == 1
