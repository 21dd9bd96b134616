"""Reads for monitoring how many rows wait and since when."""

import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, exists, func, select, text
from sqlalchemy.engine import make_url

from state.journal.process_lease import PREFIX as PROCESS
from state.journal.store import SWITCH
from state.sql.database import translate_errors
from state.sql.dialect import open_read_only
from state.sql.tables import effects, inbox, leases, outbox, runs, timers, values

TIMEOUT_SECONDS: Final = 2.0
"""Of one statement; longer ones are aborted."""
_MOST: Final = 5000
_STEPS: Final = 20_000
OPEN: Final = ("requested", "approved", "started", "unknown")
OPEN_RUNS: Final = ("running", "waiting", "paused")


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """`oldest` is when its waiting began (ISO 8601, "" for none)."""

    count: int = 0
    oldest: str = ""


@dataclass(frozen=True, kw_only=True)
class Backlog:
    inbox: Mapping[str, Waiting] = field(default_factory=dict)
    outbox: Mapping[tuple[str, str], Waiting] = field(default_factory=dict)
    effects: Mapping[str, Waiting] = field(default_factory=dict)
    """By status; `oldest` only for open ones."""
    runs: Mapping[tuple[str, str], int] = field(default_factory=dict)
    timers: int = 0
    timers_due: int = 0
    database_bytes: int = 0
    frozen: bool = False


@dataclass(frozen=True, kw_only=True)
class HeldLeases:
    count: int = 0
    held: tuple[tuple[str, str, str], ...] = ()
    """(session, owner, end) of the first ones."""


class BacklogReader:
    """Over its own connection, from one thread. Raises StoreUnwritable."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._engine: Engine | None = None

    def read(self, now: str) -> Backlog:
        engine = self._open()
        with translate_errors(engine.dialect.loaded_dbapi.Error), engine.connect() as connection:
            _limit_time(connection)
            open_effects = _count_effects(connection)
            due = select(func.count()).where(timers.c.due_at <= now)
            return Backlog(
                inbox=_count_inbox(connection),
                outbox=_count_outbox(connection),
                effects=open_effects,
                runs=_count_runs(connection),
                timers=int(connection.execute(select(func.count()).select_from(timers)).scalar_one()),
                timers_due=int(connection.execute(due).scalar_one()),
                database_bytes=_measure_size(connection, self._url),
                frozen=bool(connection.execute(select(values.c.value).where(values.c.key == SWITCH)).scalar()),
            )

    def read_leases(self, now: str, limit: int) -> HeldLeases:
        """List sessions whose inputs are worked on now.

        A lease outlasts its work, so one without new inputs does not count.
        """
        work = exists().where(inbox.c.session == leases.c.session, inbox.c.status == "new")
        conditions = (leases.c.owner != "", leases.c.until > now, ~leases.c.session.startswith(PROCESS), work)
        engine = self._open()
        with translate_errors(engine.dialect.loaded_dbapi.Error), engine.connect() as connection:
            _limit_time(connection)
            count = int(connection.execute(select(func.count()).select_from(leases).where(*conditions)).scalar_one())
            query = select(leases.c.session, leases.c.owner, leases.c.until).where(*conditions).order_by(leases.c.session).limit(limit)
            return HeldLeases(count=count, held=tuple((row[0], row[1], row[2]) for row in connection.execute(query)))

    def _open(self) -> Engine:
        if self._engine is None:
            with translate_errors(), open_read_only(self._url) as dialect:
                self._engine = dialect.engine
        return self._engine

    def close(self) -> None:
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None


def _limit_time(connection: Connection) -> None:
    driver: Any = connection.connection.driver_connection
    if isinstance(driver, sqlite3.Connection):
        until = time.monotonic() + TIMEOUT_SECONDS
        driver.set_progress_handler(lambda: int(time.monotonic() > until), _STEPS)
    else:
        connection.execute(text(f"SET statement_timeout = {int(TIMEOUT_SECONDS * 1000)}"))


def _count_inbox(connection: Connection) -> dict[str, Waiting]:
    query = select(inbox.c.lane, func.count(), func.min(inbox.c.received_at)).where(inbox.c.status == "new").group_by(inbox.c.lane)
    return {lane: Waiting(count=count, oldest=oldest) for lane, count, oldest in connection.execute(query)}


def _count_outbox(connection: Connection) -> dict[tuple[str, str], Waiting]:
    query = select(outbox.c.channel, outbox.c.status, func.count(), func.min(outbox.c.created_at)).group_by(
        outbox.c.channel, outbox.c.status
    )
    return {(channel, status): Waiting(count=count, oldest=oldest) for channel, status, count, oldest in connection.execute(query)}


def _count_runs(connection: Connection) -> dict[tuple[str, str], int]:
    query = select(runs.c.engine, runs.c.status, func.count()).where(runs.c.status.in_(OPEN_RUNS)).group_by(runs.c.engine, runs.c.status)
    return {(engine, status): count for engine, status, count in connection.execute(query)}


def _count_effects(connection: Connection) -> dict[str, Waiting]:
    """Counting reads only an index; the long rows are read only for the oldest."""
    counts: dict[str, int] = {
        row[0]: row[1] for row in connection.execute(select(effects.c.status, func.count()).group_by(effects.c.status))
    }
    waiting_by_status = {status: Waiting(count=count) for status, count in counts.items()}
    for status in OPEN:
        if status not in counts:
            continue
        ids = connection.execute(select(effects.c.effect_id).where(effects.c.status == status).limit(_MOST)).scalars().all()
        oldest = connection.execute(select(func.min(effects.c.updated_at)).where(effects.c.effect_id.in_(ids))).scalar()
        waiting_by_status[status] = Waiting(count=counts[status], oldest=oldest or "")
    return waiting_by_status


def _measure_size(connection: Connection, url: str) -> int:
    if connection.dialect.name == "postgresql":
        return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())
    file = Path(str(make_url(url).database))
    return sum(part.stat().st_size for part in (file, Path(f"{file}-wal")) if part.exists())
