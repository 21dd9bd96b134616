"""Stores the bot's state in each chat where it is not a normal member, and the topics of forums.

The state is, for example, blocked, removed, never started, or moved to a supergroup.
"""

from typing import Literal, get_args

from sandbox.telegram.storage.database import Database
from sandbox.telegram.wire import JsonObject

State = Literal["unstarted", "blocked", "deactivated", "kicked", "left", "migrated"]
STATES: tuple[State, ...] = get_args(State)


def state_of(db: Database, chat_id: int) -> State | None:
    """Return the bot's state in a chat, such as "blocked" or "kicked"; None if it is a normal member."""
    row = db.one("SELECT state FROM standings WHERE chat_id = ?", chat_id)
    return row["state"] if row else None


def moved_to(db: Database, chat_id: int) -> int | None:
    """Return the id of the supergroup that the group became, or None."""
    row = db.one("SELECT moved_to FROM standings WHERE chat_id = ?", chat_id)
    return int(row["moved_to"]) if row and row["moved_to"] else None


def put(db: Database, chat_id: int, state: State, *, moved: int | None = None) -> None:
    """Store the bot's state in a chat. For the state "migrated", `moved` is the id of the new supergroup."""
    db.run("INSERT OR REPLACE INTO standings VALUES (?, ?, ?)", chat_id, state, moved)


def clear(db: Database, chat_id: int) -> None:
    """Make the bot a normal member of the chat again."""
    db.run("DELETE FROM standings WHERE chat_id = ?", chat_id)


def add_topic(db: Database, chat_id: int, thread_id: int, name: str) -> None:
    """Store a topic of a forum (a group with topics). Its id is the id of the message that opened it."""
    db.run("INSERT INTO topics VALUES (?, ?, ?)", thread_id, chat_id, name)


def find_topic(db: Database, chat_id: int, thread_id: int) -> JsonObject | None:
    """Return the topic of a forum (a group with topics) with this id, or None."""
    row = db.one("SELECT * FROM topics WHERE thread_id = ? AND chat_id = ?", thread_id, chat_id)
    return dict(row) if row else None


def topics_of(db: Database, chat_id: int) -> list[JsonObject]:
    """Return the topics of a forum (a group with topics), in the order in which they were opened."""
    return [dict(row) for row in db.all("SELECT * FROM topics WHERE chat_id = ? ORDER BY thread_id", chat_id)]
