"""Copies the rows of a database, as they are at one moment, into an empty one. Either may be SQLite or PostgreSQL."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
from filelock import FileLock, Timeout
from sqlalchemy import Connection, Row, Select, column, func, inspect, select, table
from sqlalchemy.exc import SQLAlchemyError

from state.journal.store import StoreError, StoreUnwritable
from state.migrations import HEAD
from state.sql import closed_mark, schema
from state.sql.dialect import Dialect, build_sqlite_url, open_database, open_read_only
from state.sql.tables import leases, metadata
from state.transfer.manifest import DATABASE, Heads
from state.transfer.staging import NotEmpty, Progress, open_staging, publish
from state.verify.database import OLDER, find_sqlite_path

PAGE = 1000
_UNLIMITED = ("statement_timeout", "idle_in_transaction_session_timeout", "lock_timeout")
"""Time limits of a bot's session on PostgreSQL that do not hold for long work."""
_FILLED = "there is a database already: only an empty place is filled, so that nothing is overwritten"


class NothingThere(StoreError):
    """There is no database, or an empty one."""


class InUse(StoreError):
    """Another process uses the database."""


class Unreadable(StoreError):
    """A row holds a value that this program never writes: it is damaged, and a copy would hide the damage."""


class CopyMismatch(StoreError):
    """The copy differs from what was copied."""


def hold_alone(folder: Path, stack: ExitStack) -> None:
    """Hold the lock of the SQLite database in `folder` until `stack` is closed. Raises InUse if a bot holds it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stack.enter_context(FileLock(folder / "sdelka.lock", timeout=0))
    except Timeout:
        raise InUse(f"a process works with the database in {folder}: stop the bot first") from None
    except OSError as error:
        raise StoreUnwritable(f"{folder}: {error.strerror}") from None


@contextmanager
def open_reading(url: str) -> Iterator[Connection]:
    """Open the database at `url`, whatever its encoding, for reading as of this moment, while others work with it.

    Raises NothingThere if there is no database, other StoreErrors if it cannot be read.
    """
    try:
        with open_read_only(url, any_encoding=True) as dialect:
            pass
    except FileNotFoundError as error:
        raise NothingThere(str(error)) from None
    try:
        with translate_errors(StoreError, "the database cannot be read"), dialect.engine.connect() as connection:
            is_sqlite = connection.dialect.name == "sqlite"
            connection.exec_driver_sql("BEGIN" if is_sqlite else "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            _lift_limits(connection)
            yield connection
    finally:
        dialect.engine.dispose()


def read_revision(source: Connection) -> str:
    """Return the schema of the database, "" if it is empty. Raises NewerDatabase if this program does not know it."""
    revision = schema.read_revision(source)
    if revision not in {"", HEAD, *OLDER}:
        raise schema.NewerDatabase(f"the database has schema {revision!r}, this program knows up to {HEAD!r}: use the newer version")
    return revision


@contextmanager
def hold_empty(url: str) -> Iterator[None]:
    """Keep every bot from the database at `url`, if that is a file, while the block runs. Raises NotEmpty if anything is there, InUse."""
    path = find_sqlite_path(url)
    with ExitStack() as stack:
        if path is not None:
            hold_alone(path.parent, stack)
            # SQLite would take a log or journal that lies there for one of the new file.
            files = (path.with_name(f"{path.name}{end}") for end in ("", "-wal", "-journal"))
            if any(file.exists() and file.stat().st_size for file in files):
                raise NotEmpty(f"{_FILLED} ({path})")
            path.unlink(missing_ok=True)
        yield


@contextmanager
def copy_database(source: Connection, url: str, progress: Progress) -> Iterator[dict[str, int]]:
    """Copy every row of `source` into the empty database at `url` and compare; yields the numbers of rows by table.

    Until the block has ended, and for ever if anything fails, nothing of it is there: a file gets its name, and a server commits, at the
    end. Raises NotEmpty, CopyMismatch, Unreadable, and StoreUnwritable if it cannot be filled.
    """
    path = find_sqlite_path(url)
    with ExitStack() as stack:
        if path is None:
            yield stack.enter_context(fill_database(source, url, progress))
            return
        stack.enter_context(translate_errors(StoreUnwritable, "the database was not filled"))
        staged = stack.enter_context(open_staging(path.parent)) / DATABASE
        with fill_database(source, build_sqlite_url(staged), progress) as rows:
            pass
        yield rows
        publish(staged, path)


@contextmanager
def fill_database(source: Connection, url: str, progress: Progress) -> Iterator[dict[str, int]]:
    """Do what `copy_database` does, but a file has its name from the beginning; it is complete when the block has ended."""
    with translate_errors(StoreUnwritable, "the database was not filled"), open_database(url) as dialect:
        try:
            with dialect.engine.begin() as target:
                if list_tables(target):
                    raise NotEmpty(_FILLED)
                create_tables(dialect, target, read_revision(source))
                columns = list_tables(target)
                rows = {name: _copy_table(name, columns[name], source, target, progress) for name in sorted(columns)}
                reset_sequences(target)
                _compare(source, target, rows)
                yield rows
        finally:
            dialect.engine.dispose()  # SQLite brings its log into the file


def create_tables(dialect: Dialect, target: Connection, revision: str) -> None:
    """Create the tables of the schema `revision` in an empty database, within the caller's transaction, which may last long."""
    dialect.lock_schema(target)
    _lift_limits(target)
    schema.migrate_schema(dialect, target, "", revision)


def list_tables(database: Connection) -> dict[str, list[str]]:
    """Return the columns of this program's tables, without those that the database computes from others."""
    there = inspect(database)
    names = set(there.get_table_names()) & set(metadata.tables)
    return {name: [one["name"] for one in there.get_columns(name) if "computed" not in one] for name in names}


def insert_rows(target: Connection, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Insert the rows of a table. Raises Unreadable for a value that is neither a string, an integer nor None."""
    if not all(value is None or type(value) in {str, int} for row in rows for value in row):
        raise Unreadable(f"a row of table {name} holds a value of another type than it was written with: `sdelka journal verify`")
    if rows:
        target.execute(table(name, *map(column, columns)).insert(), [dict(zip(columns, row, strict=True)) for row in rows])


def read_heads(database: Connection) -> Heads:
    """Return the number of streams and records, and a checksum over the seq and hash at which each stream ends."""
    ends = database.execute(select(leases.c.session, leases.c.seq, leases.c.hash).where(leases.c.seq > 0)).all()
    digest = sha256(b"".join(orjson.dumps(tuple(end)) + b"\n" for end in sorted(ends, key=lambda end: end.session.encode())))
    return Heads(streams=len(ends), records=sum(end.seq for end in ends), sha256=digest.hexdigest())


def reset_sequences(database: Connection) -> None:
    """Set PostgreSQL's sequences to continue after the highest stored number."""
    for name in ("inbox", "outbox") if database.dialect.name == "postgresql" else ():
        serial = f"pg_get_serial_sequence('{name}', 'pos')"
        database.exec_driver_sql(f"SELECT setval({serial}, COALESCE(max(pos), 1), max(pos) IS NOT NULL) FROM {name}")  # noqa: S608 - our own


def _copy_table(name: str, columns: Sequence[str], source: Connection, target: Connection, progress: Progress) -> int:
    copied = table(name, *map(column, columns))
    query = select(copied)
    if name == "values":
        query = query.where(copied.c.key != closed_mark.KEY)  # the source is closed, not the copy
    count = 0
    for page in _read_pages(source, query):
        insert_rows(target, name, columns, page)
        count += len(page)
        progress(f"{name}: {count:,} rows")
    return count


def _read_pages(source: Connection, query: Select[Any]) -> Iterator[Sequence[Row[Any]]]:
    with translate_errors(StoreError, "the database cannot be read"):
        yield from source.execute(query.execution_options(stream_results=True)).partitions(PAGE)


def _compare(source: Connection, target: Connection, rows: dict[str, int]) -> None:
    for name, count in rows.items():
        if target.execute(select(func.count()).select_from(table(name))).scalar() != count:
            raise CopyMismatch(f"table {name} does not hold as many rows as were copied")
    if read_heads(source) != read_heads(target):
        raise CopyMismatch("the streams do not end at the same records")


def _lift_limits(connection: Connection) -> None:
    for name in _UNLIMITED if connection.dialect.name == "postgresql" else ():
        connection.exec_driver_sql(f"SET LOCAL {name} = 0")


@contextmanager
def translate_errors(kind: type[StoreError], sentence: str) -> Iterator[None]:
    """Turn the errors of SQLAlchemy and of the system that the block raises into `kind`, with the sentence and the error's first line."""
    try:
        yield
    except (SQLAlchemyError, OSError) as error:  # what follows the first line may quote values
        reason = getattr(error, "orig", None) or error
        raise kind(f"{sentence}: {(str(reason).splitlines() or [type(reason).__name__])[0]}") from None
