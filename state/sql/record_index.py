"""The table `mentions` (which event is about which record or call): filled for an older database, and verified against the journal.

The journal is read page by page, so that memory use does not grow with it. Damaged records give no rows; other checks report them.
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
"""The most differences that are listed; further ones are only counted."""
TELL_EVERY: Final = 20_000

Ask = Callable[[Select[Any]], Sequence[Any]]
"""A function that runs a query and returns its rows; texts may be returned as bytes, so that a damaged text does not stop the reading."""
_LOOK: Final = "RecordsSeen"
_EVENT: Final = tuple(events.c[name] for name in ("stream", "seq", "id", "ts", "type", "v", "actor", "data", "hash"))
_KEY: Final = (table.c.about, table.c.what, table.c.event_id)
_ROW: Final = (*_KEY, table.c.effect_id)
_NO_SENSE: Final = (DamagedCiphertext, UnknownEvent, ValueError, LookupError, TypeError, AttributeError)


class PlacedEntry(NamedTuple):
    """An index entry (a row of `mentions`) with the stream and seq of its event."""

    stream: str
    seq: int
    mention: IndexEntry


@dataclass
class _Sum:
    """The number of index entries, and a checksum over them that does not depend on their order."""

    rows: int = 0
    digest: int = 0

    def add(self, found: Iterable[IndexEntry]) -> None:
        for index_entry in found:
            self.rows += 1
            self.digest ^= int.from_bytes(sha256("\n".join(index_entry).encode()).digest())


def fill_record_index(connection: Connection, tell: Callable[[int, int], None]) -> None:
    """Fill the empty table `mentions` from the journal.

    `tell` is called every 20,000 records with the number of records read so far and the total.
    """
    ask = build_tolerant_ask(connection)
    total = connection.execute(select(func.count()).where(events.c.type.in_(TYPES))).scalar_one()
    seen = told = 0
    for count, found in _project(ask):
        seen += count
        if found:
            connection.execute(table.insert(), [one.mention._asdict() for one in found])
        if seen - told >= TELL_EVERY:
            told = seen
            tell(seen, total)


def find_differences(ask: Ask) -> list[Finding]:
    """Return a finding for each of the first 20 differences between `mentions` and the journal, and one with the number of further ones.

    The result is correct even while other processes commit.
    """
    wanted, there = _Sum(), _Sum()
    for _, found in _project(ask):
        wanted.add(one.mention for one in found)
    for page in _load_stored(ask):
        there.add(page)
    if wanted == there:
        return []
    # An event and its row are stored in one transaction: whichever of them is read first, the other is there when it is looked up.
    findings = [*_find_missing(ask), *_find_unfounded(ask)]
    more = len(findings) - MAX_NAMED
    return findings[:MAX_NAMED] + (
        [Finding(kind="inconsistent", place=f"table {table.name}", why=f"{more} more such rows")] if more > 0 else []
    )


def build_tolerant_ask(connection: Connection) -> Ask:
    """Return a function that runs queries on `connection`; on SQLite it returns texts as bytes, so that undecodable ones raise no error."""
    driver: Any = connection.connection.driver_connection

    def ask(query: Select[Any]) -> Sequence[Any]:
        kept, driver.text_factory = driver.text_factory, bytes
        try:
            return connection.execute(query).all()
        finally:
            driver.text_factory = kept

    return ask if connection.dialect.name == "sqlite" else lambda query: connection.execute(query).all()


def _find_missing(ask: Ask) -> Iterator[Finding]:
    for _, found in _project(ask):
        for stream, seq, one in found:
            same = (column == value for column, value in zip(_ROW, one, strict=True))
            if not ask(select(table.c.about).where(*same)):
                yield Finding(
                    kind="inconsistent", place=stream, seq=seq, why=f"table mentions lacks its row about {one.about} ({one.what})"
                )


def _find_unfounded(ask: Ask) -> Iterator[Finding]:
    for page in _load_stored(ask):
        ids = {one.event_id for one in page}
        borne = {placed_entry.mention for placed_entry in _index_page(ask, decode_texts(ask(select(*_EVENT).where(events.c.id.in_(ids)))))}
        for one in page:
            if one not in borne:
                why = f"its row about {one.about} ({one.what}) is borne out by no record"
                yield Finding(kind="inconsistent", place=f"table {table.name}", why=why)


def _load_stored(ask: Ask) -> Iterator[list[IndexEntry]]:
    """Yield the rows of the table `mentions`, page by page."""
    after: tuple[str, ...] = ("", "", "")
    while True:
        later = tuple_(*_KEY) > tuple_(*(literal(part) for part in after))
        page = [IndexEntry(*row) for row in decode_texts(ask(select(*_ROW).where(later).order_by(*_KEY).limit(SLICE)))]
        if not page or page[-1][:3] == after:  # a damaged text would be returned again and again
            return
        after = page[-1][:3]
        yield page


def _project(ask: Ask) -> Iterator[tuple[int, list[PlacedEntry]]]:
    """Yield, for each page of journal events, how many events it has and which index entries `mentions` should have for them."""
    after = ""
    while True:
        later = select(*_EVENT).where(events.c.id > after, events.c.type.in_(TYPES)).order_by(events.c.id).limit(SLICE)
        page = decode_texts(ask(later))
        if not page or page[-1][2] == after:  # see _load_stored
            return
        after = page[-1][2]
        yield len(page), _index_page(ask, page)


def _index_page(ask: Ask, page: Sequence[tuple[Any, ...]]) -> list[PlacedEntry]:
    """Return the index entries that the table `mentions` should have for the events in `page`."""
    secrets = load_by_id(ask, person_keys.c.key_id, person_keys.c.secret, rows.collect_key_ids(row for row in page if row[4] == _LOOK))
    read = [(row, _read_data(row, secrets)) for row in page]
    calls = _load_calls(ask, {str(data["effect_id"]) for _, data in read if data and "effect_id" in data})
    found = []
    for row, data in read:
        index_entries = index_event(row[2], row[4], data, calls.get(str(data.get("effect_id")))) if data else ()
        found += [PlacedEntry(row[0], row[1], index_entry) for index_entry in _drop_invalid(index_entries)]
    return found


def _read_data(row: tuple[Any, ...], secrets: Mapping[str, str]) -> Mapping[str, Any] | None:
    """Return the event's data; None if it cannot be read or its person was erased.

    Only a RecordsSeen event is decrypted; for other types the unencrypted part is returned.
    """
    try:
        if row[4] == _LOOK:
            event = rows.to_stored_event(row, "", secrets)
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


def _load_calls(ask: Ask, wanted: set[str]) -> dict[str, Mapping[str, Any]]:
    """Return, by effect id, the stored calls of the effects with the ids `wanted`, without calls of erased people."""
    found = {}
    for effect_id, text in load_by_id(ask, effects.c.effect_id, effects.c.call, wanted).items():
        try:
            call = decode_checksummed(rows.build_call_place(effect_id), text)
        except DamagedRow:
            continue
        if isinstance(call, Mapping) and "call" in call:
            found[effect_id] = call
    return found


def load_by_id(ask: Ask, key: Any, value: Any, wanted: Iterable[str]) -> dict[str, str]:
    """Return, by the column `key`, the column `value` of the rows whose key is in `wanted`."""
    ids = sorted(wanted)
    return dict(decode_texts(ask(select(key, value).where(key.in_(ids))))) if ids else {}


def decode_texts(found: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return the rows with texts in place of bytes; what cannot be decoded is replaced."""
    return [tuple(value.decode(errors="replace") if isinstance(value, bytes) else value for value in row) for row in found]
