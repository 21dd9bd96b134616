"""Reads all rows of a database as of one moment and converts them to lines of JSON. Writes nothing.

A line is the JSON list of a row's columns, and the lines are in the byte order of the rows' primary keys. So equal tables have equal
checksums, whatever the kind of database.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson
from sqlalchemy import inspect
from sqlalchemy.exc import SQLAlchemyError

from state.journal.store import StoreError
from state.migrations import HEAD
from state.sql import closed_mark
from state.sql.dialect import Dialect, open_read_only
from state.sql.schema import NewerDatabase
from state.sql.tables import metadata
from state.verify.database import OLDER

PAGE = 500
TIMEOUT_SETTINGS = ("statement_timeout", "idle_in_transaction_session_timeout", "lock_timeout")
"""Time limits of a bot's session that are switched off for long work."""

Rows = list[tuple[Any, ...]]


class NothingThere(StoreError):
    """There is no database, or an empty one."""


class Unreadable(StoreError):
    """A row holds a value that this program never writes: it is damaged, and a copy would hide the damage."""


@dataclass(frozen=True, kw_only=True)
class TableShape:
    """The name, columns and primary key of a table as they are in the database, whichever schema revision it has.

    Columns that the database computes from others (definitions as JSONB in PostgreSQL) are not among them: every database makes its own.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class TableSum:
    """The number of rows of a table, and the size in bytes and SHA-256 of the rows as JSON lines."""

    rows: int
    size: int
    sha256: str


class TableSummer:
    """Calculates the TableSum of a table from its rows as JSON lines, piece by piece."""

    def __init__(self) -> None:
        self._rows = self._size = 0
        self._digest = sha256()

    def add(self, lines: bytes, rows: int) -> None:
        """Add the next lines, which hold `rows` rows."""
        self._rows += rows
        self._size += len(lines)
        self._digest.update(lines)

    def sum(self) -> TableSum:
        """Return the TableSum of the lines added so far."""
        return TableSum(rows=self._rows, size=self._size, sha256=self._digest.hexdigest())


@contextmanager
def open_reading(url: str) -> Iterator["DatabaseReading"]:
    """Open the database at `url`, whatever its encoding, for reading as of this moment, while others work with it.

    Raises NothingThere if there is no database, NewerDatabase for one of a newer program, other StoreErrors if it cannot be read.
    """
    try:
        with open_read_only(url, any_encoding=True) as dialect:  # its lock is only held while opening
            pass
    except FileNotFoundError as error:
        raise NothingThere(str(error)) from None
    with open_on_dialect(dialect) as database_readings:
        yield database_readings


@contextmanager
def open_on_dialect(dialect: Dialect) -> Iterator["DatabaseReading"]:
    """Open the database behind `dialect`, which is open already, for reading as of this moment. Raises StoreError if it cannot be read."""
    driver: Any = dialect.engine.dialect.loaded_dbapi
    try:
        connection = dialect.engine.raw_connection()
    except (SQLAlchemyError, driver.Error) as error:
        raise StoreError(f"the database cannot be opened: {_format_error(error)}") from None
    try:
        yield DatabaseReading(dialect, connection.driver_connection)
    except driver.Error as error:
        raise StoreError(f"the database cannot be read: {_format_error(error)}") from None
    finally:
        connection.invalidate()  # this ends the transaction in every case
        dialect.engine.dispose()


class DatabaseReading:
    """Reads a database in one transaction, which does not see later changes of others; made by `open_reading`."""

    def __init__(self, dialect: Dialect, driver: Any) -> None:
        """Begin the transaction; raises what `open_reading` raises."""
        self._driver = driver
        self.is_sqlite = dialect.engine.dialect.name == "sqlite"
        with dialect.engine.connect() as connection:
            there = inspect(connection)
            present = set(there.get_table_names()) & {*metadata.tables, "alembic_version"}
            self.mark = closed_mark.read_mark(connection) if "values" in present else None
            """The mark that the database is closed (`state.sql.closed_mark`), None if a bot may start on it."""
            shapes = [_read_shape(there, name) for name in sorted(present - {"alembic_version"})]
        self._text_order = "{}"
        if self.is_sqlite:
            driver.execute("BEGIN")
        else:
            has_utf8 = driver.info.parameter_status("server_encoding") == "UTF8"
            self._text_order = '{} COLLATE "C"' if has_utf8 else "convert_to({}, 'UTF8')"  # the byte order of other encodings differs
            driver.rollback()
            driver.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            for name in TIMEOUT_SETTINGS:
                driver.execute(f"SET LOCAL {name} = 0")
        self.schema = self._read_revision() if "alembic_version" in present else ""
        self.shapes = tuple(shapes)

    def _read_revision(self) -> str:
        found = self._driver.execute("SELECT version_num FROM alembic_version").fetchone()
        schema = str(found[0]) if found else ""
        if schema and schema not in {HEAD, *OLDER}:
            raise NewerDatabase(f"the database has schema {schema!r}, this program knows up to {HEAD!r}: use the newer version")
        return schema

    def iterate_pages(self, shape: TableShape) -> Iterator[Rows]:
        """Yield the rows of a table in key order, in pages, without the row that marks a database as closed (`state.sql.closed_mark`)."""
        for page in self._fetch(_build_ordered_query(shape, self._text_order)):
            yield [row for row in page if row[0] != closed_mark.KEY] if shape.name == "values" else page

    def query(self, sql: str) -> Rows:
        """Execute the SQL text `sql`, which is written in this program and not given from outside, and return its rows."""
        return [tuple(row) for row in self._driver.execute(sql).fetchall()]

    def sum_table(self, shape: TableShape) -> TableSum:
        """Return the checksum of a table with its number of rows and its size, by reading all its rows."""
        summing = TableSummer()
        for page in self.iterate_pages(shape):
            summing.add(render_lines(shape, page), len(page))
        return summing.sum()

    def _fetch(self, sql: str) -> Iterator[Rows]:
        cursor = self._driver.cursor() if self.is_sqlite else self._driver.cursor(name="sdelka_moving")
        try:
            cursor.execute(sql)
            while page := cursor.fetchmany(PAGE):
                yield list(page)
        finally:
            cursor.close()


def render_lines(shape: TableShape, rows: Sequence[tuple[Any, ...]]) -> bytes:
    """Return the rows as lines of JSON. Raises Unreadable for a value that is neither a string, an integer nor None."""
    out = []
    for row in rows:
        if not all(value is None or type(value) in {str, int} for value in row):
            raise Unreadable(f"a row of table {shape.name} holds a value of another type than it was written with: `sdelka journal verify`")
        out.append(orjson.dumps(row) + b"\n")
    return b"".join(out)


def parse_row(shape: TableShape, line: bytes) -> tuple[Any, ...]:
    """Return the row for one line of `render_lines`. Raises ValueError if the line is not a row of that table."""
    row = orjson.loads(line)
    if not isinstance(row, list) or len(row) != len(shape.columns):
        msg = f"a line of table {shape.name} is no row of it"
        raise ValueError(msg)
    if not all(value is None or type(value) in {str, int} for value in row):
        msg = f"a line of table {shape.name} holds something that is neither text nor number"
        raise ValueError(msg)
    return tuple(row)


def escape_name(name: str) -> str:
    """Quote the name of one of this program's own tables or columns for SQL."""
    return f'"{name}"'


def list_columns(there: Any, name: str) -> list[str]:
    """Return the names of a table's columns, without those that the database computes; `there` is SQLAlchemy's inspector."""
    return [column["name"] for column in there.get_columns(name) if "computed" not in column]


def _read_shape(there: Any, name: str) -> TableShape:
    return TableShape(name=name, columns=tuple(list_columns(there, name)), key=tuple(there.get_pk_constraint(name)["constrained_columns"]))


def _build_ordered_query(shape: TableShape, text_order: str) -> str:
    numbers = {"pos", "seq"}
    order = ", ".join(escape_name(name) if name in numbers else text_order.format(escape_name(name)) for name in shape.key)
    return f"SELECT {', '.join(map(escape_name, shape.columns))} FROM {escape_name(shape.name)} ORDER BY {order}"  # noqa: S608 - names of our own tables


def _format_error(error: Exception) -> str:
    """Return the first line of the driver's message, without the row values that it may quote."""
    return (str(getattr(error, "orig", error)).splitlines() or [type(error).__name__])[0]
