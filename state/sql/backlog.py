"""Reads how many rows wait in the database and since when, for monitoring. It reads only numbers and times, within a time limit."""

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
"""The time limit of one statement in seconds; a statement that takes longer is aborted, and the reading fails."""
_MOST: Final = 5000
"""The most open effects of each status that are searched for the oldest one."""
_STEPS: Final = 20_000
"""Steps of SQLite's virtual machine between two checks of the time limit: a fraction of a millisecond."""
OPEN: Final = ("requested", "approved", "started", "unknown")
OPEN_RUNS: Final = ("running", "waiting", "paused")


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """The number of waiting rows, and the time since which the oldest has waited (ISO 8601, "" if none waits)."""

    count: int = 0
    oldest: str = ""


@dataclass(frozen=True, kw_only=True)
class Backlog:
    """The work that waits in each table at one moment; see each field."""

    inbox: Mapping[str, Waiting] = field(default_factory=dict)
    """New inbox rows by lane; lanes are the separate queues of one session."""
    outbox: Mapping[tuple[str, str], Waiting] = field(default_factory=dict)
    """Outbox rows by channel and status (new, failed)."""
    effects: Mapping[str, Waiting] = field(default_factory=dict)
    """Effects (proposed or executed calls) by status; `oldest` is set only for statuses that are not final."""
    runs: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """How many runs (executions of scenarios, flows or workflows) are not over, by engine and status."""
    timers: int = 0
    timers_due: int = 0
    database_bytes: int = 0
    frozen: bool = False
    """Whether all writes to the portal are stopped."""


@dataclass(frozen=True, kw_only=True)
class HeldLeases:
    """The sessions that some process works on at one moment."""

    count: int = 0
    held: tuple[tuple[str, str, str], ...] = ()
    """Session, owner and end of the lease (ISO 8601) of the first of them, by session."""


class BacklogReader:
    """Reads the backlog of the database at `url` over its own connection, while others work with the database.

    Use it from one thread. Its methods raise StoreUnwritable.
    """

    def __init__(self, url: str) -> None:
        """Keep the URL; the database is opened by the first `read`."""
        self._url = url
        self._engine: Engine | None = None

    def read(self, now: str) -> Backlog:
        """Return the backlog at this moment. `now` is the present time (ISO 8601): timers set for it or earlier are due."""
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
        """Return in which sessions inputs are being worked on at the time `now` (ISO 8601), at most `limit` of them one by one.

        A lease is kept for a while after the work, so one without new inputs is none.
        """
        work = exists().where(inbox.c.session == leases.c.session, inbox.c.status == "new")
        held = (leases.c.owner != "", leases.c.until > now, ~leases.c.session.startswith(PROCESS), work)
        engine = self._open()
        with translate_errors(engine.dialect.loaded_dbapi.Error), engine.connect() as connection:
            _limit_time(connection)
            count = int(connection.execute(select(func.count()).select_from(leases).where(*held)).scalar_one())
            found = select(leases.c.session, leases.c.owner, leases.c.until).where(*held).order_by(leases.c.session).limit(limit)
            return HeldLeases(count=count, held=tuple((row[0], row[1], row[2]) for row in connection.execute(found)))

    def _open(self) -> Engine:
        if self._engine is None:
            with translate_errors(), open_read_only(self._url) as dialect:
                self._engine = dialect.engine
        return self._engine

    def close(self) -> None:
        """Close the connection."""
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
    found = select(inbox.c.lane, func.count(), func.min(inbox.c.received_at)).where(inbox.c.status == "new").group_by(inbox.c.lane)
    return {lane: Waiting(count=count, oldest=oldest) for lane, count, oldest in connection.execute(found)}


def _count_outbox(connection: Connection) -> dict[tuple[str, str], Waiting]:
    found = select(outbox.c.channel, outbox.c.status, func.count(), func.min(outbox.c.created_at)).group_by(
        outbox.c.channel, outbox.c.status
    )
    return {(channel, status): Waiting(count=count, oldest=oldest) for channel, status, count, oldest in connection.execute(found)}


def _count_runs(connection: Connection) -> dict[tuple[str, str], int]:
    found = select(runs.c.engine, runs.c.status, func.count()).where(runs.c.status.in_(OPEN_RUNS)).group_by(runs.c.engine, runs.c.status)
    return {(engine, status): count for engine, status, count in connection.execute(found)}


def _count_effects(connection: Connection) -> dict[str, Waiting]:
    """Return by status the number of effects (proposed calls) and since when the oldest has waited, "" for statuses that do not wait.

    Those that wait are the statuses in OPEN. Counting reads only an index. The table, whose rows are long, is read only to find the oldest
    one.
    """
    counts: dict[str, int] = {
        row[0]: row[1] for row in connection.execute(select(effects.c.status, func.count()).group_by(effects.c.status))
    }
    found = {status: Waiting(count=count) for status, count in counts.items()}
    for status in OPEN:
        if status not in counts:
            continue
        ids = connection.execute(select(effects.c.effect_id).where(effects.c.status == status).limit(_MOST)).scalars().all()
        oldest = connection.execute(select(func.min(effects.c.updated_at)).where(effects.c.effect_id.in_(ids))).scalar()
        found[status] = Waiting(count=counts[status], oldest=oldest or "")
    return found


def _measure_size(connection: Connection, url: str) -> int:
    if connection.dialect.name == "postgresql":
        return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())
    file = Path(str(make_url(url).database))
    return sum(part.stat().st_size for part in (file, Path(f"{file}-wal")) if part.exists())
