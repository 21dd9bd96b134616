from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Final, Protocol, TypeVar

from state.journal.async_store import AsyncStore
from state.journal.store import ClearEvent, StoredEvent

PAGE: Final = 1000


class EventReader(Protocol):
    """A store, or one that skips damaged records."""

    def read_events(self, stream: str, after: int = 0, limit: int = 1000) -> list[StoredEvent]: ...


E = TypeVar("E", StoredEvent, ClearEvent)


def iterate_events(store: EventReader, stream: str, after: int = 0, end: int | None = None, *, page: int = PAGE) -> Iterator[StoredEvent]:
    """Yield those after seq `after` and up to `end`, in order."""
    while (end is None or after < end) and (events := store.read_events(stream, after=after, limit=page)):
        yield from (event for event in events if end is None or event.seq <= end)
        after = events[-1].seq


async def iterate_later(store: AsyncStore, stream: str, after: int = 0) -> AsyncIterator[StoredEvent]:
    while events := await store.read_events(stream, after=after, limit=PAGE):
        for event in events:
            yield event
        after = events[-1].seq


def iterate_scan(scan: Callable[[Sequence[str], str, int], list[E]], types: Sequence[str], after: str = "") -> Iterator[E]:
    """Yield what `Store.scan` or `Store.scan_clear` finds."""
    while events := scan(types, after, PAGE):
        yield from events
        after = events[-1].id
