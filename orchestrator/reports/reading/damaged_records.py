"""Reads the journal although some records are damaged. A record that cannot be decrypted is returned blank and marked. Reads only.

To find and report damage is the task of `sdelka journal verify`. Here a damaged record must only not hide the intact ones.
"""

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
"""The id, the type, the text and the hash of a stored record."""


class UnreadableEvent(StoredEvent):
    """An event whose encrypted part, the personal fields, cannot be read. For readers these fields are blank, and `erased` is set, too."""


class DamageTolerantStore:
    """A store that reads past damaged records and lists them in `damaged_records` as (stream, sequence number).

    Methods that do not read events are passed on to the wrapped store.
    """

    def __init__(self, store: Store) -> None:
        """Keep the store to read from; nothing is read yet."""
        self._store = store
        self._order: list[Record] = []
        """All stored records by id; filled at the first damage, since the store cannot list ids past a damaged record."""
        self.damaged_records: set[tuple[str, int]] = set()

    def __getattr__(self, name: str) -> Any:
        """Return the attribute of the wrapped store, for every method that does not read events."""
        return getattr(self._store, name)

    def read_events(self, stream: str, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """Return the events of a stream as the wrapped store does, but return a damaged one blank instead of raising an error."""
        try:
            return self._store.read_events(stream, after, limit)
        except DamagedCiphertext:
            records = self._store.read_records(stream, after, limit)
            return self._read_halved(
                [(_parse_clear(raw, hash_).id, "", raw, hash_) for _, raw, hash_ in records], self._build_stream_read(stream)
            )

    def scan(self, types: Sequence[str] = (), after: str = "", limit: int = 1000) -> list[StoredEvent]:
        """Return the events of all streams as the wrapped store does, but return a damaged one blank instead of raising an error."""
        try:
            return self._store.scan(types, after, limit)
        except DamagedCiphertext:
            wanted = [record for record in self._list_all() if record[0] > after and (not types or record[1] in types)]
            return self._read_halved(wanted[:limit], lambda first, count: self._store.scan(types, first[:-1], count))

    def scan_back(self, types: Sequence[str] = (), before: str = "", limit: int = 1000) -> list[StoredEvent]:
        """Return events of all streams, the newest first, as the wrapped store does, but return a damaged one blank."""
        try:
            return self._store.scan_back(types, before, limit)
        except DamagedCiphertext:
            wanted = [record for record in self._list_all() if (not before or record[0] < before) and (not types or record[1] in types)]
            return self._read_halved(wanted[-limit:], lambda first, count: self._store.scan(types, first[:-1], count))[::-1]

    def _build_stream_read(self, stream: str) -> Callable[[str, int], list[StoredEvent]]:
        """Return a function (id, count) that reads `count` events of the stream, beginning with the event that has this id.

        If `count` is 1, it reads the event by its id. Reading a page of the stream may decrypt one event more, and that one may be damaged.
        """

        def read(first: str, count: int) -> list[StoredEvent]:
            if count == 1:
                return self._store.scan((), first[:-1], 1)
            start = self._store.scan((), first[:-1], 1)[0].seq
            return self._store.read_events(stream, start - 1, count)

        return read

    def _read_halved(self, records: Sequence[Record], read: Callable[[str, int], list[StoredEvent]]) -> list[StoredEvent]:
        """Return the events of these records, the damaged ones blank.

        If reading them together fails because of damage, each half is read on its own, and so on, until the damaged record is alone. `read`
        takes the id of the first record and the number of records.
        """
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
    """Return a stored record as an event without decrypting it; its personal fields, still encrypted, have to be blanked by the caller."""
    return UnreadableEvent(**orjson.loads(raw), raw=raw, prev="", hash=hash_, erased=True)
