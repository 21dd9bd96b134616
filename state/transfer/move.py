"""Moves a database: copies all rows into another one and marks the source, so that no bot starts on it any more. Deletes nothing."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, make_url, text
from sqlalchemy.exc import SQLAlchemyError

from state.journal.store import StoreError, StoreUnwritable
from state.migrations import HEAD
from state.sql import closed_mark
from state.sql.dialect import SCHEMA_LOCK, Dialect, open_database
from state.transfer.archive import Progress
from state.transfer.backup import read_heads
from state.transfer.loader import InUse, find_sqlite_path, hold_alone, open_for_loading
from state.transfer.manifest import Heads
from state.transfer.restore import RestoreMismatch
from state.transfer.table_reader import DatabaseReading, NothingThere, Rows, TableShape, TableSum, TableSummer, open_reading, render_lines

_OTHERS = """
SELECT count(*), string_agg(DISTINCT COALESCE(NULLIF(application_name, ''), usename::text), ', ') FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


class SamePlace(StoreError):
    """The source and the target of a move are the same database."""


@dataclass(frozen=True, kw_only=True)
class MoveResult:
    """What was moved: the number of rows by table and the ends of the streams, verified to be equal in both databases."""

    rows: dict[str, int]
    heads: Heads
    source: str
    target: str


def format_url(url: str) -> str:
    """Return a description of the database at `url` for people, without user and password."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return f"SQLite {parsed.database}"
    return f"PostgreSQL {parsed.host or 'localhost'}/{parsed.database}"


def move_database(source: str, target: str, progress: Progress = lambda _: None) -> MoveResult:
    """Copy every row of `source` into the empty `target`, read both again, compare, and mark the source as moved.

    Raises InUse, NothingThere, SamePlace or NotEmpty before anything is changed. After any other error the source is unchanged and the
    target, if anything was written to it, carries a mark so that no bot starts on it.
    """
    if make_url(source) == make_url(target) or (find_sqlite_path(source) and find_sqlite_path(source) == find_sqlite_path(target)):
        raise SamePlace("that is the database it stands in already")
    with ExitStack() as stack:
        exclusive_database = stack.enter_context(hold_exclusively(source, any_encoding=True))
        with open_reading(source) as reading:
            if reading.schema != HEAD:
                instead = "start the bot once, then move it, or restore a backup of it in the other place"
                raise NothingThere(f"there is no database of schema {HEAD} in {format_url(source)}: {instead}")
            if reading.mark is not None and (reading.mark.get("why") != "moved" or reading.mark.get("to") != format_url(target)):
                raise closed_mark.ClosedDatabase(closed_mark.describe_mark(reading.mark))
            loading = stack.enter_context(open_for_loading(target, by="move"))
            loading.begin(reading.schema)
            counted = {shape.name: TableSummer() for shape in reading.shapes}
            loading.fill((shape, _sum_pages(reading, shape, counted[shape.name], progress)) for shape in reading.shapes)
            heads = read_heads(reading)
            with loading.read() as there:
                _compare(reading, there, {name: table_summer.sum() for name, table_summer in counted.items()}, heads, progress)
        loading.upgrade()  # creates the functions of PostgreSQL
        # From here on the target counts. The source is closed first, so that at no moment both can be started on.
        with exclusive_database.begin() as connection:
            closed_mark.set_mark(connection, "moved", to=format_url(target))
        loading.finish()
    return MoveResult(
        rows={name: one.sum().rows for name, one in counted.items()}, heads=heads, source=format_url(source), target=format_url(target)
    )


def find_move_target(url: str) -> str:
    """Return to which database the one at `url` was moved, "" if it was not moved.

    Raises StoreError if filling the database did not finish, InUse if a bot uses it.
    """
    with hold_exclusively(url) as exclusive_databases, exclusive_databases.begin() as connection:
        return _read_move_target(connection)


def clear_moved_mark(url: str) -> str:
    """Remove the mark that the database was moved; return where it was moved to, "" if it had no mark.

    Raises StoreError if filling the database did not finish, InUse if a bot uses it.
    """
    with hold_exclusively(url) as exclusive_databases, exclusive_databases.begin() as connection:
        was = _read_move_target(connection)
        if was:
            closed_mark.remove_mark(connection)
        return was


def _read_move_target(connection: Connection) -> str:
    mark = closed_mark.read_mark(connection)
    if mark is None:
        return ""
    if mark.get("why") != "moved":
        raise StoreError("this database is incomplete: run again what began to fill it")
    return str(mark.get("to", "another database"))


class ExclusiveDatabase:
    """A database that no bot can use now; made by `hold_exclusively`."""

    def __init__(self, dialect: Dialect) -> None:
        """Work on an opened and locked database."""
        self._dialect = dialect

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """Begin a transaction. Raises StoreUnwritable if the database refuses it."""
        try:
            with self._dialect.engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise StoreUnwritable(f"the database could not be marked: {getattr(error, 'orig', error)}") from None


@contextmanager
def hold_exclusively(url: str, *, any_encoding: bool = False) -> Iterator[ExclusiveDatabase]:
    """Keep every bot from the database, opened as by `open_database`, while the block runs.

    Raises InUse if one is running, NothingThere for a missing SQLite file.
    """
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
        yield ExclusiveDatabase(dialect)


@contextmanager
def _hold_schema_lock(dialect: Dialect) -> Iterator[None]:
    """Hold the schema lock, which every program takes when it starts. A program that runs already is detected by its connection."""
    with dialect.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if not connection.execute(text(f"SELECT pg_try_advisory_lock({SCHEMA_LOCK})")).scalar():
            raise InUse("a program is starting on the database: stop every bot first")
        others: Any = connection.execute(text(_OTHERS)).one()
        if others[0]:
            raise InUse(f"{others[0]} other connections work with the database ({others[1]}): stop every bot and close other tools first")
        yield


def _sum_pages(database_reading: DatabaseReading, shape: TableShape, summing: TableSummer, progress: Progress) -> Iterator[Rows]:
    count = 0
    for page in database_reading.iterate_pages(shape):
        summing.add(render_lines(shape, page), len(page))
        count += len(page)
        progress(f"{shape.name}: {count:,} rows")
        yield page


def _compare(found: DatabaseReading, there: DatabaseReading, sums: dict[str, TableSum], heads: Heads, progress: Progress) -> None:
    """Read all rows back from the target (`there`) and compare them with the source (`found`). Raises RestoreMismatch if they differ.

    `sums` are the checksums of the source's tables, `heads` the ends of its streams.
    """
    for shape in found.shapes:
        progress(f"comparing {shape.name}")
        if there.sum_table(shape) != sums[shape.name]:
            raise RestoreMismatch(f"table {shape.name} is not the same in both databases: the source is as before, nothing was moved")
    if read_heads(there) != heads:
        raise RestoreMismatch("the streams do not end at the same records: the source is as before, nothing was moved")
