"""Reads the state of a database within seconds, while a bot is busy."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import Connection, create_engine, inspect, make_url, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from state.clock import format_iso
from state.journal.store import StoreError
from state.sql import schema
from state.sql.dialect import BUSY_SECONDS, open_read_only
from state.sql.tables import definition_keys, values

_STEPS: Final = 10_000
_LATELY: Final = timedelta(days=1)
_SERVER: Final = """
SELECT current_setting('server_version_num')::int, current_setting('server_version'), pg_is_in_recovery(),
    pg_database_size(current_database()), clock_timestamp(),
    (SELECT count(*) FROM pg_stat_activity), current_setting('max_connections')::int
"""
_SETTINGS: Final = """
SELECT name, reset_val FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'default_transaction_read_only')
"""


@dataclass(frozen=True, kw_only=True)
class Work:
    """`oldest` is when the first was received, "" for none."""

    waiting: int
    oldest: str
    undelivered: int
    unknown: int
    held: int
    """Leases; a stopped bot holds none."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """`size` is in bytes."""

    number: int
    version: str
    standby: bool
    size: int
    now: datetime
    connections: int
    most_connections: int
    may_write: bool
    settings: Mapping[str, str] = field(default_factory=dict)


def read_schema(url: str) -> str:
    """ "" for none. Raises StoreError."""
    try:
        with _connect(url) as connection:
            if not inspect(connection).has_table("alembic_version"):
                return ""
            return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or "")
    except (SQLAlchemyError, OSError, UnicodeDecodeError) as error:
        raise _build_error(error) from None


def read_work(url: str, now: datetime) -> Work:
    """Raises StoreError."""
    try:
        with _connect(url) as connection:
            return _read_work(connection, now)
    except (SQLAlchemyError, OSError) as error:
        raise _build_error(error) from None


def read_server(url: str) -> Server:
    """Raises StoreError."""
    try:
        with _connect(url) as connection:
            number, version, standby, size, now, used, most = connection.execute(text(_SERVER)).one()
            settings = {str(name): str(value) for name, value in connection.execute(text(_SETTINGS))}
            may_write = _may_write(connection)
    except (SQLAlchemyError, OSError) as error:
        raise _build_error(error) from None
    return Server(
        number=number,
        version=str(version).split()[0],
        standby=standby,
        size=size,
        now=now,
        connections=used,
        most_connections=most,
        may_write=may_write,
        settings=settings,
    )


def read_value(url: str, key: str) -> str | None:
    """None also without a database. Raises StoreError."""
    try:
        with _connect(url) as connection:
            row = connection.execute(select(values.c.value).where(values.c.key == key)).one_or_none()
    except FileNotFoundError:
        return None
    except (SQLAlchemyError, OSError) as error:
        raise _build_error(error) from None
    return str(row[0]) if row is not None else None


def read_definition_kinds(url: str) -> set[str]:
    """Empty if the database cannot be read."""
    try:
        with _connect(url) as connection:
            return set(connection.scalars(select(definition_keys.c.kind).distinct()))
    except (SQLAlchemyError, OSError):
        return set()


def explain_closed(url: str) -> str:
    """Return why no bot may start on it, "" if one may. Raises StoreError."""
    try:
        with _connect(url) as connection:
            mark = schema.read_mark(connection)
    except (SQLAlchemyError, OSError) as error:
        raise _build_error(error) from None
    return schema.describe_mark(mark) if mark is not None else ""


def run_quick_check(path: Path, seconds: float) -> list[str] | None:
    """Return [] if intact, None if it takes longer than `seconds`."""
    until = monotonic() + seconds
    try:
        with closing(_open_read_only(path)) as connection:
            connection.set_progress_handler(lambda: monotonic() > until, _STEPS)
            return [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)") if row[0] != "ok"]
    except sqlite3.OperationalError as error:
        return None if "interrupt" in str(error) else [str(error)]
    except sqlite3.Error as error:
        return [str(error)]


@contextmanager
def _connect(url: str) -> Iterator[Connection]:
    """Open without writing: SQLite would otherwise write its log into the file at the last closing."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        with open_read_only(url) as dialect, dialect.engine.connect() as connection:
            yield connection
        return
    path = Path(str(parsed.database))
    if not path.is_file():
        raise FileNotFoundError(f"there is no database {path}")
    engine = create_engine("sqlite://", creator=lambda: _open_read_only(path), poolclass=NullPool)
    with engine.connect() as connection:
        yield connection


def _open_read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=BUSY_SECONDS)


def _read_work(connection: Connection, now: datetime) -> Work:
    def one(sql: str, **params: str) -> Any:
        return connection.execute(text(sql), params).one()

    waiting, oldest = one("SELECT count(*), min(received_at) FROM inbox WHERE status = 'new'")
    undelivered = one("SELECT count(*) FROM outbox WHERE status = 'new'")[0]
    unknown = one("SELECT count(*) FROM effects WHERE status = 'unknown' AND updated_at > :since", since=format_iso(now - _LATELY))[0]
    live_leases = one("SELECT count(*) FROM leases WHERE owner <> '' AND until > :now", now=format_iso(now))[0]
    return Work(waiting=waiting, oldest=str(oldest or ""), undelivered=undelivered, unknown=unknown, held=live_leases)


def _may_write(connection: Connection) -> bool:
    """Before the tables exist: whether it may create them."""
    if inspect(connection).has_table("events"):
        return bool(
            connection.execute(text("SELECT has_table_privilege('events', 'INSERT') AND has_table_privilege('leases', 'UPDATE')")).scalar()
        )
    return bool(connection.execute(text("SELECT has_schema_privilege(current_schema(), 'CREATE')")).scalar())


def _build_error(error: Exception) -> StoreError:
    """The driver's message on one line, without the statement."""
    message = " ".join(str(getattr(error, "orig", None) or error).split())
    return StoreError(message[:300])
