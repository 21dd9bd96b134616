"""Upgrades a database to the current schema, under a lock; no program starts on one that is marked as closed."""

import logging
from collections.abc import Mapping
from typing import Any

import orjson
from sqlalchemy import Connection, inspect, text

from state.clock import SystemClock, format_iso
from state.journal.store import StoreError
from state.migrations import HEAD
from state.sql.dialect import Dialect

CLOSED_KEY = "closed"


class ClosedDatabase(StoreError):
    """Its rows were moved, or filling it did not finish."""


def refuse_closed_database(connection: Connection) -> None:
    """Works with any schema or none."""
    mark = read_mark(connection)
    if mark is not None:
        raise ClosedDatabase(describe_mark(mark))


def describe_mark(mark: Mapping[str, Any]) -> str:
    at = mark.get("at", "an unknown time")
    if mark.get("why") == "moved":
        sentence = f"everything in this database was moved to {mark.get('to', 'another one')} at {at}"
        return f"{sentence}: set DATABASE_URL to that one, or take this one back with `sdelka db reopen`"
    return f"the {mark.get('by', 'copying')} that began to fill this database at {at} did not come to its end: empty it, and run it again"


def read_mark(connection: Connection) -> dict[str, Any] | None:
    """Return {"why", "at"} with `to` or `by`; None for no mark, {} for an unreadable one."""
    if not inspect(connection).has_table("values"):
        return None
    stored = connection.execute(text('SELECT value FROM "values" WHERE key = :key'), {"key": CLOSED_KEY}).scalar()
    if stored is None:
        return None
    try:
        mark = orjson.loads(stored)
    except orjson.JSONDecodeError:
        mark = {}
    return mark if isinstance(mark, dict) else {}


def set_mark(connection: Connection, *, to: str) -> None:
    """Within the caller's transaction."""
    value = orjson.dumps({"why": "moved", "at": format_iso(SystemClock().now()), "to": to}).decode()
    remove_mark(connection)
    connection.execute(text('INSERT INTO "values" (key, value) VALUES (:key, :value)'), {"key": CLOSED_KEY, "value": value})


def remove_mark(connection: Connection) -> None:
    """Within the caller's transaction."""
    connection.execute(text('DELETE FROM "values" WHERE key = :key'), {"key": CLOSED_KEY})


log = logging.getLogger(__name__)

_OTHERS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
_OLD_FUNCTIONS = """
SELECT oid::regprocedure::text FROM pg_proc
WHERE proname ~ '^sdelka_(commit|sent|receive)_[0-9a-f]{12}$' AND pronamespace = current_schema()::regnamespace
    AND pg_has_role(proowner, 'USAGE')
"""


class NewerDatabase(StoreError):
    pass


def upgrade_schema(dialect: Dialect) -> None:
    """In one transaction. Raises NewerDatabase, ClosedDatabase."""
    with dialect.engine.begin() as connection:
        dialect.lock_schema(connection)
        present = read_revision(connection)
        if present:
            refuse_closed_database(connection)
        migrate_schema(dialect, connection, present)


def migrate_schema(dialect: Dialect, connection: Connection, present: str, to: str = HEAD) -> None:
    """From `present` ("" for none), within the caller's transaction."""
    if present != to:
        _run_migrations(connection, present, to)
    if dialect.batches_commits and to == HEAD:
        _drop_old_functions(connection)


def _drop_old_functions(connection: Connection) -> None:
    """Not while others are connected: one may still call them."""
    functions = connection.exec_driver_sql(_OLD_FUNCTIONS).scalars().all()
    if not functions or connection.exec_driver_sql(_OTHERS).scalar():
        return
    for function in functions:
        connection.exec_driver_sql(f"DROP FUNCTION {function}")
    log.info("%d server functions of earlier versions removed", len(functions), extra={"action": "schema.functions_dropped"})


def check_schema(dialect: Dialect) -> None:
    """Raise StoreError if it is not the current one."""
    with dialect.engine.connect() as connection:
        present = read_revision(connection)
    if present != HEAD:
        raise StoreError(f"the database has schema {present or 'nothing'!r}, this program reads {HEAD!r}: start the bot once to upgrade it")


def read_revision(connection: Connection) -> str:
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or "")


def _run_migrations(connection: Connection, present: str, to: str) -> None:
    # Loaded only when needed: Alembic would cost a tenth of a second at every start.
    from alembic import command  # noqa: PLC0415  see above
    from alembic.config import Config  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", "state:migrations")
    config.set_main_option("path_separator", "os")
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    for revision in {present, to} - {""} - known:
        raise NewerDatabase(
            f"the database has schema {revision!r}, which this program (schema {HEAD!r}) does not know: "
            "it was written by a newer version; start that version, or restore a backup made before the upgrade"
        )
    config.attributes["connection"] = connection
    command.upgrade(config, to)
    log.info("schema brought from %s to %s", present or "nothing", to, extra={"action": "schema.upgrade"})
