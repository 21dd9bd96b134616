"""The channels of memory of a run: what steps wrote, newest last, and what of it a step is told (S002-16, S002-29 … S002-33, S002-X7)."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from engines.flows.core.definition import USUAL_DAYS, USUAL_LIMIT, USUAL_VERSIONS, Flow, FlowStep, MemoryRead
from engines.flows.core.person_memory import Entry, LongChannels
from orchestrator.domain.taint import Origins, Value, combine
from state.canonical import dumps

_AUTHOR: Final[Origins] = frozenset({"definition"})


class Channels:
    """All channels of one run. One that was not declared keeps what is usual (S002-A7).

    Times are given by whoever writes and reads.
    """

    def __init__(self, flow: Flow, long: LongChannels | None = None) -> None:
        """Start with empty channels that keep as much as the flow declares; `long` keeps those that outlive the run, None keeps none."""
        self._long = long
        self._declared = {shared_channel.id: shared_channel for shared_channel in flow.memory.shared_channels}
        self._entries: dict[str, list[Entry]] = {}

    async def load(self) -> None:
        """Begin with what earlier runs of the person left."""
        if self._long is not None:
            self._entries = {channel: list(entries) for channel, entries in (await self._long.load()).items()}

    async def write(self, step: FlowStep, output: Value, at: datetime, *, place: str) -> None:
        """Append what a visit of a step leaves, and keep what outlives the run; `place` is the visit's node. Raises RunFailed."""
        written = self.append(step, output, at)
        if self._long is not None:
            await self._long.keep(place, written)

    def append(self, step: FlowStep, output: Value, at: datetime) -> Sequence[Entry]:
        """Append what a step leaves at this time, and return it; STATIC without a payload leaves nothing."""
        written: list[Entry] = []
        for one in step.memory_writes:
            if one.mode == "AGENT_OUTPUT":
                written.append(Entry(one.channel, output, at))
            elif one.payload is not None:
                written.append(Entry(one.channel, Value(one.payload, _AUTHOR), at))
        for entry in written:
            self._entries[entry.channel] = [*self._entries.get(entry.channel, []), entry][-self._find_declared(entry.channel)[0] :]
        return written

    def _find_declared(self, channel: str) -> tuple[int, timedelta]:
        """Return how many entries a channel keeps, and for how long each."""
        one = self._declared.get(channel)
        versions, days = (one.retention_versions, one.retention_days) if one is not None else (USUAL_VERSIONS, USUAL_DAYS)
        return versions, timedelta(days=days)

    def count_too_old(self, reads: Sequence[MemoryRead], at: datetime) -> dict[str, int]:
        """Return by channel how many of its entries, the oldest, it keeps no longer at this time; a channel that keeps all is left out."""
        counts: dict[str, int] = {}
        for one in reads:
            _, age = self._find_declared(one.channel)
            entries = self._entries.get(one.channel, [])
            if found := sum(at - entry.at > age for entry in entries if entry.at is not None):
                counts[one.channel] = found
        return counts

    def read(self, reads: Sequence[MemoryRead], too_old: Mapping[str, int]) -> list[tuple[str, Value]]:
        """Return (channel, entries as one value, newest first) of each channel that a step reads and that holds something.

        Of each channel as many of the oldest entries are left out as `too_old` says.
        """
        told: list[tuple[str, Value]] = []
        for one in reads:
            kept = self._entries.get(one.channel, [])[too_old.get(one.channel, 0) :]
            newest = [entry.value for entry in kept[::-1][: one.limit if one.limit > 0 else USUAL_LIMIT]]
            if newest:
                told.append((one.channel, combine(_list_data, *newest)))
        return told


def _list_data(*data: object) -> list[object]:
    return list(data)


def render_channel(channel: str, entries: object) -> str:
    """Return the message by which a step is told what a channel holds."""
    return f"Memory of the channel {channel}, newest first:\n{dumps(entries)}"
