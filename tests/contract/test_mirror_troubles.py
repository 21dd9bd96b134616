"""What happens to the mirror while it is loaded and refreshed: kills, other processes, a deleted file, a full disk."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.mirror.keeper import MirrorKeeper
from state.mirror.file import DiskFull, MirrorError, NoMirror
from state.mirror.writing import MirrorWriter
from tests.contract.mirror_kit import Firm, World, dump, open_world


class KilledError(BaseException):
    """In place of the end of the process."""


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A portal with 2,748 deals: a portion and a rest."""
    async with open_world(tmp_path, bulk_deals=2700) as world:
        yield world


def fail_at(keeper: MirrorKeeper, number: int, error: type[BaseException]) -> None:
    """Let the commit with this number fail, before it is made."""
    commits = iter(range(1, number + 1))

    def count() -> None:
        if next(commits, number) == number:
            raise error

    assert keeper._session is not None
    keeper._session.writer._committing = count


async def open_session(keeper: MirrorKeeper) -> None:
    async with keeper._open_session():
        pass


@pytest.mark.parametrize("bulk_deals", [0, pytest.param(5000, marks=pytest.mark.long)])
async def test_a_load_that_is_killed_at_any_commit_goes_on_where_it_was(tmp_path: Path, bulk_deals: int) -> None:
    async with open_world(tmp_path, bulk_deals=bulk_deals) as world:
        fresh = world.keep("fresh")
        await fresh.load()
        assert 12 < await kill_at_each_commit(world, fresh) < 100


async def kill_at_each_commit(world: World, fresh: MirrorKeeper) -> int:
    """How many commits a load makes."""
    for number in range(1, 100):
        keeper = world.keep(f"killed{number}")
        await open_session(keeper)
        fail_at(keeper, number, KilledError)
        try:
            await keeper.load()
        except KilledError:
            state = keeper.read_state()
            keeper.close()
            other = world.keep(f"killed{number}")
            before = await world.count_requests()
            await other.load()
            assert dump(other) == dump(fresh), number
            if state is not None and state.is_ready("deals"):
                assert await world.count_requests() - before < 12
            other.close()
        else:
            return number
    return 100


async def test_a_loading_mirror_says_how_much_is_there(world: World) -> None:
    keeper = world.keep()
    await open_session(keeper)
    fail_at(keeper, 5, KilledError)
    with pytest.raises(KilledError):
        await keeper.load()
    state = keeper.read_state()
    assert state is not None
    assert 40 <= state.measure_loaded("deals") < 100
    assert state.parts["leads"].percent == 0
    before = await world.count_requests()
    assert not await keeper.refresh_if_older()
    assert await world.count_requests() == before


async def test_a_deleted_file_is_loaded_anew(world: World) -> None:
    keeper = world.keep()
    await keeper.load()
    whole = dump(keeper)
    keeper.file.delete()
    assert keeper.read_state() is None
    with pytest.raises(NoMirror):
        await keeper.load()
    await keeper.load()
    assert dump(keeper) == whole


async def test_a_full_disk_leaves_the_old_numbers(world: World) -> None:
    keeper, firm = world.keep(), Firm(world.portal, seed=1)
    await keeper.load()
    await firm.begin()
    whole = dump(keeper)
    await firm.act(200)
    assert keeper._session is not None
    connection = keeper._session.writer._connection
    connection.execute(f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').fetchone()[0]}")
    with pytest.raises(DiskFull):
        await world.refresh(keeper)
    assert dump(keeper) == whole
    connection.execute("PRAGMA max_page_count = 1000000")
    await world.refresh(keeper)
    assert dump(keeper) != whole


async def test_two_processes_refresh_once(world: World) -> None:
    """The other waits for it, and reads what it wrote; rates that one has read are used by the other."""
    first, second = world.keep(), world.keep()
    await first.load()
    await open_session(second)
    world.ages.seconds += 61
    before = await world.count_requests()
    assert await asyncio.gather(first.refresh_if_older(), second.refresh_if_older()) == [True, True]
    assert await world.count_requests() - before == 1
    second.close()


async def test_it_runs_by_itself_and_begins_anew(world: World) -> None:
    """Whatever befalls the file; the old history waits for the night (it is 21:00, then 23:00)."""
    keeper = world.keep()

    async def run_rounds(count: int) -> None:
        rounds = iter(range(count))

        async def pause(_: float) -> None:
            if next(rounds, None) is None:
                raise KilledError

        keeper._pause = pause
        with contextlib.suppress(KilledError):
            await keeper.run()

    await run_rounds(1)
    state = keeper.read_state()
    assert state is not None
    assert state.is_ready("deals", "history")
    keeper.file.delete()
    await run_rounds(3)
    state = keeper.read_state()
    assert state is not None
    assert state.is_ready("deals", "history")
    keeper.file.path.write_bytes(b"x" * 100_000)
    keeper.close()
    await run_rounds(3)
    assert keeper.read_state() is not None


async def test_of_two_that_run_one_loads(world: World) -> None:
    first, second = world.keep(), world.keep()
    with first.file.lease("load") as is_ours:
        assert is_ours
        second._pause = lambda _: asyncio.sleep(3600)
        task = asyncio.create_task(second.run())
        for _ in range(20):
            await asyncio.sleep(0)
        assert await world.count_requests() == 0
        task.cancel()


async def test_the_data_of_another_machine_is_old(world: World) -> None:
    keeper = world.keep()
    await keeper.load()
    await world.refresh(keeper)
    assert not keeper.is_older(timedelta(seconds=60))
    world.ages.seconds -= 1000
    assert keeper.is_older(timedelta(seconds=60))


def test_what_is_raised_is_a_mirror_error(tmp_path: Path) -> None:
    """Also if the folder cannot be used."""
    (tmp_path / "mirror").write_text("a file where a folder should be")
    with pytest.raises(MirrorError):
        MirrorWriter(MirrorKeeper(type("Portal", (), {"portal": "x"})(), tmp_path, None).file)  # type: ignore[arg-type]
