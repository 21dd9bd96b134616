"""Operations on the blocks of a record: read them, and add events to them. They are a stream of their own in the journal.

Whoever writes holds the lease of that stream's session for the moment, so that of two runs on one record only one opens a block. Call them
with `AsyncStore.read` and `AsyncStore.write`; repeat an operation that raises BlocksBusy.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeVar

from state.clock import parse_iso
from state.events.base import Event
from state.events.blocks import BlockOpened
from state.journal.pages import iterate_events
from state.journal.store import Store, StoreError
from state.journal.stream_turn import take_stream
from state.model.record_blocks import Block, BlockEvent, fold_blocks
from state.stored import convert

MOST_BLOCKS: Final = 100
KEPT_FOR: Final = timedelta(days=365)
"""How many blocks of a record are remembered, and for how long: older ones are read by nobody."""
_PREFIX: Final = "session:block:"
_PAGE: Final = 200
T = TypeVar("T")
Decide = Callable[[Sequence[Block]], tuple[Sequence[Event], T]]
"""Returns for the blocks as they are the events to add, and an answer."""


class BlocksBusy(StoreError):
    """Somebody else writes the blocks of the same record at the moment."""


class RecordPlace(NamedTuple):
    """Whose blocks: those of a record of the CRM, by its kind and number."""

    kind: str
    number: int

    @property
    def session(self) -> str:
        """The session whose stream holds them."""
        return f"{_PREFIX.removeprefix('session:')}{self.kind}:{self.number}"

    @property
    def stream(self) -> str:
        """The stream that holds them."""
        return f"session:{self.session}"


def read_blocks(store: Store, place: RecordPlace) -> tuple[Block, ...]:
    """Return the blocks that are remembered, oldest first."""
    return fold_blocks(_read_events(store, place, store.read_head(place.stream)[0]))


def change_blocks(store: Store, place: RecordPlace, decide: Decide[T], owner: str, at: datetime) -> T:
    """Add the events that `decide` names, sealed under the key of `owner`, and return its answer.

    Raises BlocksBusy or another StoreError; nothing was stored then.
    """
    with take_stream(store, place.session, at, BlocksBusy) as turn:
        events, answer = decide(fold_blocks(_read_events(store, place, turn.head)))
        if events:
            turn.commit(list(events), owner)
    return answer


def find_kept_from(blocks: Sequence[Block], at: datetime) -> int:
    """Return the seq of the first event that is still needed when one more block is opened at this time; 1 if none was opened before."""
    kept = [block.seq for block in blocks[-(MOST_BLOCKS - 1) :] if at - parse_iso(block.at) <= KEPT_FOR]
    return (kept or [block.seq for block in blocks[-1:]] or [1])[0]


def _read_events(store: Store, place: RecordPlace, end: int) -> list[BlockEvent]:
    """Return the events up to `end` that still matter, oldest first: from the place on that the last opening names."""
    kept = iterate_events(store, place.stream, _find_start(store, place, end) - 1, end, page=_PAGE)
    return [convert(event, BlockEvent) for event in kept]


def _find_start(store: Store, place: RecordPlace, end: int) -> int:
    """Return the seq of the first event that is needed, reading backwards to the last opening."""
    last = end
    while last > 0:
        first = max(0, last - _PAGE)
        page = [event for event in store.read_events(place.stream, after=first, limit=_PAGE) if event.seq <= last]
        opened = next((one for one in reversed(page) if one.type == BlockOpened.__name__), None)
        if opened is not None:
            return int(opened.data.get("kept_from", 1))
        last = first
    return 1
