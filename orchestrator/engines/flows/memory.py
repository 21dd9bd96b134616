"""The channels of memory of a run: what steps wrote, newest last, and what of it a step is told (S002-16, S002-29 … S002-33, S002-X7)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.domain.taint import Origins, Value, combine
from orchestrator.engines.flows.definition import USUAL_LIMIT, USUAL_VERSIONS, Flow, FlowStep, MemoryRead
from state.canonical import dumps

_AUTHOR: Final[Origins] = frozenset({"definition"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a channel. `version` counts from 1 in each channel of a run."""

    version: int
    step: str
    value: Value


class Channels:
    """All channels of one run. One that was not declared keeps what is usual (S002-A7)."""

    def __init__(self, flow: Flow) -> None:
        """Start with empty channels that keep as much as the flow declares."""
        self._kept = {one.id: one.retention_versions for one in flow.memory.shared_channels}
        self._entries: dict[str, list[Entry]] = {}
        self._counts: dict[str, int] = {}

    def write(self, step: FlowStep, output: Value) -> list[tuple[str, Entry]]:
        """Append what a finished step leaves, and return (channel, entry) of each; STATIC without a payload leaves nothing."""
        written: list[tuple[str, Entry]] = []
        for one in step.memory_writes:
            if one.mode == "STATIC" and one.payload is None:
                continue
            value = output if one.mode == "AGENT_OUTPUT" else Value(one.payload, _AUTHOR)
            written.append((one.channel, self._append(one.channel, step.id, value)))
        return written

    def load(self, channel: str, values: Sequence[Value]) -> None:
        """Put what earlier runs left into a channel, oldest first."""
        for value in values:
            self._append(channel, "", value)

    def _append(self, channel: str, step: str, value: Value) -> Entry:
        self._counts[channel] = self._counts.get(channel, 0) + 1
        entry = Entry(self._counts[channel], step, value)
        kept = self._kept.get(channel, USUAL_VERSIONS)
        self._entries[channel] = [*self._entries.get(channel, []), entry][-kept:]
        return entry

    def read(self, reads: Sequence[MemoryRead]) -> list[tuple[str, Value]]:
        """Return (channel, entries as one value, newest first) of each channel that a step reads and that is not empty."""
        told: list[tuple[str, Value]] = []
        for one in reads:
            entries = self._entries.get(one.channel, [])
            newest = entries[::-1][: one.limit if one.limit > 0 else USUAL_LIMIT]
            if newest:
                told.append((one.channel, combine(_list_data, *(entry.value for entry in newest))))
        return told

    def count(self) -> Mapping[str, int]:
        """Return how many entries each channel has got."""
        return dict(self._counts)


def _list_data(*data: object) -> list[object]:
    return list(data)


def render_channel(channel: str, entries: object) -> str:
    """Return the message by which a step is told what a channel holds."""
    return f"Memory of the channel {channel}, newest first:\n{dumps(entries)}"
