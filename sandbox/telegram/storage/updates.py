"""The queue of updates for the bot. Update ids increase by one, and confirmed updates are deleted.

An update that is not confirmed is kept as long as Telegram would keep it, which depends on its kind.
"""

from datetime import datetime

import orjson

from sandbox.telegram.storage.database import Database
from sandbox.telegram.wire import JsonObject

# How long Telegram's own server keeps a kind, in seconds (telegram-bot-api, `add_update`); everything else a day.
_LIFETIME = {"callback_query": 150, "inline_query": 30}
_DAY = 24 * 60 * 60
FIRST_UPDATE_ID = 700_000_001
# Kinds that are sent only to a bot that names them.
_ON_REQUEST = {"chat_member", "message_reaction", "message_reaction_count"}


def add(db: Database, kind: str, payload: JsonObject, now: datetime) -> int | None:
    """Queue an update and return its id; None if the bot did not ask for updates of this kind, which are dropped as on Telegram."""
    allowed = db.setting("allowed_updates")
    if kind not in allowed if allowed else kind in _ON_REQUEST:
        return None
    expires = now.timestamp() + _LIFETIME.get(kind, _DAY)
    return _insert(db, kind, orjson.dumps({kind: payload}).decode(), expires)


def add_raw(db: Database, body: JsonObject, now: datetime) -> int:
    """Queue `body` as an update without checking it, and return its new update_id."""
    kind = next((name for name in body if name != "update_id"), "unknown")
    return _insert(db, kind, orjson.dumps(body).decode(), now.timestamp() + _DAY)


def pending(db: Database, now: datetime, limit: int) -> list[JsonObject]:
    """Return at most `limit` waiting updates, oldest first. Before that, updates that have expired are deleted."""
    db.run("DELETE FROM updates WHERE expires_at <= ?", now.timestamp())
    rows = db.all("SELECT update_id, body FROM updates ORDER BY update_id LIMIT ?", limit)
    return [{**orjson.loads(row["body"]), "update_id": row["update_id"]} for row in rows]


def count(db: Database, now: datetime) -> int:
    """Return the number of waiting updates that have not expired."""
    row = db.one("SELECT COUNT(*) AS waiting FROM updates WHERE expires_at > ?", now.timestamp())
    return int(row["waiting"]) if row else 0


def confirm_below(db: Database, offset: int) -> None:
    """Delete all updates with ids below `offset`. A negative offset keeps only that many of the newest updates."""
    if offset < 0:
        row = db.one("SELECT update_id FROM updates ORDER BY update_id DESC LIMIT 1 OFFSET ?", -offset - 1)
        offset = int(row["update_id"]) if row else 0
    db.run("DELETE FROM updates WHERE update_id < ?", offset)


def remove(db: Database, update_id: int) -> None:
    """Delete one update; called when the webhook has accepted it."""
    db.run("DELETE FROM updates WHERE update_id = ?", update_id)


def drop_all(db: Database) -> None:
    """Delete all waiting updates."""
    db.run("DELETE FROM updates")


def _insert(db: Database, kind: str, body: str, expires: float) -> int:
    row = db.one("SELECT seq FROM sqlite_sequence WHERE name = 'updates'")
    update_id = max(int(row["seq"]) + 1 if row else 0, FIRST_UPDATE_ID)
    db.run("INSERT INTO updates VALUES (?, ?, ?, ?)", update_id, kind, body, expires)
    return update_id
