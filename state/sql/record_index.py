"""The table `mentions`: filled for an older database, and compared with the journal.

Damaged records give no rows.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, NamedTuple

import orjson
from sqlalchemy import Connection, Select, func, literal, select, tuple_

from state.events import codec
from state.events.codec import UnknownEvent
from state.findings import Finding
from state.journal import encryption
from state.journal.encryption import DamagedCiphertext
from state.journal.record_index import TYPES, IndexEntry, index_event
from state.sql import row_mapping as rows
from state.sql.checksummed_json import DamagedRow, decode_checksummed
from state.sql.tables import effects, events, person_keys
from state.sql.tables import mentions as table

SLICE: Final = 500
MAX_NAMED: Final = 20
TELL_EVERY: Final = 20_000

Ask = Callable[[Select[Any]], Sequence[Any]]
_LOOK: Final = "RecordsSeen"
_EVENT: Final = tuple(events.c[name] for name in ("stream", "seq", "id", "ts", "type", "v", "actor", "data", "hash"))
_KEY: Final = (table.c.about, table.c.what, table.c.event_id)
_ROW: Final = (*_KEY, table.c.effect_id)
_NO_SENSE: Final = (DamagedCiphertext, UnknownEvent, ValueError, LookupError, TypeError, AttributeError)


class PlacedEntry(NamedTuple):
    stream: str
    seq: int
    mention: IndexEntry


@dataclass
class _Sum:
    """A count and a checksum that does not depend on the order."""

    rows: int = 0
    digest: int = 0

    def add(self, index_entries: Iterable[IndexEntry]) -> None:
        for index_entry in index_entries:
            self.rows += 1
            self.digest ^= int.from_bytes(sha256("\n".join(index_entry).encode()).digest())


def fill_record_index(connection: Connection, tell: Callable[[int, int], None]) -> None:
    """`tell` gets (records read, total)."""
    ask = build_tolerant_ask(connection)
    total = connection.execute(select(func.count()).where(events.c.type.in_(TYPES))).scalar_one()
    seen = last_tell = 0
    for count, placed in _project(ask):
        seen += count
        if placed:
            connection.execute(table.insert(), [one.mention._asdict() for one in placed])
        if seen - last_tell >= TELL_EVERY:
            last_tell = seen
            tell(seen, total)


def find_differences(ask: Ask) -> list[Finding]:
    """List at most 20, and the number of others; correct while others commit."""
    expected, there = _Sum(), _Sum()
    for _, placed in _project(ask):
        expected.add(one.mention for one in placed)
    for page in _load_stored(ask):
        there.add(page)
    if expected == there:
        return []
    # An event and its row are stored in one transaction: whichever of them is read first, the other is there when it is looked up.
    findings = [*_find_missing(ask), *_find_unfounded(ask)]
    more = len(findings) - MAX_NAMED
    return findings[:MAX_NAMED] + (
        [Finding(kind="inconsistent", place=f"table {table.name}", why=f"{more} more such rows")] if more > 0 else []
    )


def build_tolerant_ask(connection: Connection) -> Ask:
    """SQLite's texts are bytes, so that undecodable ones raise no error."""
    driver: Any = connection.connection.driver_connection

    def ask(query: Select[Any]) -> Sequence[Any]:
        before, driver.text_factory = driver.text_factory, bytes
        try:
            return connection.execute(query).all()
        finally:
            driver.text_factory = before

    return ask if connection.dialect.name == "sqlite" else lambda query: connection.execute(query).all()


def _find_missing(ask: Ask) -> Iterator[Finding]:
    for _, placed in _project(ask):
        for stream, seq, index_entry in placed:
            same = (column == value for column, value in zip(_ROW, index_entry, strict=True))
            if not ask(select(table.c.about).where(*same)):
                yield Finding(
                    kind="inconsistent",
                    place=stream,
                    seq=seq,
                    why=f"table mentions lacks its row about {index_entry.about} ({index_entry.what})",
                )


def _find_unfounded(ask: Ask) -> Iterator[Finding]:
    for page in _load_stored(ask):
        ids = {index_entry.event_id for index_entry in page}
        borne = {placed_entry.mention for placed_entry in _index_page(ask, decode_texts(ask(select(*_EVENT).where(events.c.id.in_(ids)))))}
        for index_entry in page:
            if index_entry not in borne:
                why = f"its row about {index_entry.about} ({index_entry.what}) is borne out by no record"
                yield Finding(kind="inconsistent", place=f"table {table.name}", why=why)


def _load_stored(ask: Ask) -> Iterator[list[IndexEntry]]:
    after: tuple[str, ...] = ("", "", "")
    while True:
        later = tuple_(*_KEY) > tuple_(*(literal(part) for part in after))
        page = [IndexEntry(*row) for row in decode_texts(ask(select(*_ROW).where(later).order_by(*_KEY).limit(SLICE)))]
        if not page or page[-1][:3] == after:  # a damaged text would be returned again and again
            return
        after = page[-1][:3]
        yield page


def _project(ask: Ask) -> Iterator[tuple[int, list[PlacedEntry]]]:
    after = ""
    while True:
        later = select(*_EVENT).where(events.c.id > after, events.c.type.in_(TYPES)).order_by(events.c.id).limit(SLICE)
        page = decode_texts(ask(later))
        if not page or page[-1][2] == after:  # see _load_stored
            return
        after = page[-1][2]
        yield len(page), _index_page(ask, page)


def _index_page(ask: Ask, page: Sequence[tuple[Any, ...]]) -> list[PlacedEntry]:
    secrets = load_by_id(ask, person_keys.c.key_id, person_keys.c.secret, rows.collect_key_ids(row for row in page if row[4] == _LOOK))
    read = [(row, _read_data(row, secrets)) for row in page]
    calls = _load_calls(ask, {str(data["effect_id"]) for _, data in read if data and "effect_id" in data})
    placed = []
    for row, data in read:
        index_entries = index_event(row[2], row[4], data, calls.get(str(data.get("effect_id")))) if data else ()
        placed += [PlacedEntry(row[0], row[1], index_entry) for index_entry in _drop_invalid(index_entries)]
    return placed


def _read_data(row: tuple[Any, ...], secrets: Mapping[str, str]) -> Mapping[str, Any] | None:
    """None if unreadable or erased. Only RecordsSeen is decrypted."""
    try:
        if row[4] == _LOOK:
            event = rows.to_stored_event(row, secrets)
            return None if event.erased else event.data
        clear = orjson.loads(row[7])
        clear.pop(encryption.FIELD, None)
        return codec.upcast(row[4], row[5], clear)
    except _NO_SENSE:
        return None


def _drop_invalid(index_entries: Iterable[IndexEntry]) -> list[IndexEntry]:
    try:
        return [index_entry for index_entry in index_entries if all(type(part) is str for part in index_entry)]
    except _NO_SENSE:
        return []


def _load_calls(ask: Ask, effect_ids: set[str]) -> dict[str, Mapping[str, Any]]:
    calls = {}
    for effect_id, text in load_by_id(ask, effects.c.effect_id, effects.c.call, effect_ids).items():
        try:
            call = decode_checksummed(rows.build_call_place(effect_id), text)
        except DamagedRow:
            continue
        if isinstance(call, Mapping) and "call" in call:
            calls[effect_id] = call
    return calls


def load_by_id(ask: Ask, key: Any, value: Any, keys: Iterable[str]) -> dict[str, str]:
    """Return column `value` by column `key`."""
    ids = sorted(keys)
    return dict(decode_texts(ask(select(key, value).where(key.in_(ids))))) if ids else {}


def decode_texts(raw_rows: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Undecodable bytes are replaced."""
    return [tuple(value.decode(errors="replace") if isinstance(value, bytes) else value for value in row) for row in raw_rows]
