"""A flow's memory of a person, each a stream of the journal.

The lease of its session keeps runs from losing each other's entries. Repeat after MemoryBusy.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from state.clock import parse_iso
from state.events.memory import MemoryCleared, MemoryWritten
from state.journal.pages import iterate_events
from state.journal.store import Store, StoredEvent, StoreError
from state.journal.stream_turn import take_stream

_PREFIX: Final = "session:memory:"
_ASKED_AGAIN_FOR: Final = timedelta(days=1)
"""So that a run played again after a crash writes once."""
_PAGE: Final = 500


class MemoryBusy(StoreError):
    pass


class Retention(NamedTuple):
    """So many entries, each for so many days."""

    versions: int
    days: int


USUAL: Final = Retention(versions=10, days=30)
"""For channels that the flow no longer declares (S002-X10)."""


class MemoryPlace(NamedTuple):
    """`person` is the key that all accounts of an employee share."""

    flow: str
    person: str

    @property
    def session(self) -> str:
        return f"{_PREFIX.removeprefix('session:')}{self.flow}:{self.person}"

    @property
    def stream(self) -> str:
        return f"session:{self.session}"


class MemoryEntry(NamedTuple):
    """`origins` are names of `orchestrator.domain.taint.Origin`."""

    channel: str
    data: Any
    origins: Sequence[str]
    at: str = ""
    run: str = ""
    seq: int = 0


class MemoryWrite(NamedTuple):
    """Sealed with the key of the account `owner`."""

    owner: str
    run: str
    node: str
    entries: Sequence[MemoryEntry]


def add_entries(store: Store, place: MemoryPlace, write: MemoryWrite, retention: Mapping[str, Retention], at: datetime) -> bool:
    """Return False if that node has written before. Raises MemoryBusy or another StoreError."""
    with take_stream(store, place.session, at, MemoryBusy) as turn:
        known = _read_events(store, place, turn.head)
        if any(isinstance(one.data, Mapping) and (one.data.get("run"), one.data.get("node")) == (write.run, write.node) for one in known):
            return False
        memory_entries = select_entries([*_list_entries(known), *(one._replace(seq=turn.head + 1) for one in write.entries)], retention, at)
        needed = [one.seq for one in memory_entries] + [one.seq for one in known if at - parse_iso(one.ts) <= _ASKED_AGAIN_FOR]
        event = MemoryWritten(
            definition=place.flow,
            run=write.run,
            node=write.node,
            entries=[{"channel": one.channel, "data": one.data, "origins": list(one.origins)} for one in write.entries],
            retention={channel: list(one) for channel, one in retention.items()},
            kept_from=min([*needed, turn.head + 1]),
        )
        turn.commit([event], write.owner)
    return True


def clear_entries(store: Store, place: MemoryPlace, by: str, at: datetime) -> bool:
    """Return False if there is nothing. Raises MemoryBusy or another StoreError."""
    with take_stream(store, place.session, at, MemoryBusy) as turn:
        if not _list_entries(_read_events(store, place, turn.head)):
            return False
        turn.commit([MemoryCleared(definition=place.flow, by=by)], by)
    return True


def find_end(store: Store, place: MemoryPlace) -> int:
    """Return 0 for a memory never written."""
    return store.read_head(place.stream)[0]


def read_entries(store: Store, place: MemoryPlace, retention: Mapping[str, Retention], at: datetime, end: int) -> list[MemoryEntry]:
    """Return what is remembered at `at` of the events up to `end`, oldest first."""
    return select_entries(_list_entries(_read_events(store, place, end)), retention, at)


def list_entries(store: Store, place: MemoryPlace, at: datetime) -> list[MemoryEntry]:
    """Return what a run would read now under the last retention, oldest first."""
    events = _read_events(store, place, find_end(store, place))
    wrote = [MemoryWritten.from_data(event.data) for event in events if event.type == MemoryWritten.__name__ and not event.erased]
    retention = {channel: Retention(*kept) for channel, kept in wrote[-1].retention.items()} if wrote else {}
    return select_entries(_list_entries(events), retention, at)


def list_places(store: Store) -> list[MemoryPlace]:
    names = (stream.removeprefix(_PREFIX).partition(":") for stream, _, _ in store.list_heads() if stream.startswith(_PREFIX))
    return sorted(MemoryPlace(flow, person) for flow, _, person in names)


def select_entries(entries: Sequence[MemoryEntry], retention: Mapping[str, Retention], at: datetime) -> list[MemoryEntry]:
    """Keep those young enough and not replaced by newer ones."""
    left: dict[str, int] = {}
    memory_entries: list[MemoryEntry] = []
    for memory_entry in reversed(entries):
        keeps = retention.get(memory_entry.channel, USUAL)
        if memory_entry.at and at - parse_iso(memory_entry.at) > timedelta(days=keeps.days):
            continue
        if left.setdefault(memory_entry.channel, keeps.versions) > 0:
            left[memory_entry.channel] -= 1
            memory_entries.append(memory_entry)
    return memory_entries[::-1]


def _read_events(store: Store, place: MemoryPlace, end: int) -> list[StoredEvent]:
    last = store.read_events(place.stream, after=end - 1, limit=1) if end else []
    if not last:
        return []
    return list(iterate_events(store, place.stream, int(last[0].data.get("kept_from", end)) - 1, end, page=_PAGE))


def _list_entries(events: Sequence[StoredEvent]) -> list[MemoryEntry]:
    memory_entries: list[MemoryEntry] = []
    for event in events:
        if event.type == MemoryCleared.__name__:
            memory_entries.clear()
        elif event.type == MemoryWritten.__name__ and not event.erased:
            wrote = MemoryWritten.from_data(event.data)
            memory_entries += [
                MemoryEntry(one["channel"], one["data"], one["origins"], at=event.ts, run=wrote.run, seq=event.seq) for one in wrote.entries
            ]
    return memory_entries
