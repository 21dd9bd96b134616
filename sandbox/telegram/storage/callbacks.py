"""Clicks of inline buttons, each with at most one answer."""

from typing import Any

import orjson

from sandbox.telegram.storage.database import Database
from sandbox.telegram.wire import JsonObject


def insert(db: Database, callback: JsonObject) -> None:
    """Store a click: id, chat_id, message_id, user_id, data, pressed_at."""
    values = [callback[name] for name in ("id", "chat_id", "message_id", "user_id", "data", "pressed_at")]
    db.run("INSERT INTO callbacks VALUES (?, ?, ?, ?, ?, ?, NULL)", *values)


def find(db: Database, callback_id: str) -> JsonObject | None:
    """Return a click with its answer, or None."""
    row = db.one("SELECT * FROM callbacks WHERE id = ?", callback_id)
    if row is None:
        return None
    found: dict[str, Any] = dict(row)
    found["answer"] = orjson.loads(found["answer"]) if found["answer"] else None
    return found


def answer(db: Database, callback_id: str, given: JsonObject) -> None:
    """Store the answer of a click."""
    db.run("UPDATE callbacks SET answer = ? WHERE id = ?", orjson.dumps(given).decode(), callback_id)
