"""The memory that flows have of people, in the journal; see `state.journal.flow_memory`."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from engines.flows.core.definition import SharedChannel
from engines.flows.core.person_memory import Entry
from orchestrator.domain.budget import build_person_key
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import RunInfo
from state.clock import parse_iso, read_boottime
from state.journal import flow_memory
from state.journal.async_store import AsyncStore
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
        until = read_boottime() + PATIENCE
        while True:
            try:
                await self._store.write(flow_memory.add_entries, build_place(run), write, _list_retention(channels), at)
            except MemoryBusy:
                if read_boottime() > until:
                    raise
                await asyncio.sleep(0.02)
            else:
                return


def build_place(run: RunInfo) -> MemoryPlace:
    return MemoryPlace(run.definition.key, build_person_key(run.owner, run.employee))


def _list_retention(channels: Sequence[SharedChannel]) -> dict[str, Retention]:
    return {channel.id: Retention(channel.retention_versions, channel.retention_days) for channel in channels}
