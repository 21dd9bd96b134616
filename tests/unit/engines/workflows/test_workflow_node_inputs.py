"""To find out with what nodes were begun, a run on a record is played once more, and nothing outside of the page notices (C-34)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engines.workflows.core.blocks.host import NoBlocks
from engines.workflows.core.blocks.manager import Opened
from engines.workflows.core.engine import WorkflowEngine
from engines.workflows.wiring import build_record_host
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.reports.node_inputs import read_node_inputs
from orchestrator.runs.registry import Engines, RegisteredEngine
from orchestrator.runs.stored_definitions import build_part_finder
from state.journal.journal import load_state
from tests.unit.engines.workflows.played_kit import a_workflow_world, start
from tests.unit.engines.workflows.test_record_runs import change, on_deal
from tests.unit.engines.workflows.workflow_kit import TYPES
from tests.unit.runs.runs_kit import RUN
from tests.unit.spine_kit import World, press


def look(world: World) -> tuple[object, ...]:
    """All that a run could leave behind: events of every stream, inputs, deliveries, and what was written to the portal."""
    heads = sorted((stream, seq) for stream, seq, _ in world.sql.list_heads())
    rows = [world.sql.read_events(stream, after=seq - 1) for stream, seq in heads]
    return heads, rows, [row.id for row in world.outbox()], world.portal.written(), len(world.model.prompts)


class WatchedBlocks(NoBlocks):
    """Blocks that note what they are asked to keep."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def open(self, *given: Any) -> Opened:
        self.asked.append("open")
        return await super().open(*given)

    async def finish(self, *given: Any) -> bool:
        self.asked.append("finish")
        return await super().finish(*given)


@pytest.mark.req("C-34")
@pytest.mark.parametrize("is_approved", [False, True], ids=["waits", "done"])
async def test_playing_a_run_for_its_prompts_acts_on_nothing(tmp_path: Path, *, is_approved: bool) -> None:
    """The prompts and proposals are found, and no event, message, block, call or question is made."""
    async with a_workflow_world(tmp_path, on_deal(change("OPPORTUNITY", 120000))) as world, ScriptRunner() as scripts:
        world.model.will("итог")
        await world.work(start(deal="481"))
        [card] = [row for row in world.outbox() if row.kind == "card"]
        if is_approved:
            await world.work(press(card.body, key=RUN))
        deps = world.gate.deps
        reads = PortalReader(world.client, deps.catalogue, world.clock)
        blocks = WatchedBlocks()
        host = replace(build_record_host(world.store, deps.catalogue, Naming(reads)), blocks=blocks)
        engine = WorkflowEngine(TYPES, scripts).connect(build_part_finder(world.store, "tuum"), scripts, host)
        engines = Engines(runs={"workflow": RegisteredEngine(engine=engine)})
        state, _ = await world.store.read(load_state, RUN)
        assert state.run is not None
        world.outbox()
        before = look(world)

        found = await read_node_inputs(RUN, state.run, engines.runs["workflow"], world.tools)

        assert "О сделке 481" in str([given.messages for given in found.values()])
        assert "crm.deal.get" in [given.method for given in found.values()]
        assert ("crm.deal.update" in [given.method for given in found.values()]) is is_approved
        assert look(world) == before
        assert blocks.asked == []
