"""The turn to write a stream that several processes write: whoever has it reads what is stored, decides, and stores in one commit.

The turn is the lease of the stream's session, so that one at a time has it, and none that lost it can still commit.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import uuid4

from state.events.base import Event
from state.journal.store import Commit, Lease, StaleEpoch, Store, StoreError

_HELD_FOR: Final = timedelta(seconds=5)
"""How long others wait if the process that writes dies while it does. Whoever takes longer loses the turn to who waits."""


class StreamTurn(NamedTuple):
    """The moment in which one operation alone writes a stream: under which lease, and behind which event."""

    store: Store
    stream: str
    lease: Lease
    head: int
    """The seq of the last event, 0 if there is none."""
    at: datetime
    busy: type[StoreError]

    def commit(self, events: Sequence[Event], actor: str, **rows: Any) -> None:
        """Store the events, with other rows of a `Commit`. Raises `busy` if somebody else has taken the turn meanwhile."""
        step = Commit(stream=self.stream, epoch=self.lease.epoch, actor=actor, now=self.at, events=events, after=self.head, **rows)
        try:
            self.store.commit(step)
        except StaleEpoch as error:
            raise self.busy(f"somebody else has written {self.stream} meanwhile") from error


@contextmanager
def take_stream(store: Store, session: str, at: datetime, busy: type[StoreError]) -> Iterator[StreamTurn]:
    """Let one alone write the stream of this session while the block runs. Raises `busy` if somebody else does."""
    lease = store.acquire(session, f"{session.partition(':')[0]}:{uuid4().hex}", at, at + _HELD_FOR)
    if lease is None:
        raise busy(f"somebody else writes {session}")
    stream = f"session:{session}"
    try:
        yield StreamTurn(store, stream, lease, store.read_head(stream)[0], at, busy)
    finally:
        with suppress(StoreError):  # what was stored is stored: the lease ends by itself
            store.release(lease)
