"""Operations on a record's blocks, a stream of the journal.

Of two runs on a record only one opens a block. Repeat after BlocksBusy.
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

MOST_BLOCKS: Final = 100
KEPT_FOR: Final = timedelta(days=365)
_PREFIX: Final = "session:block:"
_PAGE: Final = 200
T = TypeVar("T")
Decide = Callable[[Sequence[Block]], tuple[Sequence[Event], T]]
"""Returns the events to add, and an answer."""


class BlocksBusy(StoreError):
    pass


class RecordPlace(NamedTuple):
    kind: str
    number: int

    @property
    def session(self) -> str:
        return f"{_PREFIX.removeprefix('session:')}{self.kind}:{self.number}"

    @property
    def stream(self) -> str:
        return f"session:{self.session}"


def read_blocks(store: Store, place: RecordPlace) -> tuple[Block, ...]:
    return fold_blocks(_read_events(store, place, store.read_head(place.stream)[0]))


def change_blocks(store: Store, place: RecordPlace, decide: Decide[T], owner: str, at: datetime) -> T:
    """Return the answer of `decide`. Raises BlocksBusy or another StoreError; nothing was stored then."""
    with take_stream(store, place.session, at, BlocksBusy) as turn:
        events, answer = decide(fold_blocks(_read_events(store, place, turn.head)))
        if events:
            turn.commit(list(events), owner)
    return answer


def find_kept_from(blocks: Sequence[Block], at: datetime) -> int:
    """Return the first seq still needed once one more block is opened."""
    remembered = [block.seq for block in blocks[-(MOST_BLOCKS - 1) :] if at - parse_iso(block.at) <= KEPT_FOR]
    return (remembered or [block.seq for block in blocks[-1:]] or [1])[0]


def _read_events(store: Store, place: RecordPlace, end: int) -> list[BlockEvent]:
    needed = iterate_events(store, place.stream, _find_start(store, place, end) - 1, end, page=_PAGE)
    return [BlockEvent(type=event.type, data=event.data, seq=event.seq, ts=event.ts, erased=event.erased) for event in needed]


def _find_start(store: Store, place: RecordPlace, end: int) -> int:
    last = end
    while last > 0:
        first = max(0, last - _PAGE)
        page = [event for event in store.read_events(place.stream, after=first, limit=_PAGE) if event.seq <= last]
        opened = next((one for one in reversed(page) if one.type == BlockOpened.__name__), None)
        if opened is not None:
            return int(opened.data.get("kept_from", 1))
        last = first
    return 1
