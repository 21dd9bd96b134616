"""Fills an empty database with the rows of a backup or of another database.

Until `DatabaseLoader.finish` is called, the database is marked as incomplete, so that no bot starts on partial data.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from sqlalchemy import Connection, inspect, make_url, text
from sqlalchemy.exc import SQLAlchemyError

from state.journal.store import StoreError, StoreUnwritable
from state.sql import closed_mark, schema
from state.sql.dialect import Dialect, open_database
from state.sql.run_index import rebuild_run_index
from state.sql.store import SqlStore
from state.sql.tables import VIEWS, metadata
from state.transfer.table_reader import TIMEOUT_SETTINGS, DatabaseReading, Rows, TableShape, escape_name, list_columns, open_on_dialect

KNOWN_TABLES = frozenset({*metadata.tables, "alembic_version"})


class NotEmpty(StoreError):
    """The database or log folder to fill is not empty; nothing was changed."""


class InUse(StoreError):
    """Another process uses the database."""


@contextmanager
def open_for_loading(url: str, *, by: str) -> Iterator["DatabaseLoader"]:
    """Open the empty database at `url` for filling it, and keep other processes out while the block runs.

    The tables of an interrupted attempt are removed first. `by` names the operation ("restore", "move"), for the message to an operator who
    starts a bot too early. Raises NotEmpty, InUse, or StoreUnwritable if the database cannot be opened or filled.
    """
    with ExitStack() as stack:
        path = find_sqlite_path(url)
        if path is not None:
            hold_alone(path.parent, stack)
        try:
            dialect = stack.enter_context(open_database(url))
        except (OSError, SQLAlchemyError) as error:
            raise _build_error(error) from None
        stack.callback(dialect.engine.dispose)
        driver: Any = dialect.engine.dialect.loaded_dbapi
        try:
            yield DatabaseLoader(dialect, by=by)
        except (SQLAlchemyError, OSError, driver.Error) as error:
            raise _build_error(error) from None


def find_sqlite_path(url: str) -> Path | None:
    """Return the path of the file if `url` is that of a SQLite database, else None."""
    parsed = make_url(url)
    return Path(str(parsed.database)) if parsed.get_backend_name() == "sqlite" else None


def hold_alone(folder: Path, stack: ExitStack) -> None:
    """Hold the lock of the SQLite database in `folder` until `stack` is closed. Raises InUse if a bot holds it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stack.enter_context(FileLock(folder / "sdelka.lock", timeout=0))
    except Timeout:
        raise InUse(f"a process works with the database in {folder}: stop the bot first") from None
    except OSError as error:
        raise StoreUnwritable(f"{folder}: {error.strerror}") from None


class DatabaseLoader:
    """Fills one empty database; made by `open_for_loading`."""

    def __init__(self, dialect: Dialect, *, by: str) -> None:
        """Drop the tables that an earlier, incomplete load left. Raises NotEmpty if the database holds anything else of this program.

        `by` names the command that loads (restore or move), for the mark that stands in the database until it is complete.
        """
        self._dialect = dialect
        self._by = by
        with self._begin() as connection:
            present = KNOWN_TABLES & set(inspect(connection).get_table_names())
            mark = closed_mark.read_mark(connection) if present else None
            if present and (mark is None or mark.get("why") != "incomplete"):
                raise NotEmpty("there is a database already: only an empty place is filled, so that nothing is overwritten")
            for name in sorted(set(VIEWS) & set(inspect(connection).get_view_names())):
                connection.execute(text(f"DROP VIEW {escape_name(name)}"))
            for name in sorted(present):
                connection.execute(text(f"DROP TABLE {escape_name(name)}"))

    def begin(self, revision: str) -> None:
        """Create the tables of the schema `revision` in the empty database, and mark it as incomplete."""
        with self._begin() as connection:
            schema.migrate_schema(self._dialect, connection, "", revision)
            closed_mark.set_mark(connection, "incomplete", by=self._by)

    def fill(self, tables: Iterable[tuple[TableShape, Iterable[Rows]]]) -> None:
        """Insert the rows of all given tables in one transaction. Raises StoreError if a table does not fit the schema of the database."""
        with self._begin() as connection:
            there = inspect(connection)
            known = {name: list_columns(there, name) for name in KNOWN_TABLES & set(there.get_table_names())}
            driver: Any = connection.connection.driver_connection
            for shape, pages in tables:
                if sorted(known.get(shape.name, ())) != sorted(shape.columns):
                    raise StoreError(f"table {shape.name} with the columns {', '.join(shape.columns)} is none of this schema")
                self._fill(driver, shape, pages)
            if self._dialect.engine.dialect.name == "postgresql":
                _reset_sequences(connection)

    @contextmanager
    def read(self) -> Iterator[DatabaseReading]:
        """Open the filled database for reading, so that the rows can be verified."""
        with open_on_dialect(self._dialect) as database_readings:
            yield database_readings

    def upgrade(self) -> None:
        """Migrate the filled database from its schema to the current one."""
        with self._begin() as connection:
            self._dialect.lock_schema(connection)
            schema.migrate_schema(self._dialect, connection, schema.read_revision(connection))

    def build_store(self) -> SqlStore:
        """Return the filled database as a store; the mark that it is incomplete stays."""
        return SqlStore(self._dialect)

    def rebuild_run_index(self) -> int:
        """Build the index of runs anew from their streams, and return how many runs it lists."""
        return rebuild_run_index(self._dialect)

    def finish(self) -> None:
        """Remove the mark that the database is incomplete: from now on a bot may start on it."""
        with self._begin() as connection:
            closed_mark.remove_mark(connection)

    def begin_change(self) -> AbstractContextManager[Connection]:
        """Begin a transaction in which the caller may change the filled rows before `finish`."""
        return self._begin()

    @contextmanager
    def _begin(self) -> Iterator[Connection]:
        with self._dialect.engine.begin() as connection:
            if self._dialect.engine.dialect.name == "postgresql":
                for name in TIMEOUT_SETTINGS:
                    connection.exec_driver_sql(f"SET LOCAL {name} = 0")
            yield connection

    def _fill(self, driver: Any, shape: TableShape, pages: Iterable[Rows]) -> None:
        names = ", ".join(map(escape_name, shape.columns))
        if self._dialect.engine.dialect.name == "postgresql":
            with driver.cursor() as cursor, cursor.copy(f"COPY {escape_name(shape.name)} ({names}) FROM STDIN") as copy:
                for page in pages:
                    for row in page:
                        copy.write_row(row)
            return
        places = ", ".join("?" for _ in shape.columns)
        for page in pages:
            driver.executemany(f"INSERT INTO {escape_name(shape.name)} ({names}) VALUES ({places})", page)  # noqa: S608 - names of our own tables


def _reset_sequences(connection: Connection) -> None:
    """Set PostgreSQL's sequences to continue after the highest stored number."""
    for name, table in metadata.tables.items():
        if "pos" in table.columns:
            serial = f"pg_get_serial_sequence('{name}', 'pos')"
            connection.exec_driver_sql(f"SELECT setval({serial}, COALESCE(max(pos), 1), max(pos) IS NOT NULL) FROM {escape_name(name)}")  # noqa: S608 - see above


def _build_error(error: Exception) -> StoreUnwritable:
    told: Mapping[int, str] = {28: "the disk is full"}
    reason = getattr(error, "orig", None) or error
    line = (str(reason).splitlines() or [type(reason).__name__])[0]
    return StoreUnwritable(f"the database was not filled: {told.get(getattr(reason, 'errno', None) or 0, line)}")
