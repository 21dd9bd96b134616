"""Writes are frozen by another process while a bot is at work, at a moment that a seed decides: nothing starts once that returned."""

import asyncio
import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from state.clock import SystemClock
from state.journal import freeze_switch
from state.journal.freeze_switch import SwitchOperator
from state.sql import open_store
from state.sql.store import SqlStore
from tests.crash.lab import Nursery, opened_world, told

MARKS = {"free": ("Осина", "Позвонить", "Записка"), "sum": ("150001",), "batch": ("333003", "555005")}
PLACES = {"free": 4, "sum": 2, "batch": 2}
"""How many requests of each script there are, one of which the switch follows."""
MOMENTS = [
    pytest.param(seed, script, id=f"{seed}-{script}", marks=[pytest.mark.crash_long] if seed >= places else [])
    for script, places in PLACES.items()
    for seed in range(4)
]
"""Each request once; in the long form the same requests at other moments too."""
PATIENCE = 60.0


def begun(store: SqlStore) -> list[str]:
    """The calls that were started, as the journal has them."""
    return [str(event.data["effect_id"]) for event in store.scan(("CallStarted",), limit=1000)]


def froze(store: SqlStore) -> list[str]:
    """Throw the switch; what had been started when it returned. A database that others write to is tried again, as the switch does."""
    hand = SwitchOperator(key="cli:root", name="root", via="cli", at=SystemClock().now())
    assert freeze_switch.freeze_writes(store, hand).changed
    return begun(store)


@pytest.mark.req("S004-28")
@pytest.mark.parametrize(("seed", "script"), MOMENTS)
async def test_nothing_starts_once_the_switch_was_thrown(seed: int, script: str, nursery: Nursery, tmp_path: Path, shared: str) -> None:
    """Free writes, a press and a batch: what had started is heard to its end, all else is refused or waits."""
    dice, at = random.Random(f"{seed} {script}"), 1 + seed % PLACES[script]  # noqa: S311 - a plan is no secret
    store = await asyncio.to_thread(open_store, shared)
    common = {"folder": str(tmp_path), "database_url": shared, "script": script, "settles": False}
    try:
        async with opened_world() as world:
            running = asyncio.ensure_future(asyncio.to_thread(nursery.run, {**common, "port": world.port, "generation": 0}))
            end = time.monotonic() + PATIENCE
            while len(world.weighty) < at and not running.done():
                assert time.monotonic() < end, "the bot did not come to its work"
                await asyncio.sleep(0.001)
            await asyncio.sleep(dice.uniform(0, 0.06))
            before = await asyncio.to_thread(froze, store)
            assert await running == 0
            assert begun(store) == before
            assert len(world.portal.ledger) <= len(before) * (len(MARKS[script]) if script == "batch" else 1)
            assert all(world.written(mark) <= 1 for mark in MARKS[script])
            assert {row.status for row in _effects(store)} <= {"succeeded", "requested"}

            hand = SwitchOperator(key="cli:root", name="root", via="cli", at=SystemClock().now())
            assert freeze_switch.release_writes(store, hand).changed
            later = {**common, "port": world.port, "generation": 1, "script": "", "settles": True}
            assert await asyncio.to_thread(nursery.run, later) == 0
            assert begun(store) == before  # what was refused is not remembered, what waits is not approved
            report: dict[str, Any] = next(line for line in reversed(told(tmp_path)) if line["kind"] == "report")
            assert {stream["verified"] for stream in report["streams"].values()} == {"Verified"}, json.dumps(report["streams"])[:300]
            assert all(stream["state"] == stream["loaded"] for stream in report["streams"].values())
    finally:
        store.close()


def _effects(store: SqlStore) -> list[Any]:
    return [row for effect_id in {*begun(store), *_asked(store)} if (row := store.find_effect(effect_id)) is not None]


def _asked(store: SqlStore) -> list[str]:
    return [str(event.data["effect_id"]) for event in store.scan(("ConfirmationRequested",), limit=1000)]
