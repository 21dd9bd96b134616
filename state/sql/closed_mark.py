"""A mark stored in a database that is closed, so that no program starts to work on it.

A database is closed if its rows were moved to another database. Version 0.1 marked one that it had not filled to its end, too.
"""

from collections.abc import Mapping
from typing import Any

import orjson
from sqlalchemy import Connection, inspect, text

from state.clock import SystemClock, format_iso
from state.journal.store import StoreError

KEY = "closed"


class ClosedDatabase(StoreError):
    """The database is marked as closed: its rows were moved to another database, or filling it did not finish."""


def refuse_closed_database(connection: Connection) -> None:
    """Raise ClosedDatabase, with a message for operators, if the database is marked as closed; works with any schema or none."""
    mark = read_mark(connection)
    if mark is not None:
        raise ClosedDatabase(describe_mark(mark))


def describe_mark(mark: Mapping[str, Any]) -> str:
    """Return why a database with this mark is closed and what to do, as a message for operators."""
    at = mark.get("at", "an unknown time")
    if mark.get("why") == "moved":
        told = f"everything in this database was moved to {mark.get('to', 'another one')} at {at}"
        return f"{told}: set DATABASE_URL to that one, or take this one back with `sdelka db reopen`"
    return f"the {mark.get('by', 'copying')} that began to fill this database at {at} did not come to its end: empty it, and run it again"


def read_mark(connection: Connection) -> dict[str, Any] | None:
    """Return the mark of a closed database as {"why": …, "at": …} with `to` (moved where) or `by` (restore or move).

    None if the database has no mark, {} if the mark cannot be parsed.
    """
    if not inspect(connection).has_table("values"):
        return None
    found = connection.execute(text('SELECT value FROM "values" WHERE key = :key'), {"key": KEY}).scalar()
    if found is None:
        return None
    try:
        told = orjson.loads(found)
    except orjson.JSONDecodeError:
        told = {}
    return told if isinstance(told, dict) else {}


def set_mark(connection: Connection, *, to: str) -> None:
    """Mark the database as moved to the one that `to` describes, within the caller's transaction."""
    value = orjson.dumps({"why": "moved", "at": format_iso(SystemClock().now()), "to": to}).decode()
    remove_mark(connection)
    connection.execute(text('INSERT INTO "values" (key, value) VALUES (:key, :value)'), {"key": KEY, "value": value})


def remove_mark(connection: Connection) -> None:
    """Remove the mark that the database is closed, within the caller's transaction."""
    connection.execute(text('DELETE FROM "values" WHERE key = :key'), {"key": KEY})
