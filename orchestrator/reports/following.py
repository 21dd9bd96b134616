"""The end of the journal, and what is added to it: each event exactly once, in the order of its stream. Ring 2; changes nothing."""

from collections.abc import Callable, Collection, Iterator, Mapping
from heapq import merge

from orchestrator.reports.reading import paged
from state.store import Store, StoredEvent

Marks = dict[str, int]
"""How far each stream has been shown."""


def marks(store: Store, streams: Collection[str] = ()) -> Marks:
    """Where these streams end now (all without)."""
    return {stream: seq for stream, seq, _ in store.heads() if not streams or stream in streams}


def last_events(store: Store, ends: Mapping[str, int], count: int) -> list[StoredEvent]:
    """The last `count` events of these streams together, up to their ends."""
    if count <= 0:
        return []
    newest: list[StoredEvent] = []
    for stream, seq in ends.items():
        found = [event for event in store.read_events(stream, after=max(0, seq - count), limit=count) if event.seq <= seq]
        newest = list(merge(newest, found, key=_when))[-count:]
    return newest


def follow(store: Store, shown: Marks, wait: Callable[[], bool], streams: Collection[str] = ()) -> Iterator[StoredEvent]:
    """What comes after `shown`, which goes along; between two looks `wait` is called, and ends it by False."""
    while True:
        yield from _new(store, shown, streams)
        if not wait():
            return


def _new(store: Store, shown: Marks, streams: Collection[str]) -> Iterator[StoredEvent]:
    grown = [stream for stream, seq in marks(store, streams).items() if seq > shown.get(stream, 0)]
    for event in merge(*(paged(store, stream, after=shown.get(stream, 0)) for stream in grown), key=_when):
        shown[event.stream] = event.seq
        yield event


def _when(event: StoredEvent) -> str:
    return event.ts
