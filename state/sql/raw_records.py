"""The journal's rows as bytes, for checks alone (ring 1): what the store's port decodes and may stumble over. Writes nothing."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from sqlalchemy import Column, ColumnElement, Integer, Select, Text, bindparam, func, literal_column, or_, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.expression import ClauseElement

from state.sql.commit import to_stream
from state.sql.dialect import Dialect, open_read_only
from state.sql.tables import blobs, effects, events, leases, metadata, snapshots

Record = tuple[int, bytes, bytes, bytes, int, bytes, bytes, bytes]
"""seq, id, ts, type, v, actor, data, hash: of a damaged row also other types than these."""

FETCH = 64
PAGE = 1000
CACHE_KIB = 65536
_SQLITE = sqlite.dialect(paramstyle="named")
_RECORD = (events.c.seq, events.c.id, events.c.ts, events.c.type, events.c.v, events.c.actor, events.c.data, events.c.hash)

_FIRST_NOT_SO = """
SELECT seq FROM events WHERE stream = :stream AND seq > :after AND seq <= :until AND NOT is_so(
    seq, CAST(id AS BLOB), CAST(ts AS BLOB), type, v, actor, CAST(data AS BLOB), hash)
ORDER BY seq LIMIT 1
"""


@contextmanager
def open_raw(url: str) -> Iterator["RawReader"]:
    """The rows of the database behind `url`, beside those who work with it; raises what the driver raises."""
    with open_read_only(url) as dialect:  # whose lock is for the opening only
        engine = dialect.engine
    try:
        yield RawReader(dialect)
    finally:
        engine.dispose()


class RawReader:
    """Made by `reading`. Every method raises the driver's own error where the database cannot be read."""

    def __init__(self, dialect: Dialect) -> None:
        """Take a connection of its own."""
        self._dialect = dialect.engine.dialect
        self._connection = dialect.engine.raw_connection()
        self.is_sqlite = self._dialect.name == "sqlite"
        driver: Any = self._connection.driver_connection
        self._driver = driver
        if self.is_sqlite:
            driver.text_factory = bytes
            driver.execute(f"PRAGMA cache_size=-{CACHE_KIB}").close()
        else:
            driver.autocommit = True  # a check takes its time; no transaction waits for it
        later = events.c.seq > bindparam("after")
        wanted = select(*_RECORD).where(events.c.stream == bindparam("stream"), later).order_by(events.c.seq)
        # SQLite hands the rows over as they are fetched, PostgreSQL's driver all at once.
        self._records = _compile(wanted if self.is_sqlite else wanted.limit(PAGE), self._dialect)

    def read_records(self, stream: str, after: int = 0) -> Iterator[list[Record]]:
        """The records of a stream with seq > after, in order, some at a time."""
        if not self.is_sqlite:
            while rows := self._execute(*self._fill(self._records, {"stream": stream, "after": after})):
                yield [_cast_to_bytes(row) for row in rows]
                after = rows[-1][0]
            return
        cursor = self._connection.cursor()
        try:
            cursor.execute(*self._fill(self._records, {"stream": stream, "after": after}))
            while page := list(cursor.fetchmany(FETCH)):
                yield page
        finally:
            cursor.close()

    def match_all(self, what: Callable[..., bool], stream: str, *, after: int, until: int) -> bool:
        """Whether `what` says so of each record with after < seq <= until, in order; False too where that cannot be found out. SQLite only.

        It gets the columns of a Record, but text for type, actor and hash.
        """
        self._driver.create_function("is_so", len(_RECORD), what)
        wanted = {"stream": stream, "after": after, "until": until}
        try:
            return self._driver.execute(_FIRST_NOT_SO, wanted).fetchone() is None
        except sqlite3.Error:
            return False

    def list_streams(self) -> set[str]:
        """Every stream of which something is stored: an event, a head, an effect or a snapshot."""
        named = (select(column).distinct() for column in (events.c.stream, effects.c.stream, snapshots.c.stream))
        found = {_decode(row[0]) for query in named for row in self._fetch_rows(query)}
        return found | {to_stream(_decode(row[0])) for row in self._fetch_rows(select(leases.c.session).where(leases.c.seq != 0))}

    def list_effect_ids(self, stream: str) -> list[str]:
        """Every effect of the stream that the table has."""
        return [_decode(row[0]) for row in self._fetch_rows(select(effects.c.effect_id).where(effects.c.stream == stream))]

    def has_snapshot(self, stream: str) -> bool:
        """Whether there is a snapshot of it, readable or not."""
        return bool(self._fetch_rows(select(snapshots.c.seq).where(snapshots.c.stream == stream)))

    def list_digests(self) -> list[str]:
        """Every stored large answer."""
        return [_decode(row[0]) for row in self._fetch_rows(select(blobs.c.digest))]

    def find_mistyped(self) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
        """(table, column, first columns of the row) of values that are not of their column's type, which SQLite does not mind."""
        if not self.is_sqlite:
            return
        for table, anything, columns in _build_type_queries():
            # One pass for all columns of a table; only where that finds something is each of them asked for.
            if self._execute(str(anything), anything.params):
                for name, query in columns.items():
                    for row in self._execute(str(query), query.params):
                        yield table, name, tuple(_decode(value) for value in row)

    def list_problems(self) -> list[str]:
        """What SQLite's own check says of the file; nothing for PostgreSQL, which has checksums of its own."""
        if not self.is_sqlite:
            return []
        said = (_decode(row[0]) for row in self._execute("PRAGMA integrity_check(20)", {}))
        return [line for text in said for line in text.splitlines() if line != "ok" and not line.startswith("***")]

    def ask(self, query: Select[Any]) -> list[Any]:
        """The answer to a question; texts of SQLite as bytes."""
        return self._fetch_rows(query)

    def _fetch_rows(self, query: Select[Any]) -> list[Any]:
        return self._execute(*self._fill(_compile(query, self._dialect), {}))

    def _execute(self, sql: str, params: Mapping[str, Any]) -> list[Any]:
        cursor = self._connection.cursor()
        try:
            cursor.execute(sql, params)
            return list(cursor.fetchall())
        finally:
            cursor.close()

    def _fill(self, compiled: Any, params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        return str(compiled), {**compiled.params, **params}


@cache
def _build_type_queries() -> list[tuple[str, Any, dict[str, Any]]]:
    """Of each table: whether any column holds a value of another type, and by column the keys of such rows. Compiled once."""
    found = []
    for table in metadata.sorted_tables:
        wrong = {column.name: _is_mistyped(column) for column in table.columns}
        anything: Select[Any] = select(literal_column("1")).select_from(table).where(or_(*wrong.values())).limit(1)
        keys = list(table.primary_key.columns)
        columns = {name: _compile(select(*keys).where(condition).limit(10), _SQLITE) for name, condition in wrong.items()}
        found.append((table.name, _compile(anything, _SQLITE), columns))
    return found


def _is_mistyped(column: Column[Any]) -> ColumnElement[bool]:
    wanted = "text" if isinstance(column.type, Text) else "integer" if isinstance(column.type, Integer) else ""
    return func.typeof(column).not_in([wanted, "null"] if column.nullable else [wanted])


def _compile(clause: ClauseElement, dialect: Any) -> Any:
    return clause.compile(dialect=dialect, compile_kwargs={"render_postcompile": True})


def _cast_to_bytes(row: tuple[Any, ...]) -> Any:
    return tuple(value.encode() if isinstance(value, str) else value for value in row)


def _decode(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
