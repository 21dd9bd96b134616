"""The mark of a closed database, on which no program starts."""

from collections.abc import Mapping
from typing import Any

import orjson
from sqlalchemy import Connection, inspect, text

from state.clock import SystemClock, format_iso
from state.journal.store import StoreError

KEY = "closed"


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
    stored = connection.execute(text('SELECT value FROM "values" WHERE key = :key'), {"key": KEY}).scalar()
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
    connection.execute(text('INSERT INTO "values" (key, value) VALUES (:key, :value)'), {"key": KEY, "value": value})


def remove_mark(connection: Connection) -> None:
    """Within the caller's transaction."""
    connection.execute(text('DELETE FROM "values" WHERE key = :key'), {"key": KEY})
