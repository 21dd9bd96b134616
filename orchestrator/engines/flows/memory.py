"""The channels of memory of a run: what steps wrote, newest last, and what of it a step is told (S002-16, S002-29 … S002-33, S002-X7)."""

from collections.abc import Sequence
from typing import Final

from orchestrator.domain.taint import Origins, Value, combine
from orchestrator.engines.flows.definition import USUAL_LIMIT, USUAL_VERSIONS, Flow, FlowStep, MemoryRead
from orchestrator.engines.flows.person_memory import Entry, LongChannels
from state.canonical import dumps

_AUTHOR: Final[Origins] = frozenset({"definition"})


class Channels:
    """All channels of one run. One that was not declared keeps what is usual (S002-A7)."""

    def __init__(self, flow: Flow, long: LongChannels | None = None) -> None:
        """Start with empty channels that keep as much as the flow declares; `long` keeps those that outlive the run, None keeps none."""
        self._long = long
        self._kept = {one.id: one.retention_versions for one in flow.memory.shared_channels}
        self._entries: dict[str, list[Value]] = {}

    async def load(self) -> None:
        """Begin with what earlier runs of the person left."""
        if self._long is not None:
            self._entries = {channel: list(entries) for channel, entries in (await self._long.load()).items()}

    async def write(self, step: FlowStep, output: Value, *, place: str) -> None:
        """Append what a visit of a step leaves, and keep what outlives the run; `place` is the visit's node. Raises RunFailed."""
        written = self.append(step, output)
        if self._long is not None:
            await self._long.keep(place, written)

    def append(self, step: FlowStep, output: Value) -> Sequence[Entry]:
        """Append what a step leaves, and return it; STATIC without a payload leaves nothing."""
        written: list[Entry] = []
        for one in step.memory_writes:
            if one.mode == "AGENT_OUTPUT":
                written.append(Entry(one.channel, output))
            elif one.payload is not None:
                written.append(Entry(one.channel, Value(one.payload, _AUTHOR)))
        for entry in written:
            self._append(entry.channel, entry.value)
        return written

    def _append(self, channel: str, value: Value) -> None:
        kept = self._kept.get(channel, USUAL_VERSIONS)
        self._entries[channel] = [*self._entries.get(channel, []), value][-kept:]

    def read(self, reads: Sequence[MemoryRead]) -> list[tuple[str, Value]]:
        """Return (channel, entries as one value, newest first) of each channel that a step reads and that is not empty."""
        told: list[tuple[str, Value]] = []
        for one in reads:
            entries = self._entries.get(one.channel, [])
            newest = entries[::-1][: one.limit if one.limit > 0 else USUAL_LIMIT]
            if newest:
                told.append((one.channel, combine(_list_data, *newest)))
        return told


def _list_data(*data: object) -> list[object]:
    return list(data)


def render_channel(channel: str, entries: object) -> str:
    """Return the message by which a step is told what a channel holds."""
    return f"Memory of the channel {channel}, newest first:\n{dumps(entries)}"
