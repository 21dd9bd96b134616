"""The one place that knows SQLite from PostgreSQL (ring 1): how to open, begin, insert-or, and lock the schema."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock
from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, make_url
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.pool import QueuePool, StaticPool

BUSY_SECONDS = 5.0
POOL_SIZE = 4
SCHEMA_LOCK = 0x5DE1CA
"""The number of the advisory lock under which PostgreSQL's schema is changed."""


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """What differs between the two databases. `begin` opens a writing transaction, "" where the driver does it.

    `one_writer`: threads of this process take turns before they ask the database, whose own queue is unfair.
    `one_connection`: there is just one for everybody, so readers take turns too, and it must never be thrown away.
    """

    engine: Engine
    insert: Callable[[Table], Any]
    begin: str
    one_writer: bool
    one_connection: bool
    lock_schema: Callable[[Connection], None]
    read_only: Callable[[Any, object], None]
    """Makes the database itself refuse every write of a new connection."""


@contextmanager
def opening(url: str) -> Iterator[Dialect]:
    """Open the database behind `url`; while the block runs no other process opens the same SQLite file."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "postgresql":
        yield _postgresql(parsed)
    elif parsed.get_backend_name() != "sqlite":
        msg = f"a database of kind {parsed.get_backend_name()!r} is not known: sqlite or postgresql"
        raise ValueError(msg)
    elif parsed.database in (None, "", ":memory:"):
        yield _sqlite(parsed, StaticPool)
    else:
        path = Path(str(parsed.database))
        path.parent.mkdir(parents=True, exist_ok=True)
        # Two processes may create the file at once, and switching to WAL does not wait for the other one.
        with FileLock(f"{path}.lock"):
            dialect = _sqlite(parsed, QueuePool)
            _write_ahead(dialect.engine)
            yield dialect


@contextmanager
def looking(url: str) -> Iterator[Dialect]:
    """The database behind `url` for somebody who only reads, while others may work with it; FileNotFoundError for a missing file."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite" and not Path(str(parsed.database)).is_file():
        raise FileNotFoundError(f"there is no database {parsed.database}")
    with opening(url) as dialect:
        event.listen(dialect.engine, "connect", dialect.read_only)
        yield dialect


def sqlite_url(path: Path) -> str:
    """The address of the SQLite file `path`, for `open_store`."""
    return URL.create("sqlite", database=str(path)).render_as_string(hide_password=False)


def _sqlite(url: URL, pool: type[StaticPool | QueuePool]) -> Dialect:
    engine = create_engine(
        url,
        poolclass=pool,
        paramstyle="named",
        # None: the driver never begins by itself, we do (below and in Dialect.begin).
        connect_args={"check_same_thread": False, "isolation_level": None, "timeout": BUSY_SECONDS},
        pool_reset_on_return=None,
    )
    event.listen(engine, "connect", _pragmas)
    event.listen(engine, "begin", _begin_immediate)
    return Dialect(
        engine=engine,
        insert=sqlite.insert,
        begin="BEGIN IMMEDIATE",
        one_writer=True,
        one_connection=pool is StaticPool,
        lock_schema=lambda _: None,
        read_only=_query_only,
    )


def _write_ahead(engine: Engine) -> None:
    try:
        connection = engine.raw_connection()
        connection.cursor().execute("PRAGMA journal_mode=WAL")
        connection.close()
    except sqlite3.Error as error:
        engine.dispose()
        raise OSError(str(error)) from error


def _pragmas(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute(f"PRAGMA busy_timeout={int(BUSY_SECONDS * 1000)}")
    cursor.close()


def _query_only(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA query_only=ON")
    cursor.close()


def _read_only_session(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
    cursor.close()
    connection.commit()


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _postgresql(url: URL) -> Dialect:
    engine = create_engine(url.set(drivername="postgresql+psycopg"), pool_size=POOL_SIZE, pool_reset_on_return=None, pool_pre_ping=False)
    return Dialect(
        engine=engine,
        insert=postgresql.insert,
        begin="",
        one_writer=False,
        one_connection=False,
        lock_schema=_advisory_lock,
        read_only=_read_only_session,
    )


def _advisory_lock(connection: Connection) -> None:
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({SCHEMA_LOCK})")
