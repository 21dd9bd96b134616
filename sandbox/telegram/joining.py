"""Changes the membership of chats: blocking and removing the bot, members, topics, and turning a group into a supergroup."""

from collections.abc import Sequence

import orjson

from sandbox.telegram.acting import CannotActError, chat_for, tell
from sandbox.telegram.clock import unix
from sandbox.telegram.storage import messages, people, standings
from sandbox.telegram.storage.messages import StoredMessage
from sandbox.telegram.storage.people import BOT, Person
from sandbox.telegram.storage.standings import State
from sandbox.telegram.views import show_message
from sandbox.telegram.wire import JsonObject
from sandbox.telegram.world import World

_OUT = {"blocked": "kicked", "kicked": "kicked", "left": "left"}


def set_standing(world: World, by: Person, chat_id: int, state: State | None) -> int | None:
    """Set the bot's state in a chat, such as "blocked" or "kicked"; None makes it a normal member again.

    `by` is the person who does it. Returns the id of the `my_chat_member` update, or None if the bot's membership does not change.
    """
    private = chat_id > 0
    if state is not None and (state in {"kicked", "left", "migrated"}) == private:
        raise CannotActError(f"a {'person' if private else 'group'} cannot put the bot into the state {state!r}")
    chat = chat_for(world, by, chat_id)
    was = standings.state_of(world.db, chat_id)
    if was == "migrated":
        raise CannotActError(f"chat {chat_id} became supergroup {standings.moved_to(world.db, chat_id)}")
    if state is None:
        standings.clear(world.db, chat_id)
    else:
        standings.put(world.db, chat_id, state)
    old, new = _OUT.get(was or "", "member"), _OUT.get(state or "", "member")
    if old == new:
        return None
    change = {
        "chat": chat,
        "from": by.user(),
        "date": unix(world.clock()),
        "old_chat_member": _bot_as(old),
        "new_chat_member": _bot_as(new),
    }
    return world.queue_update("my_chat_member", change)


def migrate(world: World, by: Person, chat_id: int) -> int:
    """Turn a group into a supergroup and return the new chat id. A service message about it is written in the old and in the new chat."""
    chat = chat_for(world, by, chat_id)
    if chat["type"] != "group":
        raise CannotActError(f"chat {chat_id} is a {chat['type']} and stays one")
    moved = people.add_group(world.db, chat["title"], people.members_of(world.db, chat_id))
    new = people.find_chat(world.db, moved)
    note(world, by, chat, {"migrate_to_chat_id": moved})
    standings.put(world.db, chat_id, "migrated", moved=moved)
    note(world, by, new or {}, {"migrate_from_chat_id": chat_id})
    world.hub.publish("people", 0)
    return moved


def change_members(world: World, by: Person, chat_id: int, *, add: Sequence[Person], remove: Sequence[Person]) -> None:
    """Add people to a group and remove others, each with a service message in the group."""
    chat = chat_for(world, by, chat_id)
    if add:
        _store_members(world, chat_id, {*people.members_of(world.db, chat_id), *(person.id for person in add)})
        note(world, by, chat, {"new_chat_members": [person.user() for person in add]})
    for person in remove:
        note(world, by, chat, {"left_chat_member": person.user()})
        _store_members(world, chat_id, {*people.members_of(world.db, chat_id)} - {person.id})
    world.hub.publish("people", 0)


def open_topic(world: World, by: Person, chat_id: int, name: str) -> int:
    """Open a topic in a forum (a group with topics). Return its id, which is the id of the service message about it."""
    chat = chat_for(world, by, chat_id)
    if "is_forum" not in chat:
        raise CannotActError(f"chat {chat_id} is no forum")
    topic = {"forum_topic_created": {"name": name, "icon_color": 7322096}, "is_topic_message": True}
    body: JsonObject = {"from": by.user(), "chat": chat, "date": unix(world.clock()), **topic}
    stored = messages.insert(world.db, body)
    stored["message_thread_id"] = stored["message_id"]
    messages.replace(world.db, stored)
    standings.add_topic(world.db, chat_id, stored["message_id"], name)
    show_message(world, StoredMessage(stored, deleted=False, reactions=[]))
    tell(world, "message", stored)
    world.hub.publish("people", 0)
    return int(stored["message_id"])


def note(world: World, by: Person, chat: JsonObject, service: JsonObject) -> int | None:
    """Write a service message, such as "new member", into a chat. Return the id of its update, None if the bot gets none."""
    body: JsonObject = {"from": by.user(), "chat": chat, "date": unix(world.clock()), **service}
    stored = messages.insert(world.db, body)
    show_message(world, StoredMessage(stored, deleted=False, reactions=[]))
    return tell(world, "message", stored)


def _store_members(world: World, chat_id: int, members: set[int]) -> None:
    world.db.run("UPDATE chats SET members = ? WHERE id = ?", orjson.dumps(sorted(members)).decode(), chat_id)


def _bot_as(status: str) -> JsonObject:
    until = {"until_date": 0} if status == "kicked" else {}
    return {"status": status, "user": BOT, **until}
