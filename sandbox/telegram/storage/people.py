"""Stores the simulated people who can talk to the bot, and the chats that they are in."""

from dataclasses import dataclass
from typing import Any, Literal

import orjson

from sandbox.telegram.storage.database import Database
from sandbox.telegram.wire import JsonObject

BOT_ROLE = "bot"
"""The role of an account that is another bot."""
ANONYMOUS: JsonObject = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
CHANNEL: JsonObject = {"id": 136817688, "is_bot": True, "first_name": "Channel", "username": "Channel_Bot"}
BOT: JsonObject = {"id": 1, "is_bot": True, "first_name": "Сделка", "username": "sdelka_sandbox_bot"}


GroupKind = Literal["group", "supergroup", "forum"]


@dataclass(frozen=True)
class Person:
    """A simulated person with a Telegram account; the private chat with the bot has the same id."""

    id: int
    first_name: str
    username: str
    role: str
    bitrix_id: int | None = None
    language_code: str = "ru"

    def user(self) -> JsonObject:
        """Return the Bot API's User object for the person."""
        return {
            "id": self.id,
            "is_bot": self.role == BOT_ROLE,
            "first_name": self.first_name,
            "username": self.username,
            "language_code": self.language_code,
        }


SEEDED = (
    Person(1001, "Ольга", "olga_admin", "admin", 1),
    Person(1006, "Анна", "anna_lead", "lead", 6),
    Person(1007, "Борис", "boris_sales", "manager", 7),
    Person(1008, "Вера", "vera_sales", "manager", 8),
    Person(1999, "Гость", "guest_1999", "stranger"),
)


def seed_people(db: Database) -> None:
    """Add the predefined people (`SEEDED`) who are not stored yet. Stored people are not changed."""
    for person in SEEDED:
        if find_person(db, person.id) is None:
            add_person(db, person)


def add_person(db: Database, person: Person) -> None:
    """Add or replace a person, together with the private chat with the bot."""
    values = (person.id, person.first_name, person.username, person.role, person.bitrix_id, person.language_code)
    with db.transaction():
        db.run("INSERT OR REPLACE INTO people VALUES (?, ?, ?, ?, ?, ?)", *values)
        db.run("INSERT OR REPLACE INTO chats (id, kind, title) VALUES (?, 'private', ?)", person.id, person.first_name)


def set_language(db: Database, language_code: str) -> None:
    """Set the language of everybody's Telegram; the bot's menus are offered in it."""
    db.run("UPDATE people SET language_code = ?", language_code)


def find_person(db: Database, person_id: int) -> Person | None:
    """Return the person with this id, or None."""
    row = db.one("SELECT * FROM people WHERE id = ?", person_id)
    return Person(**dict(row)) if row else None


def all_people(db: Database) -> list[Person]:
    """Return all people, sorted by id."""
    return [Person(**dict(row)) for row in db.all("SELECT * FROM people ORDER BY id")]


def add_group(db: Database, title: str, members: list[int], kind: GroupKind = "supergroup") -> int:
    """Create a group with the bot as a member, and return its negative id. The kind "forum" is a supergroup with topics."""
    highest = -4_000 if kind == "group" else -100_200_000
    row = db.one("SELECT MIN(id) AS lowest FROM chats WHERE id <= ? AND id > ?", highest, highest * 1000)
    chat_id = (row["lowest"] if row and row["lowest"] else highest) - 1
    listed = orjson.dumps(sorted(members)).decode()
    db.run("INSERT INTO chats (id, kind, title, members) VALUES (?, ?, ?, ?)", chat_id, kind, title, listed)
    return chat_id


def find_chat(db: Database, chat_id: int) -> JsonObject | None:
    """Return the Bot API's Chat object for this id, or None."""
    row = db.one("SELECT * FROM chats WHERE id = ?", chat_id)
    if row is None:
        return None
    if row["kind"] == "forum":
        return {"id": row["id"], "type": "supergroup", "title": row["title"], "is_forum": True}
    if row["kind"] != "private":
        return {"id": row["id"], "type": row["kind"], "title": row["title"]}
    person = find_person(db, chat_id)
    username = {"username": person.username} if person else {}
    return {"id": row["id"], "type": "private", "first_name": row["title"], **username}


def members_of(db: Database, chat_id: int) -> list[int]:
    """Return the ids of the people in a chat; of a private chat this is the person's id."""
    row = db.one("SELECT kind, members FROM chats WHERE id = ?", chat_id)
    if row is None:
        return []
    members: list[int] = [chat_id] if row["kind"] == "private" else orjson.loads(row["members"])
    return members


def groups(db: Database) -> list[dict[str, Any]]:
    """Return all groups, each with its id, kind, title and members."""
    rows = db.all("SELECT id, kind, title, members FROM chats WHERE kind <> 'private' ORDER BY id DESC")
    return [{"chat_id": row["id"], "kind": row["kind"], "title": row["title"], "members": orjson.loads(row["members"])} for row in rows]
