"""Of several processes on one database, one at a time carries out changes of many records."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from orchestrator.domain.bulk import BULK
from orchestrator.gate.bulk import stored_files
from orchestrator.gate.bulk.stored_files import ProcessTurn
from tests.unit.engines.bulk_changes.bulk_kit import Firm, a_bulk_world, find_card, propose, read_end
from tests.unit.spine_kit import NOW, World, press, until


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_files, "POLL", timedelta())


def _count_takes(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Who asked for the turn, as often as they did."""
    askers: list[str] = []
    acquire = world.sql.acquire

    def watch(session: str, owner: str, *times: Any) -> Any:
        askers.extend([owner] if session == BULK else [])
        return acquire(session, owner, *times)

    monkeypatch.setattr(world.sql, "acquire", watch)
    return askers


async def test_a_run_waits_while_another_process_changes_many_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_bulk_world(tmp_path) as world:
        card = find_card(await propose(world))
        lease = world.sql.acquire(BULK, "other", NOW, NOW + timedelta(hours=1))
        assert lease is not None
        askers = _count_takes(world, monkeypatch)
        async with world.working():
            await world.orchestrator.receive([press(card)])
            await until(lambda: len(askers) > 3)
            assert cast("Firm", world.portal).list_writes() == []
            world.sql.release(lease)
            await world.idle()
        assert read_end(world.outbox())[0] == ("bulk-done", {"made": 19, "count": 19})
        assert world.sql.acquire(BULK, "other", NOW, NOW + timedelta(hours=1)) is not None


async def test_what_is_cancelled_while_it_waits_keeps_nobody_from_the_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_bulk_world(tmp_path) as world:
        first, second = ProcessTurn(world.store, world.clock), ProcessTurn(world.store, world.clock)
        askers = _count_takes(world, monkeypatch)

        async def work(turn: ProcessTurn, owner: str) -> None:
            async with turn.hold(owner):
                await asyncio.Event().wait()

        async with first.hold("one"), first.hold("one"):
            waiting = asyncio.ensure_future(work(second, "two"))
            await until(lambda: askers.count("two") > 1)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        async with second.hold("two"):
            assert world.sql.acquire(BULK, "three", NOW, NOW + timedelta(hours=1)) is None
        assert world.sql.acquire(BULK, "three", NOW, NOW + timedelta(hours=1)) is not None
