"""Reads the journal past damaged records, which come back blank and marked."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import orjson

from state.events import codec
from state.journal import encryption
from state.journal.encryption import DamagedCiphertext
from state.journal.store import Store, StoredEvent

UNREADABLE_TEXT: Final = "(cannot be read: run `sdelka journal verify`)"
PAGE: Final = 1000
Record = tuple[str, str, str, str]
"""(id, type, text, hash) of a stored record."""


class UnreadableEvent(StoredEvent):
    """Its encrypted fields are blank, and `erased` is set, too."""


class DamageTolerantStore:
    """`damaged_records` lists what it read past, as (stream, sequence number).

    Other methods are the wrapped store's.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._order: list[Record] = []
        """Filled at the first damage, since the store cannot list ids past it."""
        self.damaged_records: set[tuple[str, int]] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def read_events(self, stream: str, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """A damaged event comes blank instead of as an error."""
        try:
            return self._store.read_events(stream, after, limit)
        except DamagedCiphertext:
            records = self._store.read_records(stream, after, limit)
            return self._read_halved(
                [(_parse_clear(raw, hash_).id, "", raw, hash_) for _, raw, hash_ in records], self._build_stream_read(stream)
            )

    def scan(self, types: Sequence[str] = (), after: str = "", limit: int = 1000) -> list[StoredEvent]:
        """A damaged event comes blank instead of as an error."""
        try:
            return self._store.scan(types, after, limit)
        except DamagedCiphertext:
            records = [record for record in self._list_all() if record[0] > after and (not types or record[1] in types)]
            return self._read_halved(records[:limit], lambda first, count: self._store.scan(types, first[:-1], count))

    def scan_back(self, types: Sequence[str] = (), before: str = "", limit: int = 1000) -> list[StoredEvent]:
        """The newest first; a damaged event comes blank."""
        try:
            return self._store.scan_back(types, before, limit)
        except DamagedCiphertext:
            records = [record for record in self._list_all() if (not before or record[0] < before) and (not types or record[1] in types)]
            return self._read_halved(records[-limit:], lambda first, count: self._store.scan(types, first[:-1], count))[::-1]

    def _build_stream_read(self, stream: str) -> Callable[[str, int], list[StoredEvent]]:
        """(id, count) → events from this id on.

        A single one is read by id, as a page may decrypt a damaged neighbour.
        """

        def read(first: str, count: int) -> list[StoredEvent]:
            if count == 1:
                return self._store.scan((), first[:-1], 1)
            start = self._store.scan((), first[:-1], 1)[0].seq
            return self._store.read_events(stream, start - 1, count)

        return read

    def _read_halved(self, records: Sequence[Record], read: Callable[[str, int], list[StoredEvent]]) -> list[StoredEvent]:
        """Halves them until the damaged one is alone. `read` takes the first id and the count."""
        if not records:
            return []
        try:
            return read(records[0][0], len(records))
        except DamagedCiphertext:
            if len(records) == 1:
                return [self._build_blank(*records[0][2:])]
        middle = len(records) // 2
        return [*self._read_halved(records[:middle], read), *self._read_halved(records[middle:], read)]

    def _build_blank(self, raw: str, hash_: str) -> UnreadableEvent:
        event = _parse_clear(raw, hash_)
        clear = {name: value for name, value in event.data.items() if name != encryption.FIELD}
        self.damaged_records.add((event.stream, event.seq))
        return event._replace(data=codec.join_parts(event.type, event.v, clear, {}))

    def _list_all(self) -> list[Record]:
        if not self._order:
            for stream in self._store.list_streams():
                after = 0
                while page := self._store.read_records(stream, after, PAGE):
                    events = [_parse_clear(raw, hash_) for _, raw, hash_ in page]
                    self._order.extend((event.id, event.type, event.raw, event.hash) for event in events)
                    after = page[-1][0]
            self._order.sort()
        return self._order


def _parse_clear(raw: str, hash_: str) -> UnreadableEvent:
    """Does not decrypt: the caller blanks the personal fields."""
    return UnreadableEvent(**orjson.loads(raw), raw=raw, hash=hash_, erased=True)
