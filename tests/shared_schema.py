"""Lets the new databases of tests share one run of the migrations: each later one is made by the same statements, without Alembic.

Alembic takes a tenth of a second to find out which statements it wants, and a thousand tests begin with a database on a disk or a server.
Upgrades of databases that hold something are left alone.
"""

from typing import Any

from sqlalchemy import Connection, event

from state.migrations import HEAD
from state.sql import schema

_migrate = schema._run_migrations
_recorded: dict[str, list[tuple[str, Any, bool]]] = {}
"""Kind of database → the statements of all migrations, with their values and whether these are many rows."""


def share_schema() -> None:
    """From here on this process asks Alembic once for each kind of database how a new one is made."""
    schema._run_migrations = migrate_from_record


def migrate_from_record(connection: Connection, present: str, to: str) -> None:
    """Migrate as the program does; a new database of today's schema by what was recorded when the first was made."""
    if present or to != HEAD or schema.HEAD != HEAD:
        _migrate(connection, present, to)
        return
    kind = connection.dialect.name
    if kind not in _recorded:
        _recorded[kind] = _record(connection, to)
        return
    for statement, values, is_many in _recorded[kind]:
        connection.exec_driver_sql(statement, values if is_many or values else None)
    schema.log.info("schema brought from %s to %s", "nothing", to, extra={"action": "schema.upgrade"})


def _record(connection: Connection, to: str) -> list[tuple[str, Any, bool]]:
    found: list[tuple[str, Any, bool]] = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, _context: Any, is_many: bool) -> None:  # noqa: FBT001 - as it is called
        if not statement.lstrip().startswith(("SELECT", "PRAGMA main.", "PRAGMA temp.")):
            found.append((statement, values, is_many))

    event.listen(connection, "before_cursor_execute", note)
    try:
        _migrate(connection, "", to)
    finally:
        event.remove(connection, "before_cursor_execute", note)
    return found
