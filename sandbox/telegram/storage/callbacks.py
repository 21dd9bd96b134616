"""Stores clicks on inline buttons, each with the bot's answer, if there is one."""

from typing import Any

import orjson

from sandbox.telegram.storage.database import Database
from sandbox.telegram.wire import JsonObject


def insert(db: Database, callback: JsonObject) -> None:
    """Store a click, given as an object with id, chat_id, message_id, user_id, data and pressed_at."""
    values = [callback[name] for name in ("id", "chat_id", "message_id", "user_id", "data", "pressed_at")]
    db.run("INSERT INTO callbacks VALUES (?, ?, ?, ?, ?, ?, NULL)", *values)


def find(db: Database, callback_id: str) -> JsonObject | None:
    """Return the click with this id and its answer; None if there is no such click."""
    row = db.one("SELECT * FROM callbacks WHERE id = ?", callback_id)
    if row is None:
        return None
    found: dict[str, Any] = dict(row)
    found["answer"] = orjson.loads(found["answer"]) if found["answer"] else None
    return found


def answer(db: Database, callback_id: str, given: JsonObject) -> None:
    """Store the bot's answer to a click."""
    db.run("UPDATE callbacks SET answer = ? WHERE id = ?", orjson.dumps(given).decode(), callback_id)
