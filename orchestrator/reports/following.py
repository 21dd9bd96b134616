"""The end of the journal, and what is added to it: each event exactly once, in the order of its stream. Ring 2; changes nothing."""

from collections.abc import Callable, Collection, Iterator, Mapping
from heapq import merge

from orchestrator.reports.reading import read_stream
from state.store import Store, StoredEvent

StreamPositions = dict[str, int]
"""How far each stream has been shown."""


def read_positions(store: Store, streams: Collection[str] = ()) -> StreamPositions:
    """Where these streams end now (all without)."""
    return {stream: seq for stream, seq, _ in store.list_heads() if not streams or stream in streams}


def read_last_events(store: Store, ends: Mapping[str, int], count: int) -> list[StoredEvent]:
    """The last `count` events of these streams together, up to their ends."""
    if count <= 0:
        return []
    newest: list[StoredEvent] = []
    for stream, seq in ends.items():
        found = [event for event in store.read_events(stream, after=max(0, seq - count), limit=count) if event.seq <= seq]
        newest = list(merge(newest, found, key=_get_time))[-count:]
    return newest


def watch_events(store: Store, shown: StreamPositions, wait: Callable[[], bool], streams: Collection[str] = ()) -> Iterator[StoredEvent]:
    """What comes after `shown`, which goes along; between two looks `wait` is called, and ends it by False."""
    while True:
        yield from _read_new(store, shown, streams)
        if not wait():
            return


def _read_new(store: Store, shown: StreamPositions, streams: Collection[str]) -> Iterator[StoredEvent]:
    grown = [stream for stream, seq in read_positions(store, streams).items() if seq > shown.get(stream, 0)]
    for event in merge(*(read_stream(store, stream, after=shown.get(stream, 0)) for stream in grown), key=_get_time):
        shown[event.stream] = event.seq
        yield event


def _get_time(event: StoredEvent) -> str:
    return event.ts
