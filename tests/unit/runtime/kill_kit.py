"""A process that dies after so many commits while it works an input, and another one that takes over what it left."""

import contextlib
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from state.journal.store import InboxRow, StoreUnwritable
from tests.unit import spine_kit
from tests.unit.spine_kit import World

PATIENCE = 0.3
"""Seconds after which a dead process is known to be dead."""
TAKEN_OVER = timedelta(minutes=2)
"""After this time the lease of the dead process is over."""


async def work_killed(world: World, row: InboxRow, *, kept: int, meanwhile: InboxRow | None = None) -> int:
    """Work the row, let nothing be stored after the commit number `kept`, then work on alive; returns how many commits died.

    `meanwhile` comes while the process is dead, and is worked first if it is express.
    """
    commit, left, died = world.sql.commit, [kept], [0]

    def store_or_die(what: Any) -> Any:
        if not left[0]:
            died[0] += 1
            raise StoreUnwritable("killed")
        stored = commit(what)  # one that is refused, and tried again with more, is none
        left[0] -= 1
        return stored

    async def died_or_idle() -> bool:
        return died[0] > 0 or await world.orchestrator.is_idle()

    await world.put(row)
    with patch.object(world.sql, "commit", store_or_die):
        async with world.working():
            await spine_kit.until(died_or_idle)  # however long it takes: only the dead are given up soon
            with contextlib.suppress(AssertionError), patch.object(spine_kit, "DEADLINE", PATIENCE):
                await world.idle()
    world.clock.advance(TAKEN_OVER)
    if meanwhile is not None:
        await world.put(meanwhile)
    async with world.working():
        await world.idle()
    return died[0]
