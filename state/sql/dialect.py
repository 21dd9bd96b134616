"""The only module that distinguishes SQLite from PostgreSQL."""

import select
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from filelock import FileLock
from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, make_url
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.pool import NullPool, QueuePool, StaticPool

from state.journal.store import StoreError

BUSY_SECONDS = 5.0
CACHE_KB = 8000
THREADS = 16
"""Concurrent calls of one process to PostgreSQL, each on its own connection."""
SESSION_SETTINGS = """
SELECT set_config('lock_timeout', '5s', false), set_config('statement_timeout', '30s', false),
    set_config('idle_in_transaction_session_timeout', '10s', false), set_config('TimeZone', 'UTC', false),
    set_config('plan_cache_mode', 'force_generic_plan', false), set_config('jit', 'off', false),
    set_config('default_transaction_isolation', 'read committed', false),
    set_config('tcp_keepalives_idle', '15', false), set_config('tcp_keepalives_interval', '5', false),
    set_config('tcp_keepalives_count', '3', false),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit')
        WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)
"""
"""Time limits keep a suspended process from blocking others; a commit in one round trip has only the keepalives."""
NETWORK = {"connect_timeout": 10, "keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 20_000}
SCHEMA_LOCK = 0x5DE1CA


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """`begin` begins a writing transaction, `begin_one` one of a single statement.

    `one_writer`: writing threads take turns, as the database's lock is unfair. `one_connection`: it must never be closed.
    """

    engine: Engine
    insert: Callable[[Table], Any]
    begin: str
    begin_one: str
    batches_commits: bool
    """Single statements would cost a round trip each."""
    threads: int
    one_writer: bool
    one_connection: bool
    lock_schema: Callable[[Connection], None]
    read_only: Callable[[Any, object], None]
    take: Callable[[Any], None]
    alive: Callable[[Any], bool] | None
    """Whether a connection seems usable, without a round trip; None if there is no server."""
    unflushed: Callable[[Exception], bool]
    settle: Callable[[Any], None]
    """Flushes the log after a doubtful flush; raises the driver's error."""
    now: Callable[[Connection | Any], datetime | None]
    """Reads the database's clock; None if it uses this machine's."""


class WrongEncoding(StoreError):
    """The first «₽» would fail in the middle of work."""


@contextmanager
def open_database(url: str, *, any_encoding: bool = False) -> Iterator[Dialect]:
    """Open the database; meanwhile no other process opens the same SQLite file.

    `any_encoding`: also one that cannot hold every text. Raises ValueError for another kind.
    """
    parsed = make_url(url)
    if parsed.get_backend_name() == "postgresql":
        yield _build_postgresql(parsed, any_encoding=any_encoding)
    elif parsed.get_backend_name() != "sqlite":
        msg = f"a database of kind {parsed.get_backend_name()!r} is not known: sqlite or postgresql"
        raise ValueError(msg)
    elif parsed.database in (None, "", ":memory:"):
        yield _build_sqlite(parsed, StaticPool)
    else:
        path = Path(str(parsed.database))
        path.parent.mkdir(parents=True, exist_ok=True)
        # Two processes may create the file at once, and the switch to a write-ahead log does not wait for the other process.
        with FileLock(f"{path}.lock"):
            path.touch(mode=0o600)  # private to its owner, and SQLite gives its log the same mode; an existing file keeps its mode
            dialect = _build_sqlite(parsed, QueuePool)
            _set_write_ahead(dialect.engine)
            yield dialect


@contextmanager
def open_read_only(url: str, *, any_encoding: bool = False) -> Iterator[Dialect]:
    """Open for reading beside others. Raises FileNotFoundError."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        if not Path(str(parsed.database)).is_file():
            raise FileNotFoundError(f"there is no database {parsed.database}")
        dialect = _build_sqlite(parsed, QueuePool)  # its mode and its lock are the writers' business
        event.remove(dialect.engine, "begin", _begin_immediate)
    else:
        dialect = _build_postgresql(parsed, any_encoding=any_encoding)
    event.listen(dialect.engine, "connect", dialect.read_only)
    yield dialect


def build_sqlite_url(path: Path) -> str:
    return URL.create("sqlite", database=str(path)).render_as_string(hide_password=False)


def _build_sqlite(url: URL, pool: type[StaticPool | QueuePool]) -> Dialect:
    engine = create_engine(
        url,
        poolclass=pool,
        paramstyle="named",
        # None: the driver never begins a transaction itself; this program does (below and in Dialect.begin).
        connect_args={"check_same_thread": False, "isolation_level": None, "timeout": BUSY_SECONDS},
        pool_reset_on_return=None,
    )
    event.listen(engine, "connect", _set_pragmas)
    event.listen(engine, "begin", _begin_immediate)
    return Dialect(
        engine=engine,
        insert=sqlite.insert,
        begin="BEGIN IMMEDIATE",
        begin_one="BEGIN IMMEDIATE",
        batches_commits=False,
        threads=1,
        one_writer=True,
        one_connection=pool is StaticPool,
        lock_schema=lambda _: None,
        read_only=_set_query_only,
        take=lambda _: None,
        alive=None,
        unflushed=_may_be_unflushed,
        settle=(lambda _: None) if pool is StaticPool else _checkpoint,
        now=lambda _: None,
    )


def _set_write_ahead(engine: Engine) -> None:
    try:
        connection = engine.raw_connection()
        connection.cursor().execute("PRAGMA journal_mode=WAL")
        connection.close()
    except sqlite3.Error as error:
        engine.dispose()
        raise OSError(str(error)) from error


def _set_pragmas(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute(f"PRAGMA busy_timeout={int(BUSY_SECONDS * 1000)}")
    cursor.execute(f"PRAGMA cache_size=-{CACHE_KB}")
    cursor.close()


def _checkpoint(connection: Any) -> None:
    """After a failed flush another would report success although pages were lost."""
    busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise sqlite3.OperationalError("the log cannot be emptied while somebody reads")


def _may_be_unflushed(error: Exception) -> bool:
    """Return False for a held lock or a full disk: SQLite notices these before it flushes."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is None or code & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL)


def _set_query_only(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA query_only=ON")
    cursor.close()


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _build_postgresql(url: URL, *, any_encoding: bool) -> Dialect:
    network: dict[str, object] = {name: value for name, value in NETWORK.items() if name not in url.query}
    network["client_encoding"] = "utf8"  # of a database in SQL_ASCII, the driver would otherwise give bytes
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        poolclass=NullPool,  # Database keeps the connections; their number follows from the calling threads
        pool_reset_on_return=None,
        connect_args=network,
    )
    if not any_encoding:
        event.listen(engine, "connect", _check_encoding)
    event.listen(engine, "connect", _apply_session_settings)
    return Dialect(
        engine=engine,
        insert=postgresql.insert,
        begin="BEGIN",
        begin_one="",
        batches_commits=True,
        threads=THREADS,
        one_writer=False,
        one_connection=False,
        lock_schema=_take_advisory_lock,
        read_only=_set_read_only,
        take=_set_own_transactions,
        alive=_is_alive,
        unflushed=lambda _: False,
        settle=lambda _: None,  # the server stops itself when a flush fails
        now=_read_server_clock,
    )


def _check_encoding(connection: Any, _record: object) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise WrongEncoding(f"the database is in {encoding}: make it anew with ENCODING 'UTF8' (`sdelka db move` copies)")


def _apply_session_settings(connection: Any, _record: object) -> None:
    connection.execute(SESSION_SETTINGS)
    connection.commit()


def _set_read_only(connection: Any, _record: object) -> None:
    connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
    connection.commit()


def _set_own_transactions(connection: Any) -> None:
    connection.autocommit = True


def _is_alive(connection: Any) -> bool:
    """Data on an idle connection is usually the server's notice of closing."""
    if connection.closed:
        return False
    waiting = select.poll()
    waiting.register(connection.pgconn.socket, select.POLLIN)
    if not waiting.poll(0):
        return True
    try:
        connection.pgconn.consume_input()
    except get_connection_error():
        return False
    return not waiting.poll(0) and not connection.closed


def get_connection_error() -> type[Exception]:
    """Raised when the server is gone."""
    from psycopg import OperationalError  # noqa: PLC0415  who works with SQLite does not load the driver of PostgreSQL

    return OperationalError


def _read_server_clock(cursor: Any) -> datetime:
    moment: datetime = cursor.execute("SELECT clock_timestamp()").fetchone()[0]
    return moment


def _take_advisory_lock(connection: Connection) -> None:
    """Wait without a time limit."""
    connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
    connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({SCHEMA_LOCK})")
