"""Stores the messages of each chat as Message objects of the Bot API. Deleted ones are kept and marked, for the page and for tests."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from sandbox.telegram.storage.database import Database
from sandbox.telegram.wire import JsonObject

EPHEMERAL = "ephemeral"
"""The key in a message for one person of a group that holds who that is; never sent over the wire."""
_OURS = frozenset({EPHEMERAL, "force_reply"})


def over_the_wire(body: JsonObject) -> JsonObject:
    """Return a stored message as the bot receives it: without the fields that only the person's client knows.

    The id of an ephemeral message (visible to one person) is moved to the field `ephemeral_message_id`.
    """
    given = {name: value for name, value in body.items() if name not in _OURS}
    if EPHEMERAL in body:
        given |= {"message_id": 0, "ephemeral_message_id": body["message_id"], "receiver_user": body[EPHEMERAL]["receiver"]}
    return given


@dataclass(frozen=True)
class StoredMessage:
    """A Message object of the Bot API, whether it was deleted, and the bot's reactions to it."""

    body: JsonObject
    deleted: bool
    reactions: list[str]

    @property
    def message_id(self) -> int:
        """The id of the message in its chat."""
        return int(self.body["message_id"])

    @property
    def chat_id(self) -> int:
        """The id of the chat that the message is in."""
        return int(self.body["chat"]["id"])


def insert(db: Database, body: JsonObject) -> JsonObject:
    """Store a new message, and return it with its id. Ids increase over all chats together, as a bot sees them in private chats."""
    with db.transaction():
        cursor = db.run("INSERT INTO messages (chat_id, body) VALUES (?, '{}')", body["chat"]["id"])
        stored = {"message_id": cursor.lastrowid, **body}
        db.run("UPDATE messages SET body = ? WHERE message_id = ?", _dumped(stored), cursor.lastrowid)
    return stored


def replace(db: Database, body: JsonObject) -> None:
    """Store a changed message in place of the one with the same id."""
    db.run("UPDATE messages SET body = ? WHERE message_id = ?", _dumped(body), body["message_id"])


def find(db: Database, chat_id: int, message_id: int) -> StoredMessage | None:
    """Return the message of this chat with this id, even if it is deleted; None if the chat never had it."""
    row = db.one("SELECT * FROM messages WHERE chat_id = ? AND message_id = ?", chat_id, message_id)
    return _stored(row) if row else None


def of_chat(db: Database, chat_id: int, after: int) -> list[StoredMessage]:
    """Return the messages of a chat with ids above `after`, oldest first."""
    statement = "SELECT * FROM messages WHERE chat_id = ? AND message_id > ? ORDER BY message_id"
    return [_stored(row) for row in db.all(statement, chat_id, after)]


def last_of_chats(db: Database) -> dict[int, StoredMessage]:
    """Return the newest message of each chat that is visible to everybody and not deleted, by chat id."""
    rows = db.all(
        "SELECT * FROM messages WHERE message_id IN (SELECT MAX(message_id) FROM messages"
        " WHERE deleted = 0 AND json_extract(body, '$.ephemeral') IS NULL GROUP BY chat_id)",
    )
    return {row["chat_id"]: _stored(row) for row in rows}


def mark_deleted(db: Database, message_id: int) -> None:
    """Mark a message as deleted."""
    db.run("UPDATE messages SET deleted = 1 WHERE message_id = ?", message_id)


def set_reactions(db: Database, message_id: int, emoji: Iterable[str]) -> None:
    """Store the bot's reactions to a message."""
    db.run("UPDATE messages SET reactions = ? WHERE message_id = ?", _dumped(list(emoji)), message_id)


def _stored(row: Any) -> StoredMessage:
    return StoredMessage(orjson.loads(row["body"]), bool(row["deleted"]), orjson.loads(row["reactions"]))


def _dumped(value: Any) -> str:
    return orjson.dumps(value).decode()
