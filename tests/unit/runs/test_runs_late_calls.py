"""A run that is cancelled while one of its nodes is at the gate begins no call any more."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from state.events.fold import list_open_confirmations
from state.journal.journal import load_state
from tests.unit.runs.runs_kit import RUN, a_run_world, events, index, start, steps
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import until

ASKS = {"write": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1200000}}}
FREE = {"write": "crm.deal.update", "params": {"id": 481, "fields": {"COMMENTS": "Свободно"}}}


@pytest.mark.req("G1", "S004-A2")
@pytest.mark.parametrize("write", [ASKS, FREE], ids=["with a card", "without a card"])
async def test_a_cancelled_run_begins_no_call(tmp_path: Path, write: Mapping[str, Any]) -> None:
    """The cancellation comes while the portal is asked about the record: no card is requested, and nothing is written."""
    asked, cancelled = asyncio.Event(), asyncio.Event()

    async def hold(method: str, _params: Mapping[str, Any]) -> None:
        if method == "crm.deal.get":
            asked.set()
            await cancelled.wait()

    async with a_run_world(tmp_path, {"plan": steps(write)}) as world:
        world.portal.watch = hold
        async with world.working() as orchestrator:
            await orchestrator.receive([start("plan")])
            await asyncio.wait_for(asked.wait(), 10)
            await orchestrator.receive([order("cancel")])
            await until(lambda: bool(events(world, "RunFinished")))
            cancelled.set()
            await world.idle()
        state, _ = load_state(world.sql, RUN)
        assert index(world).status == "cancelled"
        assert list_open_confirmations(state) == []
        assert events(world, "ConfirmationRequested", "CallStarted") == []
        assert world.portal.written() == []
