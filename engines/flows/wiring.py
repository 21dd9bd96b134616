"""Builds the engine of flows and connects it with the store: agents, and the memory of people. Part of the composition root."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

from bot.plugins.wiring import EnginePorts, Wiring
from engines.flows.core.definition import AGENT, SharedChannel
from engines.flows.core.engine import FlowEngine
from engines.flows.core.kind import AGENTS, FLOWS
from engines.flows.core.memory import Entry
from orchestrator.domain.budget import build_person_key
from orchestrator.domain.outputs import Notice
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import RunInfo
from orchestrator.engines.shared.declared import allows_start, describe_flow
from orchestrator.runs.registry import RegisteredEngine, RunCommand
from orchestrator.runs.stored_definitions import build_part_finder
from state.clock import parse_iso
from state.journal import flow_memory
from state.journal.async_store import AsyncStore, retry_while_busy
from state.journal.flow_memory import MemoryBusy, MemoryEntry, MemoryPlace, MemoryWrite, Retention

PATIENCE: Final = 15.0
"""Seconds to wait for others that write the same memory."""


class StoredMemory:
    """A `PersonMemory`. All accounts of an employee share one."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def find_end(self, run: RunInfo, /) -> int:
        """The last record that is stored by now."""
        return await self._store.read(flow_memory.find_end, build_place(run))

    async def read(self, run: RunInfo, channels: Sequence[SharedChannel], at: datetime, end: int, /) -> Sequence[Entry]:
        """Oldest first."""
        stored_entries = await self._store.read(flow_memory.read_entries, build_place(run), _list_retention(channels), at, end)
        names = {channel.id for channel in channels}
        return [Entry(one.channel, Value.from_stored(one._asdict()), parse_iso(one.at)) for one in stored_entries if one.channel in names]

    async def write(self, run: RunInfo, node: str, entries: Sequence[Entry], channels: Sequence[SharedChannel], at: datetime, /) -> None:
        """Once for each node of a run. Raises StoreError."""
        stored = [MemoryEntry(one.channel, one.value.data, sorted(one.value.origins)) for one in entries]
        write = MemoryWrite(owner=run.owner, run=run.run_id, node=node, entries=stored)
        add = partial(self._store.write, flow_memory.add_entries, build_place(run), write, _list_retention(channels), at)
        await retry_while_busy(add, MemoryBusy, patience=PATIENCE, pause=0.02)


def build_place(run: RunInfo) -> MemoryPlace:
    return MemoryPlace(run.definition.key, build_person_key(run.owner, run.employee))


def _list_retention(channels: Sequence[SharedChannel]) -> dict[str, Retention]:
    return {channel.id: Retention(channel.retention_versions, channel.retention_days) for channel in channels}


COMMAND: Final = "flow"


def build_flows() -> RegisteredEngine:
    """Until `connect` it finds no agents."""
    return RegisteredEngine(
        engine=FlowEngine(),
        commands={COMMAND: RunCommand(definition="", menu=Notice(code="menu-flow"))},
        describe=describe_flow,
        is_listed=partial(allows_start, "ui"),
        is_for_programs=partial(allows_start, "api"),
        is_offered=True,
        kind=FLOWS,
        parts=(AGENTS,),
    )


def connect(flows: RegisteredEngine, ports: EnginePorts) -> RegisteredEngine:
    assert isinstance(flows.engine, FlowEngine)  # noqa: S101 - as it was built here
    engine = flows.engine.connect(build_part_finder(ports.store, AGENT), ports.find_documents, StoredMemory(ports.store))
    return replace(flows, engine=engine)


WIRING: Final = Wiring(build=build_flows, connect=connect)
