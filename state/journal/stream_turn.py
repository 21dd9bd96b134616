"""The turn to write a stream that several processes write: its session's lease."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import uuid4

from state.events.base import Event
from state.journal.store import Commit, Lease, StaleEpoch, Store, StoreError

_HELD_FOR: Final = timedelta(seconds=5)
"""Who takes longer loses the turn."""


class StreamTurn(NamedTuple):
    store: Store
    stream: str
    lease: Lease
    head: int
    at: datetime
    busy: type[StoreError]

    def commit(self, events: Sequence[Event], actor: str, **rows: Any) -> None:
        """Raises `busy` if somebody else took the turn meanwhile."""
        step = Commit(stream=self.stream, epoch=self.lease.epoch, actor=actor, now=self.at, events=events, after=self.head, **rows)
        try:
            self.store.commit(step)
        except StaleEpoch as error:
            raise self.busy(f"somebody else has written {self.stream} meanwhile") from error


@contextmanager
def take_stream(store: Store, session: str, at: datetime, busy: type[StoreError]) -> Iterator[StreamTurn]:
    """Raises `busy` if somebody else writes the stream."""
    lease = store.acquire(session, f"{session.partition(':')[0]}:{uuid4().hex}", at, at + _HELD_FOR)
    if lease is None:
        raise busy(f"somebody else writes {session}")
    stream = f"session:{session}"
    try:
        yield StreamTurn(store, stream, lease, store.read_head(stream)[0], at, busy)
    finally:
        with suppress(StoreError):  # what was stored is stored: the lease ends by itself
            store.release(lease)
