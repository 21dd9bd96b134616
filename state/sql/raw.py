"""The journal's rows as bytes, for checks alone (ring 1): what the store's port decodes and may stumble over. Writes nothing."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Integer, Select, Text, bindparam, func, select
from sqlalchemy.sql.expression import ClauseElement

from state.sql.commit import stream_of
from state.sql.dialect import Dialect, looking
from state.sql.tables import blobs, effects, events, leases, metadata, snapshots

Record = tuple[int, bytes, bytes, bytes, int, bytes, bytes, bytes]
"""seq, id, ts, type, v, actor, data, hash: of a damaged row also other types than these."""

FETCH = 64
PAGE = 1000
CACHE_KIB = 65536
_RECORD = (events.c.seq, events.c.id, events.c.ts, events.c.type, events.c.v, events.c.actor, events.c.data, events.c.hash)


@contextmanager
def reading(url: str) -> Iterator["RawReader"]:
    """The rows of the database behind `url`, beside those who work with it; raises what the driver raises."""
    with looking(url) as dialect:  # whose lock is for the opening only
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
        if self.is_sqlite:
            driver.text_factory = bytes
            driver.execute(f"PRAGMA cache_size=-{CACHE_KIB}").close()
        else:
            driver.autocommit = True  # a check takes its time; no transaction waits for it
        later = events.c.seq > bindparam("after")
        wanted = select(*_RECORD).where(events.c.stream == bindparam("stream"), later).order_by(events.c.seq)
        # SQLite hands the rows over as they are fetched, PostgreSQL's driver all at once.
        self._records = self._compiled(wanted if self.is_sqlite else wanted.limit(PAGE))

    def records(self, stream: str, after: int = 0) -> Iterator[list[Record]]:
        """The records of a stream with seq > after, in order, some at a time."""
        if not self.is_sqlite:
            while rows := self._execute(*self._filled(self._records, {"stream": stream, "after": after})):
                yield [_as_bytes(row) for row in rows]
                after = rows[-1][0]
            return
        cursor = self._connection.cursor()
        try:
            cursor.execute(*self._filled(self._records, {"stream": stream, "after": after}))
            while page := list(cursor.fetchmany(FETCH)):
                yield page
        finally:
            cursor.close()

    def streams(self) -> set[str]:
        """Every stream of which something is stored: an event, a head, an effect or a snapshot."""
        named = (select(column).distinct() for column in (events.c.stream, effects.c.stream, snapshots.c.stream))
        found = {_text(row[0]) for query in named for row in self._rows(query)}
        return found | {stream_of(_text(row[0])) for row in self._rows(select(leases.c.session).where(leases.c.seq != 0))}

    def effect_ids(self) -> Iterator[str]:
        """Every effect of the table."""
        return (_text(row[0]) for row in self._rows(select(effects.c.effect_id)))

    def has_snapshot(self, stream: str) -> bool:
        """Whether there is a snapshot of it, readable or not."""
        return bool(self._rows(select(snapshots.c.seq).where(snapshots.c.stream == stream)))

    def digests(self) -> list[str]:
        """Every stored large answer."""
        return [_text(row[0]) for row in self._rows(select(blobs.c.digest))]

    def mistyped(self) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
        """(table, column, first columns of the row) of values that are not of their column's type, which SQLite does not mind."""
        if not self.is_sqlite:
            return
        for table in metadata.sorted_tables:
            keys = list(table.primary_key.columns)
            for column in table.columns:
                wanted = "text" if isinstance(column.type, Text) else "integer" if isinstance(column.type, Integer) else ""
                allowed = [wanted, "null"] if column.nullable else [wanted]
                wrong = func.typeof(column).not_in(allowed)
                for row in self._rows(select(*keys).where(wrong).limit(10)):
                    yield table.name, column.name, tuple(_text(value) for value in row)

    def problems(self) -> list[str]:
        """What SQLite's own check says of the file; nothing for PostgreSQL, which has checksums of its own."""
        if not self.is_sqlite:
            return []
        said = (_text(row[0]) for row in self._execute("PRAGMA integrity_check(20)", {}))
        return [line for text in said for line in text.splitlines() if line != "ok" and not line.startswith("***")]

    def _rows(self, query: Select[Any]) -> list[Any]:
        return self._execute(*self._filled(self._compiled(query), {}))

    def _execute(self, sql: str, params: Mapping[str, Any]) -> list[Any]:
        cursor = self._connection.cursor()
        try:
            cursor.execute(sql, params)
            return list(cursor.fetchall())
        finally:
            cursor.close()

    def _compiled(self, clause: ClauseElement) -> Any:
        return clause.compile(dialect=self._dialect, compile_kwargs={"render_postcompile": True})

    def _filled(self, compiled: Any, params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        return str(compiled), {**compiled.params, **params}


def _as_bytes(row: tuple[Any, ...]) -> Any:
    return tuple(value.encode() if isinstance(value, str) else value for value in row)


def _text(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
