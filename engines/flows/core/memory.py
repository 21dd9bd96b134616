"""The channels of memory of a run (S002-16, S002-29…33, S002-X7)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from engines.flows.core.definition import USUAL_DAYS, USUAL_LIMIT, USUAL_VERSIONS, Flow, FlowStep, MemoryRead, SharedChannel
from orchestrator.domain.taint import Origins, Value, combine, join_origins
from orchestrator.engines.runs import RunContext, RunFailed, RunInfo
from state.canonical import dumps
from state.stored import JsonObject

MOST_ENTRY: Final = 200_000
"""Characters of JSON in one entry."""
MOST_READ: Final = 500_000
"""Characters of JSON that a run reads of a channel, newest entries first."""
SHADOW: Final = "shadow"


@dataclass(frozen=True, slots=True)
class Entry:
    channel: str
    value: Value
    at: datetime | None = None
    """None if not known, as of one that is being written."""


class PersonMemory(Protocol):
    """Stores what runs of a flow leave for later runs of the same person; `run` names both."""

    async def find_end(self, run: RunInfo, /) -> int:
        """A mark for what is stored by now, which `read` takes."""

    async def read(self, run: RunInfo, channels: Sequence[SharedChannel], at: datetime, end: int, /) -> Sequence[Entry]:
        """Return what the channels hold of what was stored up to the mark, oldest first."""

    async def write(self, run: RunInfo, node: str, entries: Sequence[Entry], channels: Sequence[SharedChannel], at: datetime, /) -> None:
        """Store durably, once for each node of a run. `channels` are those that the flow declares."""


class NoMemory:
    async def find_end(self, _run: RunInfo, /) -> int:
        return 0

    async def read(self, _run: RunInfo, _channels: Sequence[SharedChannel], _at: datetime, _end: int, /) -> Sequence[Entry]:
        return ()

    async def write(
        self, _run: RunInfo, _node: str, _entries: Sequence[Entry], _channels: Sequence[SharedChannel], _at: datetime, /
    ) -> None: ...


class LongChannels:
    def __init__(self, ctx: RunContext, flow: Flow, memory: PersonMemory) -> None:
        self._ctx, self._memory = ctx, memory
        self._declared = [shared_channel for shared_channel in flow.memory.shared_channels if shared_channel.scope == "user"]
        read = {one.channel for step in flow.steps for one in step.memory_reads}
        self._read = [shared_channel for shared_channel in self._declared if shared_channel.id in read]

    async def load(self) -> Mapping[str, Sequence[Entry]]:
        """Oldest first, by channel; the same in a replay."""
        if not self._read:
            return {}
        index = (await self._ctx.memo("memory", self._look, origins=_AUTHOR)).data
        return {channel.id: await self._load_channel(channel, index) for channel in self._read if channel.id in index["origins"]}

    async def _look(self) -> dict[str, Any]:
        at, end = self._ctx.now, await self._memory.find_end(self._ctx.run)
        origins = {one.id: sorted(join_origins(entry.value for entry in await self._find_entries(one, at, end))) for one in self._read}
        return {"at": at.isoformat(), "end": end, "origins": {name: origin for name, origin in origins.items() if origin}}

    async def _load_channel(self, channel: SharedChannel, index: Mapping[str, Any]) -> list[Entry]:
        at = datetime.fromisoformat(index["at"])

        async def read() -> list[JsonObject]:
            entries = await self._find_entries(channel, at, index["end"])
            return [{**one.value.to_stored(), "at": (one.at or at).isoformat()} for one in entries]

        declared: Origins = frozenset(index["origins"][channel.id])
        stored_entries = await self._ctx.memo(f"memory/{channel.id}/entries", read, origins=declared)
        more = stored_entries.origins - declared  # what the run itself found foreign in these texts
        entries: list[Entry] = []
        for stored in stored_entries.data:
            value = Value.from_stored(stored)
            entries.append(
                Entry(channel.id, Value(value.data, value.origins | more), datetime.fromisoformat(stored.get("at", index["at"])))
            )
        return entries

    async def _find_entries(self, channel: SharedChannel, at: datetime, end: int) -> list[Entry]:
        fitting: list[Entry] = []
        length = 0
        for entry in reversed(await self._memory.read(self._ctx.run, [channel], at, end)):
            length += len(dumps(entry.value.data))
            if length > MOST_READ:
                break
            fitting.append(entry)
        return fitting[::-1]

    async def keep(self, place: str, new_entries: Sequence[Entry]) -> None:
        """Store what a visit left, nothing in shadow mode. Raises RunFailed if an entry is too large."""
        declared_ids = {shared_channel.id for shared_channel in self._declared}
        entries = [new_entry for new_entry in new_entries if new_entry.channel in declared_ids]
        if not entries:
            return
        for new_entry in entries:
            if (length := len(dumps(new_entry.value.data))) > MOST_ENTRY:
                raise RunFailed("run-large-value", f"an entry of {new_entry.channel} has {length} characters", node=place, most=MOST_ENTRY)
        node = f"{place}/memory"

        async def write() -> int:
            if self._ctx.mode == SHADOW:
                return 0
            await self._memory.write(self._ctx.run, node, entries, self._declared, self._ctx.now)
            return len(entries)

        await self._ctx.memo(node, write, origins=_AUTHOR)


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
