"""Moves a database: copies all rows and marks the source, so that no bot starts on it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, make_url, text
from sqlalchemy.exc import SQLAlchemyError

from state.journal.store import StoreError, StoreUnwritable
from state.migrations import HEAD
from state.sql import schema
from state.sql.dialect import SCHEMA_LOCK, Dialect, open_database
from state.transfer.manifest import Heads
from state.transfer.staging import Progress
from state.transfer.table_copy import (
    InUse,
    NothingThere,
    copy_database,
    hold_alone,
    hold_empty,
    open_reading,
    read_heads,
    read_revision,
)
from state.verify.database import find_sqlite_path

_OTHERS = """
SELECT count(*), string_agg(DISTINCT COALESCE(NULLIF(application_name, ''), usename::text), ', ') FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


class SamePlace(StoreError):
    pass


@dataclass(frozen=True, kw_only=True)
class MoveResult:
    rows: dict[str, int]
    heads: Heads
    source: str
    target: str


def format_url(url: str) -> str:
    """Without user and password."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return f"SQLite {parsed.database}"
    return f"PostgreSQL {parsed.host or 'localhost'}/{parsed.database}"


def move_database(source: str, target: str, progress: Progress = lambda _: None) -> MoveResult:
    """Copy into the empty `target`, compare, and mark the source.

    Raises InUse, NothingThere, SamePlace or NotEmpty before any change. A target left incomplete at the end is marked; moving again
    completes it.
    """
    if make_url(source) == make_url(target) or (find_sqlite_path(source) and find_sqlite_path(source) == find_sqlite_path(target)):
        raise SamePlace("that is the database it stands in already")
    with ExitStack() as stack:
        dialect = stack.enter_context(hold_exclusively(source, any_encoding=True))
        reading = stack.enter_context(open_reading(source))
        if read_revision(reading) != HEAD:
            instead = "start the bot once, then move it, or restore a backup of it in the other place"
            raise NothingThere(f"there is no database of schema {HEAD} in {format_url(source)}: {instead}")
        mark = schema.read_mark(reading)
        if mark is not None and (mark.get("why") != "moved" or mark.get("to") != format_url(target)):
            raise schema.ClosedDatabase(schema.describe_mark(mark))
        stack.enter_context(hold_empty(target))
        with copy_database(reading, target, progress) as rows, _begin(dialect) as connection:
            # From here on the target counts. The source is closed first, so that at no moment both can be started on.
            schema.set_mark(connection, to=format_url(target))
        return MoveResult(rows=rows, heads=read_heads(reading), source=format_url(source), target=format_url(target))


def find_move_target(url: str) -> str:
    """Return the target, "" if it was not moved.

    Raises StoreError if it was not filled, InUse if a bot uses it.
    """
    with hold_exclusively(url) as dialect, _begin(dialect) as connection:
        return _read_move_target(connection)


def clear_moved_mark(url: str) -> str:
    """Return and raise as `find_move_target`."""
    with hold_exclusively(url) as dialect, _begin(dialect) as connection:
        was = _read_move_target(connection)
        if was:
            schema.remove_mark(connection)
        return was


def _read_move_target(connection: Connection) -> str:
    mark = schema.read_mark(connection)
    if mark is None:
        return ""
    if mark.get("why") != "moved":
        raise StoreError("this database was not filled to its end: empty it, and run again what began to fill it")
    return str(mark.get("to", "another database"))


@contextmanager
def _begin(dialect: Dialect) -> Iterator[Connection]:
    try:
        with dialect.engine.begin() as connection:
            yield connection
    except SQLAlchemyError as error:
        raise StoreUnwritable(f"the database could not be marked: {getattr(error, 'orig', error)}") from None


@contextmanager
def hold_exclusively(url: str, *, any_encoding: bool = False) -> Iterator[Dialect]:
    """Keep every bot away. Raises InUse, and NothingThere for a missing file."""
    with ExitStack() as stack:
        path = find_sqlite_path(url)
        if path is not None:
            if not path.is_file():
                raise NothingThere(f"there is no database {path}")
            hold_alone(path.parent, stack)
        try:
            dialect = stack.enter_context(open_database(url, any_encoding=any_encoding))
            stack.callback(dialect.engine.dispose)
            if path is None:
                stack.enter_context(_hold_schema_lock(dialect))
        except (OSError, SQLAlchemyError) as error:
            raise StoreUnwritable(f"{format_url(url)} cannot be opened: {str(getattr(error, 'orig', error)).splitlines()[0]}") from None
        yield dialect


@contextmanager
def _hold_schema_lock(dialect: Dialect) -> Iterator[None]:
    """Every program takes this lock when it starts."""
    with dialect.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if not connection.execute(text(f"SELECT pg_try_advisory_lock({SCHEMA_LOCK})")).scalar():
            raise InUse("a program is starting on the database: stop every bot first")
        others: Any = connection.execute(text(_OTHERS)).one()
        if others[0]:
            raise InUse(f"{others[0]} other connections work with the database ({others[1]}): stop every bot and close other tools first")
        yield
