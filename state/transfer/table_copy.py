"""Copies the rows of a database, as of one moment, into an empty one."""

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
from state.sql import schema
from state.sql.dialect import Dialect, build_sqlite_url, open_database, open_read_only
from state.sql.tables import leases, metadata
from state.transfer.manifest import DATABASE, Heads
from state.transfer.staging import NotEmpty, Progress, open_staging, publish
from state.verify.database import OLDER, find_sqlite_path

PAGE = 1000
_UNLIMITED = ("statement_timeout", "idle_in_transaction_session_timeout", "lock_timeout")
_FILLED = "there is a database already: only an empty place is filled, so that nothing is overwritten"


class NothingThere(StoreError):
    pass


class InUse(StoreError):
    pass


class Unreadable(StoreError):
    """This program never writes such a value: a copy would hide the damage."""


class CopyMismatch(StoreError):
    pass


def hold_alone(folder: Path, stack: ExitStack) -> None:
    """Lock the folder until `stack` is closed. Raises InUse."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stack.enter_context(FileLock(folder / "sdelka.lock", timeout=0))
    except Timeout:
        raise InUse(f"a process works with the database in {folder}: stop the bot first") from None
    except OSError as error:
        raise StoreUnwritable(f"{folder}: {error.strerror}") from None


@contextmanager
def open_reading(url: str) -> Iterator[Connection]:
    """Read as of this moment, whatever the encoding.

    Raises NothingThere or other StoreErrors.
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
    """ "" for an empty database. Raises NewerDatabase."""
    revision = schema.read_revision(source)
    if revision not in {"", HEAD, *OLDER}:
        raise schema.NewerDatabase(f"the database has schema {revision!r}, this program knows up to {HEAD!r}: use the newer version")
    return revision


@contextmanager
def hold_empty(url: str) -> Iterator[None]:
    """Keep bots from a SQLite file. Raises NotEmpty, InUse."""
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
    """Copy all and compare; yields rows by table.

    Nothing is there until the block ends, nor if anything fails. Raises NotEmpty, CopyMismatch, Unreadable, StoreUnwritable.
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
    """Like `copy_database`, but a file has its name from the beginning."""
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
    """Within the caller's transaction, which may last long."""
    dialect.lock_schema(target)
    _lift_limits(target)
    schema.migrate_schema(dialect, target, "", revision)


def list_tables(database: Connection) -> dict[str, list[str]]:
    """Return columns by table, without computed ones."""
    there = inspect(database)
    names = set(there.get_table_names()) & set(metadata.tables)
    return {name: [one["name"] for one in there.get_columns(name) if "computed" not in one] for name in names}


def insert_rows(target: Connection, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Raises Unreadable for a value that is no string, integer or None."""
    if not all(value is None or type(value) in {str, int} for row in rows for value in row):
        raise Unreadable(f"a row of table {name} holds a value of another type than it was written with: `sdelka journal verify`")
    if rows:
        target.execute(table(name, *map(column, columns)).insert(), [dict(zip(columns, row, strict=True)) for row in rows])


def read_heads(database: Connection) -> Heads:
    ends = database.execute(select(leases.c.session, leases.c.seq, leases.c.hash).where(leases.c.seq > 0)).all()
    digest = sha256(b"".join(orjson.dumps(tuple(end)) + b"\n" for end in sorted(ends, key=lambda end: end.session.encode())))
    return Heads(streams=len(ends), records=sum(end.seq for end in ends), sha256=digest.hexdigest())


def reset_sequences(database: Connection) -> None:
    for name in ("inbox", "outbox") if database.dialect.name == "postgresql" else ():
        serial = f"pg_get_serial_sequence('{name}', 'pos')"
        database.exec_driver_sql(f"SELECT setval({serial}, COALESCE(max(pos), 1), max(pos) IS NOT NULL) FROM {name}")  # noqa: S608 - our own


def _copy_table(name: str, columns: Sequence[str], source: Connection, target: Connection, progress: Progress) -> int:
    copied = table(name, *map(column, columns))
    query = select(copied)
    if name == "values":
        query = query.where(copied.c.key != schema.CLOSED_KEY)  # the source is closed, not the copy
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
    """Keep the first line of the error: the next ones may quote values."""
    try:
        yield
    except (SQLAlchemyError, OSError) as error:  # what follows the first line may quote values
        reason = getattr(error, "orig", None) or error
        raise kind(f"{sentence}: {(str(reason).splitlines() or [type(reason).__name__])[0]}") from None
