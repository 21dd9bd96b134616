"""Adds the table `mentions` (which records and calls an event is about) for `/history` and `GET /audit`, filled from the journal."""

import logging

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Column, Connection, Text

from state.sql.record_index import fill_record_index

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_COMMITS = """
SELECT oid::regprocedure::text FROM pg_proc
WHERE starts_with(proname, 'sdelka_commit_') AND pronamespace = current_schema()::regnamespace AND pg_has_role(proowner, 'USAGE')
"""

log = logging.getLogger(__name__)


def upgrade() -> None:
    """Create the table and fill it in the one transaction of the upgrade: after a crash the upgrade starts from the beginning."""
    op.create_table(
        "mentions",
        *(Column(name, Text, nullable=False) for name in ("about", "what", "event_id", "effect_id")),
        sa.PrimaryKeyConstraint("about", "what", "event_id", name="pk_mentions"),
        sqlite_with_rowid=False,
    )
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        _end_older_programs(connection)
    fill_record_index(connection, _tell)


def _tell(done: int, of: int) -> None:
    log.info("schema 0004: %s of %s records looked through", f"{done:,}", f"{of:,}", extra={"action": "schema.upgrade"})


def _end_older_programs(connection: Connection) -> None:
    """Make older programs that still run unable to commit, because they would not fill the new table.

    Their leases (rights to write a session) end, and on PostgreSQL the server functions with which they commit are dropped.
    """
    connection.exec_driver_sql("UPDATE leases SET owner = ''")  # waits for the commits under way
    for (function,) in connection.exec_driver_sql(_COMMITS).all():
        connection.exec_driver_sql(f"DROP FUNCTION {function}")
