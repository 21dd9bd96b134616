"""Sandbox portal, store: the records, in memory for reading and in SQLite for durability; knows no methods of the portal."""

from __future__ import annotations

import sqlite3
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from sandbox.portal.schema import Row

_TABLES = """
CREATE TABLE IF NOT EXISTS record (entity TEXT, id INTEGER, body BLOB NOT NULL, PRIMARY KEY (entity, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS feed (seq INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS secret (name TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
"""


_SHAPES_KEPT = 6
_CHUNK = 1000
Contents = tuple[tuple[tuple[str, int, bytes], ...], tuple[tuple[str, int], ...]]
"""(kind, id, JSON) of all records, and the counters."""


@dataclass(frozen=True)
class Change:
    """One write to one record: `action` is `add`, `update` or `delete`; `before` and `after` are the record (None if there is none)."""

    entity: str
    id: int
    action: str
    before: Row | None
    after: Row | None


@dataclass(frozen=True, slots=True)
class Span:
    """The records with an id greater than `above` and not greater than `upto`; None means no bound."""

    above: int | None = None
    upto: int | None = None


ALL = Span()


class Table:
    """The records of one kind, ordered by id. It also caches their rendered JSON until a record changes."""

    def __init__(self) -> None:
        self.rows: dict[int, Row] = {}
        self._ids: list[int] = []
        self._shown: dict[tuple[str, ...], dict[int, bytes]] = {}
        self._indexes: dict[str, dict[Any, list[int]]] = {}

    def put(self, row_id: int, row: Row) -> None:
        """Add or replace one record."""
        old = self.rows.get(row_id)
        if old is None:
            insort(self._ids, row_id)
        self.rows[row_id] = row
        self._forget(row_id)
        for name, index in self._indexes.items():
            if old is not None and old.get(name) != row.get(name):
                index[old.get(name)].remove(row_id)
            if old is None or old.get(name) != row.get(name):
                insort(index.setdefault(row.get(name), []), row_id)

    def drop(self, row_id: int) -> None:
        """Remove one record."""
        row = self.rows.pop(row_id)
        del self._ids[bisect_left(self._ids, row_id)]
        self._forget(row_id)
        for name, index in self._indexes.items():
            index[row.get(name)].remove(row_id)

    def find(self, name: str, values: Iterable[Any]) -> list[int]:
        """Return the ids, rising, of the records that hold one of the values in the field; the field's index is built at first use."""
        index = self._indexes.get(name)
        if index is None:
            index = self._indexes[name] = {}
            for row_id in self._ids:
                index.setdefault(self.rows[row_id].get(name), []).append(row_id)
        return sorted(row_id for value in set(values) for row_id in index.get(value, ()))

    def shown(self, shape: tuple[str, ...]) -> dict[int, bytes]:
        """Return the cached JSON of the records that show exactly the fields in `shape`, by record id. The caller may add to the result.

        A write removes the record from the cache. Only the six newest shapes are kept.
        """
        kept = self._shown.get(shape)
        if kept is None:
            if len(self._shown) >= _SHAPES_KEPT:
                del self._shown[next(iter(self._shown))]
            kept = self._shown[shape] = {}
        return kept

    def _forget(self, row_id: int) -> None:
        for kept in self._shown.values():
            kept.pop(row_id, None)

    def walk(self, span: Span = ALL, *, step: int = 1) -> Iterator[Row]:
        """Yield the records of a span by id, ascending (step 1) or descending (-1)."""
        return (self.rows[self._ids[place]] for place in self._find_places(span)[::step])

    def cut(self, start: int, amount: int, span: Span, *, step: int = 1) -> list[Row]:
        """Return at most `amount` records from position `start`, in the order that `walk` gives with the same `span` and `step`."""
        return [self.rows[self._ids[place]] for place in self._find_places(span)[::step][start : start + amount]]

    def count(self, span: Span) -> int:
        """Return how many records the span holds."""
        return len(self._find_places(span))

    def _find_places(self, span: Span) -> range:
        first = 0 if span.above is None else bisect_right(self._ids, span.above)
        return range(first, len(self._ids) if span.upto is None else bisect_right(self._ids, span.upto))

    def __len__(self) -> int:
        return len(self._ids)


class Store:
    """All data of a portal: the records by kind, the counters for new ids, the lines of the ledger (log of calls) and the secrets.

    A write is durable after `commit`. The function `watch` is called at once with each `Change`.
    """

    def __init__(self, folder: Path | None) -> None:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        # One event loop owns the connection; tests may build the portal in one thread and serve it in another.
        self._is_kept = folder is not None
        self._db = sqlite3.connect(":memory:" if folder is None else folder / "portal.db", isolation_level=None, check_same_thread=False)
        self._db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;" + _TABLES)
        self._tables: dict[str, Table] = {}
        self._counters: dict[str, int] = {}
        self._dirty = False
        self.writes = 0
        self.watch: Callable[[Change], None] = _nobody
        self._load()

    def _load(self) -> None:
        for entity, row_id, body in self._db.execute("SELECT entity, id, body FROM record ORDER BY entity, id"):
            self.table(entity).put(row_id, orjson.loads(body))
        self._counters = dict(self._db.execute("SELECT name, value FROM counter"))

    def table(self, entity: str) -> Table:
        """Return the table with the records of one kind; a kind without records gives an empty table."""
        return self._tables.setdefault(entity, Table())

    def get(self, entity: str, row_id: int) -> Row | None:
        """Return one record, or None; it is read-only, changes go through `put`."""
        return self.table(entity).rows.get(row_id)

    def walk(self, entity: str) -> Iterator[Row]:
        """Yield all records of a kind in ascending order of their ids."""
        return self.table(entity).walk()

    def next_id(self, name: str, *, at_least: int = 1) -> int:
        """Return the next number of the counter `name`, or `at_least` if that is greater.

        No number is given twice, even after a restart.
        """
        value = max(self._counters.get(name, 0) + 1, at_least)
        self._counters[name] = value
        self._write("INSERT OR REPLACE INTO counter VALUES (?, ?)", (name, value))
        return value

    def preview_id(self, name: str) -> int:
        """Return the number that `next_id` gives next."""
        return self._counters.get(name, 0) + 1

    def add(self, entity: str, row: Row) -> int:
        """Add a record and return its id: the next id of its kind, or the `ID` that the record already has."""
        row_id = self.next_id(entity, at_least=row.get("ID") or 1) if not row.get("ID") else int(row["ID"])
        if row_id > self._counters.get(entity, 0):
            self._counters[entity] = row_id - 1
            self.next_id(entity)
        self._keep("add", entity, row_id, {**row, "ID": row_id})
        return row_id

    def fill(self, entity: str, rows: Iterable[Row], *, first: int | None = None) -> None:
        """Add many records of one kind at once, with the next ids or, where these are free, those from `first`. `watch` is not called."""
        table, number = self.table(entity), self.preview_id(entity) - 1 if first is None else first - 1
        source = iter(rows)
        while chunk := list(islice(source, _CHUNK)):
            kept = [{**row, "ID": number + place} for place, row in enumerate(chunk, 1)]
            number += len(kept)
            for row in kept:
                table.put(row["ID"], row)
            if self._is_kept:
                self._begin()
                self._db.executemany("INSERT INTO record VALUES (?, ?, ?)", ((entity, row["ID"], orjson.dumps(row)) for row in kept))
        self._counters[entity] = max(number, self._counters.get(entity, 0))
        self._write("INSERT OR REPLACE INTO counter VALUES (?, ?)", (entity, self._counters[entity]))

    def contents(self) -> Contents:
        """Return all records and counters, for `refill`."""
        bodies = ((kind, row["ID"], orjson.dumps(row)) for kind in sorted(self._tables) for row in self.walk(kind))
        return tuple(bodies), tuple(self._counters.items())

    def refill(self, contents: Contents) -> None:
        """Load the contents of another store into this empty one, without notifying the watcher."""
        records, counters = contents
        for record in records:
            entity, row_id, body = record
            self.table(entity).put(row_id, orjson.loads(body))
            self._write_record("INSERT INTO record VALUES (?, ?, ?)", record)
        for counter in counters:
            self._counters[counter[0]] = counter[1]
            self._write("INSERT OR REPLACE INTO counter VALUES (?, ?)", counter)

    def put(self, entity: str, row: Row) -> None:
        """Add or replace the record with the id in `row`."""
        self._keep("update", entity, int(row["ID"]), row)

    def remove(self, entity: str, row_id: int) -> None:
        """Delete one record. Raises KeyError if there is none."""
        before = self.table(entity).rows[row_id]
        self.table(entity).drop(row_id)
        self._write_record("DELETE FROM record WHERE entity = ? AND id = ?", (entity, row_id))
        self._tell(Change(entity, row_id, "delete", before, None))

    def remove_where(self, entity: str, wanted: Callable[[Row], bool]) -> int:
        """Delete the records for which `wanted` is true and return how many."""
        doomed = [row["ID"] for row in self.walk(entity) if wanted(row)]
        for row_id in doomed:
            self.remove(entity, row_id)
        return len(doomed)

    def find(self, entity: str, name: str, value: Any) -> list[Row]:
        """Return the records that hold the value in the field, by ascending id."""
        table = self.table(entity)
        return [table.rows[row_id] for row_id in table.find(name, [value])]

    def append_feed(self, seq: int, body: Row) -> None:
        """Store one line of the ledger (log of calls) under its number; a line with this number is replaced."""
        self._write("INSERT OR REPLACE INTO feed VALUES (?, ?)", (seq, orjson.dumps(body)))

    def feed(self) -> Iterable[Row]:
        """Return the stored lines of the ledger (log of calls), oldest first."""
        return (orjson.loads(body) for (body,) in self._db.execute("SELECT body FROM feed ORDER BY seq"))

    def clear_feed(self) -> None:
        """Delete the stored lines of the ledger (log of calls). Their numbering continues."""
        self._write("DELETE FROM feed", ())
        self.commit()

    def commit(self) -> None:
        """Make everything written so far durable."""
        if self._dirty:
            self._db.execute("COMMIT")
            self._dirty = False

    @contextmanager
    def atomic(self) -> Iterator[None]:
        """Context manager: an exception inside it restores all records that were written there.

        `watch` is called at the end of the block, and only if the writes stay.
        """
        held: list[Change] = []
        watch, writes = self.watch, self.writes
        self.watch = held.append
        try:
            yield
        except BaseException:
            self.watch = _nobody
            for change in reversed(held):
                self._take_back(change)
            self.writes = writes
            raise
        finally:
            self.watch = watch
        for change in held:
            watch(change)

    def keep_secret(self, name: str, body: Any) -> None:
        """Store a value, such as a token, under a name. `wipe` does not delete it."""
        self._write("INSERT OR REPLACE INTO secret VALUES (?, ?)", (name, orjson.dumps(body)))

    def drop_secret(self, name: str) -> None:
        """Delete one secret; an unknown name is ignored."""
        self._write("DELETE FROM secret WHERE name = ?", (name,))

    def secrets(self) -> dict[str, Any]:
        """Return all secrets by name."""
        return {name: orjson.loads(body) for name, body in self._db.execute("SELECT name, body FROM secret")}

    def wipe(self) -> None:
        """Delete all records, counters and lines of the ledger (log of calls). The numbering of lines continues, and the secrets stay."""
        kept = {"feed": self._counters.get("feed", 0)}
        self._write("DELETE FROM record", ())
        self._write("DELETE FROM counter", ())
        self._tables.clear()
        self._counters = kept
        self._write("INSERT INTO counter VALUES ('feed', ?)", (kept["feed"],))
        self.clear_feed()

    def close(self) -> None:
        """Commit and close the file."""
        self.commit()
        self._db.close()

    def _take_back(self, change: Change) -> None:
        if change.before is not None:
            self._keep("update", change.entity, change.id, change.before)
        elif change.id in self.table(change.entity).rows:
            self.remove(change.entity, change.id)

    def _keep(self, action: str, entity: str, row_id: int, row: Row) -> None:
        before = self.table(entity).rows.get(row_id)
        self.table(entity).put(row_id, row)
        if self._is_kept:
            self._write("INSERT OR REPLACE INTO record VALUES (?, ?, ?)", (entity, row_id, orjson.dumps(row)))
        self._tell(Change(entity, row_id, action, before, row))

    def _tell(self, change: Change) -> None:
        self.writes += 1
        self.watch(change)

    def _write_record(self, statement: str, values: tuple[Any, ...]) -> None:
        """Write to the table of records, unless this store lives in memory only: its records are in the tables above."""
        if self._is_kept:
            self._write(statement, values)

    def _write(self, statement: str, values: tuple[Any, ...]) -> None:
        self._begin()
        self._db.execute(statement, values)

    def _begin(self) -> None:
        if not self._dirty:
            self._db.execute("BEGIN IMMEDIATE")
            self._dirty = True


def _nobody(_: Change) -> None:
    """Ignore a change; this is the default value of `Store.watch`."""
