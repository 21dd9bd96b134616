"""Upgrades a database to the current schema, under a lock. Never changes a database that a newer program has upgraded."""

import logging

from sqlalchemy import Connection, inspect, text

from state.journal.store import StoreError
from state.migrations import HEAD
from state.sql import closed_mark
from state.sql.dialect import Dialect

log = logging.getLogger(__name__)

_OTHERS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
_OLD_FUNCTIONS = """
SELECT oid::regprocedure::text FROM pg_proc
WHERE proname ~ '^sdelka_(commit|sent|receive)_[0-9a-f]{12}$' AND pronamespace = current_schema()::regnamespace
    AND pg_has_role(proowner, 'USAGE')
"""
"""The functions through which programs of earlier versions commit on PostgreSQL; each creates its own when it starts."""


class NewerDatabase(StoreError):
    """A newer version of this program has changed the database."""


def upgrade_schema(dialect: Dialect) -> None:
    """Run the missing migrations in one transaction. Raises NewerDatabase for a newer schema, ClosedDatabase for a closed database."""
    with dialect.engine.begin() as connection:
        dialect.lock_schema(connection)
        present = read_revision(connection)
        if present:
            closed_mark.refuse_closed_database(connection)
        migrate_schema(dialect, connection, present)


def migrate_schema(dialect: Dialect, connection: Connection, present: str, to: str = HEAD) -> None:
    """Migrate from schema `present` ("" = none) to `to`, within the caller's transaction."""
    if present != to:
        _run_migrations(connection, present, to)
    if dialect.batches_commits and to == HEAD:
        _drop_old_functions(connection)


def _drop_old_functions(connection: Connection) -> None:
    """Remove the server functions of earlier versions, unless somebody else is connected: that may be a program which still calls them."""
    found = connection.exec_driver_sql(_OLD_FUNCTIONS).scalars().all()
    if not found or connection.exec_driver_sql(_OTHERS).scalar():
        return
    for function in found:
        connection.exec_driver_sql(f"DROP FUNCTION {function}")
    log.info("%d server functions of earlier versions removed", len(found), extra={"action": "schema.functions_dropped"})


def check_schema(dialect: Dialect) -> None:
    """Raise StoreError if the schema is not the current one; changes nothing."""
    with dialect.engine.connect() as connection:
        present = read_revision(connection)
    if present != HEAD:
        raise StoreError(f"the database has schema {present or 'nothing'!r}, this program reads {HEAD!r}: start the bot once to upgrade it")


def read_revision(connection: Connection) -> str:
    """Return the revision of the database's schema; "" if there is none."""
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
    for wanted in {present, to} - {""} - known:
        raise NewerDatabase(
            f"the database has schema {wanted!r}, which this program (schema {HEAD!r}) does not know: "
            "it was written by a newer version; start that version, or restore a backup made before the upgrade"
        )
    config.attributes["connection"] = connection
    command.upgrade(config, to)
    log.info("schema brought from %s to %s", present or "nothing", to, extra={"action": "schema.upgrade"})
