"""The channels of memory of a run (S002-16, S002-29…33, S002-X7)."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from engines.flows.core.definition import USUAL_DAYS, USUAL_LIMIT, USUAL_VERSIONS, Flow, FlowStep, MemoryRead
from engines.flows.core.person_memory import Entry, LongChannels
from orchestrator.domain.taint import Origins, Value, combine
from state.canonical import dumps

_AUTHOR: Final[Origins] = frozenset({"definition"})


class Channels:
    """The channels of one run; an undeclared one has the usual limits (S002-A7)."""

    def __init__(self, flow: Flow, long: LongChannels | None = None) -> None:
        """`long` keeps what outlives the run; None keeps nothing."""
        self._long = long
        self._declared = {shared_channel.id: shared_channel for shared_channel in flow.memory.shared_channels}
        self._entries: dict[str, list[Entry]] = {}

    async def load(self) -> None:
        if self._long is not None:
            self._entries = {channel: list(entries) for channel, entries in (await self._long.load()).items()}

    async def write(self, step: FlowStep, output: Value, at: datetime, *, place: str) -> None:
        """Append what a visit leaves, and store what outlives the run; `place` is the visit's node. Raises RunFailed."""
        new_entries = self.append(step, output, at)
        if self._long is not None:
            await self._long.keep(place, new_entries)

    def append(self, step: FlowStep, output: Value, at: datetime) -> Sequence[Entry]:
        """STATIC without a payload leaves nothing."""
        new_entries: list[Entry] = []
        for write in step.memory_writes:
            if write.mode == "AGENT_OUTPUT":
                new_entries.append(Entry(write.channel, output, at))
            elif write.payload is not None:
                new_entries.append(Entry(write.channel, Value(write.payload, _AUTHOR), at))
        for entry in new_entries:
            self._entries[entry.channel] = [*self._entries.get(entry.channel, []), entry][-self._find_declared(entry.channel)[0] :]
        return new_entries

    def _find_declared(self, channel: str) -> tuple[int, timedelta]:
        declared_channel = self._declared.get(channel)
        versions, days = (
            (declared_channel.retention_versions, declared_channel.retention_days)
            if declared_channel is not None
            else (USUAL_VERSIONS, USUAL_DAYS)
        )
        return versions, timedelta(days=days)

    def count_too_old(self, reads: Sequence[MemoryRead], at: datetime) -> dict[str, int]:
        """Count the expired entries by channel; channels without any are left out."""
        counts: dict[str, int] = {}
        for read in reads:
            _, age = self._find_declared(read.channel)
            entries = self._entries.get(read.channel, [])
            if old_count := sum(at - entry.at > age for entry in entries if entry.at is not None):
                counts[read.channel] = old_count
        return counts

    def read(self, reads: Sequence[MemoryRead], too_old: Mapping[str, int]) -> list[tuple[str, Value]]:
        """Return (channel, entries as one value, newest first), without the `too_old` oldest and without empty channels."""
        channel_values: list[tuple[str, Value]] = []
        for read in reads:
            recent = self._entries.get(read.channel, [])[too_old.get(read.channel, 0) :]
            newest = [entry.value for entry in recent[::-1][: read.limit if read.limit > 0 else USUAL_LIMIT]]
            if newest:
                channel_values.append((read.channel, combine(_list_data, *newest)))
        return channel_values


def _list_data(*data: object) -> list[object]:
    return list(data)


def render_channel(channel: str, entries: object) -> str:
    return f"Memory of the channel {channel}, newest first:\n{dumps(entries)}"
