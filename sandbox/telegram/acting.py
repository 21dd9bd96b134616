"""Performs actions of simulated people: writing, forwarding, pasting, sending files, editing and deleting.

Each action queues the same update for the bot that the action of a real person in a Telegram client would cause.
"""

from dataclasses import dataclass
from typing import Any, Literal

from sandbox.telegram import text as texts
from sandbox.telegram.clock import unix
from sandbox.telegram.methods.sending import without_reply
from sandbox.telegram.storage import messages, people, standings
from sandbox.telegram.storage.messages import StoredMessage
from sandbox.telegram.storage.people import ANONYMOUS, CHANNEL, Person
from sandbox.telegram.views import show_message
from sandbox.telegram.wire import JsonObject
from sandbox.telegram.world import World

_CHANNEL_ID = -100_900_000_000


class CannotActError(Exception):
    """A person tries something that no Telegram client would allow; the text says what.

    The control interface returns this text to its caller.
    """


@dataclass(frozen=True)
class Origin:
    """Who or what a forwarded message comes from: a person, a person who hides the account, a group, or a channel."""

    kind: Literal["user", "hidden_user", "chat", "channel"]
    name: str = ""
    id: int | None = None
    date: int | None = None


@dataclass(frozen=True)
class Around:
    """Everything about a person's message except its content: chat, topic, message replied to, origin of a forward, and sender.

    A field that is None does not apply. Without a chat id the message goes to the private chat with the bot.
    """

    chat_id: int | None = None
    thread: int | None = None
    reply_to: int | None = None
    quote: str | None = None
    forward_from: int | str | None = None
    origin: Origin | None = None
    via_bot: str | None = None
    as_chat: Literal["anonymous_admin", "channel"] | None = None


Sent = tuple[int, int | None]
"""The id of a message, and of the update it caused; None if the bot does not receive it."""


def send(world: World, person: Person, text: str, around: Around, entities: Any = None) -> list[Sent]:
    """Write a text into a chat, and return the message_id and update_id of each resulting message.

    A text of more than 4096 UTF-16 units becomes several messages, as in a Telegram client. `entities` give a text that fits into one
    message its formatting.
    """
    text = text.strip()
    if not text:
        raise CannotActError("a message needs a text that is not blank")
    parts = texts.split_like_a_client(text)
    if entities and len(parts) == 1:
        return [put(world, person, around, {"text": text, "entities": entities})]
    return [put(world, person, around, plain("text", part)) for part in parts]


def plain(name: str, text: str) -> JsonObject:
    """Return the fields of a message for `text`, with the entities that Telegram finds by itself, such as links and mentions.

    `name` is "text" or "caption".
    """
    entities = texts.plain_entities(text)
    found = {"entities" if name == "text" else "caption_entities": entities} if entities else {}
    return {name: text, **found} if text else {}


def put(world: World, person: Person, around: Around, content: JsonObject) -> Sent:
    """Store one message of a person, show it on the chat page, and queue its update. Return its message_id and update_id.

    Raises `CannotActError` for anything that no Telegram client would allow.
    """
    chat = chat_for(world, person, around.chat_id)
    _reachable(world, chat["id"])
    body: JsonObject = {
        **_sender(person, chat, around),
        "chat": chat,
        "date": unix(world.clock()),
        **_reply(world, chat, around),
        **_topic(world, chat, around),
        **_origin(world, around),
        **content,
    }
    stored = messages.insert(world.db, body)
    show_message(world, StoredMessage(stored, deleted=False, reactions=[]))
    return stored["message_id"], tell(world, "message", stored)


def edit(world: World, person: Person, message_id: int, text: str) -> int | None:
    """Change the text of a person's message, or the caption of a person's file. Return the id of the `edited_message` update.

    Raises `CannotActError` if somebody else wrote the message.
    """
    message = _own_message(world, person, message_id)
    name = "text" if "text" in message.body else "caption"
    kept = {key: value for key, value in message.body.items() if key not in {"entities", "caption_entities"}}
    body = {**kept, **plain(name, text.strip()), "edit_date": unix(world.clock())}
    messages.replace(world.db, body)
    show_message(world, StoredMessage(body, deleted=False, reactions=message.reactions))
    return tell(world, "edited_message", body)


def delete(world: World, person: Person, message_id: int, chat_id: int | None) -> None:
    """Delete a message for everybody in the chat. Telegram never notifies a bot of this, so no update is queued.

    People may delete their own messages, and in the private chat also those of the bot.
    """
    chat = chat_for(world, person, chat_id)
    found = messages.find(world.db, chat["id"], message_id)
    if found is None or found.deleted:
        raise CannotActError(f"chat {chat['id']} has no message {message_id}")
    if chat["type"] != "private" and found.body["from"]["id"] != person.id:
        raise CannotActError(f"message {message_id} is not one of person {person.id}")
    messages.mark_deleted(world.db, message_id)
    show_message(world, StoredMessage(found.body, deleted=True, reactions=found.reactions))


def tell(world: World, kind: str, body: JsonObject) -> int | None:
    """Queue an update of the kind `kind` about the message `body` and return its id.

    Returns None if the bot is not in the chat, since it then gets no update.
    """
    if standings.state_of(world.db, body["chat"]["id"]) in {"kicked", "left"}:
        return None
    return world.queue_update(kind, messages.over_the_wire(body))


def chat_for(world: World, person: Person, chat_id: int | None) -> JsonObject:
    """Return the Chat object of a chat that the person is in. If `chat_id` is None, this is the private chat with the bot.

    Raises `CannotActError` if the person is not in the chat.
    """
    wanted = person.id if chat_id is None else chat_id
    chat = people.find_chat(world.db, wanted)
    if chat is None or person.id not in people.members_of(world.db, wanted):
        raise CannotActError(f"person {person.id} is not in chat {wanted}")
    return chat


def _reachable(world: World, chat_id: int) -> None:
    match standings.state_of(world.db, chat_id):
        case "blocked":
            raise CannotActError(f"person {chat_id} has blocked the bot: unblock it first")
        case "deactivated":
            raise CannotActError(f"the account {chat_id} is deleted")
        case "migrated":
            raise CannotActError(f"chat {chat_id} became supergroup {standings.moved_to(world.db, chat_id)}")
        case "unstarted":
            standings.clear(world.db, chat_id)


def _sender(person: Person, chat: JsonObject, around: Around) -> JsonObject:
    if around.as_chat is None:
        return {"from": person.user()}
    if chat["type"] == "private":
        raise CannotActError("a private chat knows only the person")
    if around.as_chat == "channel":
        channel = {"id": _CHANNEL_ID - person.id, "type": "channel", "title": f"Канал: {person.first_name}"}
        return {"from": CHANNEL, "sender_chat": channel}
    return {"from": ANONYMOUS, "sender_chat": chat, "author_signature": "админ"}


def _own_message(world: World, person: Person, message_id: int) -> StoredMessage:
    row = world.db.one("SELECT chat_id FROM messages WHERE message_id = ?", message_id)
    found = messages.find(world.db, row["chat_id"], message_id) if row else None
    if found is None or found.body["from"]["id"] != person.id:
        raise CannotActError(f"message {message_id} is not one of person {person.id}")
    return found


def _reply(world: World, chat: JsonObject, around: Around) -> JsonObject:
    if around.reply_to is None:
        return {}
    replied = messages.find(world.db, chat["id"], around.reply_to)
    if replied is None:
        raise CannotActError(f"chat {chat['id']} has no message {around.reply_to} to reply to")
    given: JsonObject = {"reply_to_message": without_reply(replied.body)}
    for name in ("message_thread_id", "is_topic_message"):
        if name in replied.body:
            given[name] = replied.body[name]
    # In a supergroup each chain of replies is a thread of its own, and no topic.
    if chat["type"] == "supergroup" and "is_forum" not in chat:
        given.setdefault("message_thread_id", around.reply_to)
    if around.quote:
        given["quote"] = _quote(replied, around.quote)
    return given


def _quote(replied: StoredMessage, quote: str) -> JsonObject:
    text = str(replied.body.get("text", replied.body.get("caption", "")))
    position = text.find(quote)
    if position < 0:
        raise CannotActError(f"message {replied.message_id} does not hold the words {quote!r}")
    return {"text": quote, "position": texts.utf16_length(text[:position]), "is_manual": True}


def _topic(world: World, chat: JsonObject, around: Around) -> JsonObject:
    if around.thread is None:
        return {}
    if standings.find_topic(world.db, chat["id"], around.thread) is None:
        raise CannotActError(f"chat {chat['id']} has no topic {around.thread}")
    return {"message_thread_id": around.thread, "is_topic_message": True}


def _origin(world: World, around: Around) -> JsonObject:
    extras: JsonObject = {}
    if around.via_bot:
        extras["via_bot"] = {"id": 2, "is_bot": True, "first_name": around.via_bot, "username": around.via_bot}
    origin = around.origin or _named(world, around.forward_from)
    if origin is None:
        return extras
    date = unix(world.clock()) if origin.date is None else origin.date
    given: JsonObject = {"type": origin.kind, "date": date}
    match origin.kind:
        case "user":
            known = people.find_person(world.db, origin.id or 0)
            stranger = {"id": origin.id or 777_001, "is_bot": False, "first_name": origin.name or "Клиент"}
            given["sender_user"] = known.user() if known else stranger
        case "hidden_user":
            given["sender_user_name"] = origin.name
        case "chat":
            given["sender_chat"] = {"id": origin.id or _CHANNEL_ID, "type": "supergroup", "title": origin.name}
        case "channel":
            given["chat"] = {"id": origin.id or _CHANNEL_ID, "type": "channel", "title": origin.name}
            given["message_id"] = 1
    return {**extras, "forward_origin": given}


def _named(world: World, source: int | str | None) -> Origin | None:
    if source is None:
        return None
    if isinstance(source, int) and people.find_person(world.db, source):
        return Origin("user", id=source)
    return Origin("hidden_user", name=str(source))
