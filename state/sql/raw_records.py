"""Reads the journal's rows as bytes: decoding fails on damaged ones."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from sqlalchemy import Column, ColumnElement, Integer, Select, Text, bindparam, func, literal_column, or_, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.expression import ClauseElement

from state.journal.journal import to_stream
from state.sql.dialect import Dialect, open_read_only
from state.sql.tables import blobs, effects, events, leases, metadata, snapshots

Record = tuple[int, bytes, bytes, bytes, int, bytes, bytes, bytes]

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
    with open_read_only(url) as dialect:  # its lock is only held while opening
        engine = dialect.engine
    try:
        yield RawReader(dialect)
    finally:
        engine.dispose()


class RawReader:
    """Raises the driver's error if the database cannot be read."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect.engine.dialect
        self._connection = dialect.engine.raw_connection()
        self.is_sqlite = self._dialect.name == "sqlite"
        driver: Any = self._connection.driver_connection
        self._driver = driver
        if self.is_sqlite:
            driver.text_factory = bytes
            driver.execute(f"PRAGMA cache_size=-{CACHE_KIB}").close()
        else:
            driver.autocommit = True  # a verification takes long and must not keep a transaction open
        later = events.c.seq > bindparam("after")
        query = select(*_RECORD).where(events.c.stream == bindparam("stream"), later).order_by(events.c.seq)
        # SQLite yields rows while they are fetched, PostgreSQL's driver returns them all at once.
        self._records = _compile(query if self.is_sqlite else query.limit(PAGE), self._dialect)

    def read_records(self, stream: str, after: int = 0) -> Iterator[list[Record]]:
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
        """Return whether `what` holds for each record; False also if the query fails.

        SQLite only.
        """
        self._driver.create_function("is_so", len(_RECORD), what)
        params = {"stream": stream, "after": after, "until": until}
        try:
            return self._driver.execute(_FIRST_NOT_SO, params).fetchone() is None
        except sqlite3.Error:
            return False

    def list_streams(self) -> set[str]:
        queries = (select(column).distinct() for column in (events.c.stream, effects.c.stream, snapshots.c.stream))
        streams = {_decode(row[0]) for query in queries for row in self._fetch_rows(query)}
        return streams | {to_stream(_decode(row[0])) for row in self._fetch_rows(select(leases.c.session).where(leases.c.seq != 0))}

    def list_effect_ids(self, stream: str) -> list[str]:
        return [_decode(row[0]) for row in self._fetch_rows(select(effects.c.effect_id).where(effects.c.stream == stream))]

    def has_snapshot(self, stream: str) -> bool:
        return bool(self._fetch_rows(select(snapshots.c.seq).where(snapshots.c.stream == stream)))

    def list_digests(self) -> list[str]:
        return [_decode(row[0]) for row in self._fetch_rows(select(blobs.c.digest))]

    def find_mistyped(self) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
        """Yield (table, column, primary key); nothing for PostgreSQL, which enforces types."""
        if not self.is_sqlite:
            return
        for table, anything, columns in _build_type_queries():
            # One query covers all columns of a table; each column is queried only if that one finds something.
            if self._execute(str(anything), anything.params):
                for name, query in columns.items():
                    for row in self._execute(str(query), query.params):
                        yield table, name, tuple(_decode(value) for value in row)

    def ask(self, query: Select[Any]) -> list[Any]:
        """SQLite's texts are bytes."""
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
    type_queries = []
    for table in metadata.sorted_tables:
        wrong = {column.name: _is_mistyped(column) for column in table.columns}
        anything: Select[Any] = select(literal_column("1")).select_from(table).where(or_(*wrong.values())).limit(1)
        keys = list(table.primary_key.columns)
        columns = {name: _compile(select(*keys).where(condition).limit(10), _SQLITE) for name, condition in wrong.items()}
        type_queries.append((table.name, _compile(anything, _SQLITE), columns))
    return type_queries


def _is_mistyped(column: Column[Any]) -> ColumnElement[bool]:
    type_name = "text" if isinstance(column.type, Text) else "integer" if isinstance(column.type, Integer) else ""
    return func.typeof(column).not_in([type_name, "null"] if column.nullable else [type_name])


def _compile(clause: ClauseElement, dialect: Any) -> Any:
    return clause.compile(dialect=dialect, compile_kwargs={"render_postcompile": True})


def _cast_to_bytes(row: tuple[Any, ...]) -> Any:
    return tuple(value.encode() if isinstance(value, str) else value for value in row)


def _decode(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
