"""What people do: send, edit, press, stop a draft. Builds the updates that a real client would cause."""

import uuid
from dataclasses import dataclass

from sandbox.telegram import text as texts
from sandbox.telegram.clock import unix
from sandbox.telegram.keyboards import buttons_of
from sandbox.telegram.methods.sending import without_reply
from sandbox.telegram.storage import callbacks, messages, people
from sandbox.telegram.storage.messages import StoredMessage
from sandbox.telegram.storage.people import BOT, Person
from sandbox.telegram.views import show_message
from sandbox.telegram.wire import JsonObject
from sandbox.telegram.world import World


class CannotActError(Exception):
    """A person wants what no client would let them do; the text says what, for the caller of the control side."""


@dataclass(frozen=True)
class Sending:
    """What a person writes, and how."""

    text: str
    chat_id: int | None = None
    reply_to: int | None = None
    forward_from: int | str | None = None
    via_bot: str | None = None


def send(world: World, person: Person, sending: Sending) -> list[tuple[int, int | None]]:
    """Write into a chat and give (message_id, update_id) of each message: a paste above 4096 arrives as several."""
    chat = _chat_for(world, person, sending.chat_id)
    text = sending.text.strip()
    if not text:
        raise CannotActError("a message needs a text that is not blank")
    extras = {**_reply(world, chat["id"], sending.reply_to), **_origin(world, sending)}
    sent = []
    for part in texts.split_like_a_client(text):
        entities = texts.plain_entities(part)
        body = {"from": person.user(), "chat": chat, "date": unix(world.clock()), "text": part, **extras}
        stored = messages.insert(world.db, {**body, **({"entities": entities} if entities else {})})
        show_message(world, StoredMessage(stored, deleted=False, reactions=[]))
        sent.append((stored["message_id"], world.queue_update("message", stored)))
    return sent


def edit(world: World, person: Person, message_id: int, text: str) -> int | None:
    """Change one's own message and give the id of the `edited_message` update."""
    message = _own_message(world, person, message_id)
    entities = texts.plain_entities(text)
    body = {**message.body, "text": text, "entities": entities, "edit_date": unix(world.clock())}
    messages.replace(world.db, body)
    show_message(world, StoredMessage(body, deleted=False, reactions=message.reactions))
    return world.queue_update("edited_message", body)


def press(world: World, person: Person, message: StoredMessage, data: str) -> str:
    """Press a button that carries this data and give the id of the press; `find_button` has checked that it exists."""
    callback_id = str(uuid.uuid4().int)[:19]
    visible: JsonObject = without_reply(message.body)
    if "reply_to_message" in message.body:
        visible["reply_to_message"] = message.body["reply_to_message"]
    if message.deleted:
        visible = {"chat": message.body["chat"], "message_id": message.message_id, "date": 0}
    press_record = {
        "id": callback_id,
        "chat_id": message.chat_id,
        "message_id": message.message_id,
        "user_id": person.id,
        "data": data,
        "pressed_at": world.now(),
    }
    callbacks.insert(world.db, press_record)
    query = {"id": callback_id, "from": person.user(), "message": visible, "chat_instance": str(message.chat_id)}
    world.queue_update("callback_query", {**query, "data": data})
    return callback_id


def find_message(world: World, person: Person, message_id: int, chat_id: int | None) -> StoredMessage:
    """Give the message whose button is to be pressed; raise `CannotActError` when the person does not see such a message."""
    chat = _chat_for(world, person, chat_id)
    found = messages.find(world.db, chat["id"], message_id)
    if found is None:
        raise CannotActError(f"chat {chat['id']} has no message {message_id}")
    return found


def find_button(message: StoredMessage, data: str | None, text: str | None) -> str:
    """Give the data of the button with this data or this text; raise `CannotActError` naming the buttons there are."""
    if message.deleted:
        raise CannotActError(f"message {message.message_id} is deleted; its buttons can only be forged (force: true)")
    if message.body["from"]["id"] != BOT["id"]:
        raise CannotActError(f"message {message.message_id} was not sent by the bot and has no buttons")
    for button in buttons_of(message.body):
        matches = button.get("callback_data") == data if data is not None else _same(button["text"], text)
        if matches and "callback_data" in button:
            return str(button["callback_data"])
        if matches:
            raise CannotActError(f"the button «{button['text']}» of message {message.message_id} sends nothing to the bot")
    known = ", ".join(f"«{button['text']}»" for button in buttons_of(message.body)) or "no buttons at all"
    wanted = f"data {data!r}" if data is not None else f"text {text!r}"
    raise CannotActError(f"message {message.message_id} has no button with {wanted}; it has {known}")


def stop_draft(world: World, person: Person) -> int | None:
    """Press "stop" on the draft being written; raise `CannotActError` when there is none that can be stopped."""
    draft = world.draft_of(person.id)
    if draft is None or not draft.can_stop:
        raise CannotActError("there is no draft to stop in this chat")
    chat = _chat_for(world, person, None)
    return world.queue_update("stopped_message_generation", {"chat": chat, "draft_id": draft.draft_id})


def _same(shown: str, wanted: str | None) -> bool:
    """Compare button texts as a person would: the sign in front ("✅ ") may be left out."""
    return wanted is not None and (shown == wanted or shown.split(" ", 1)[-1] == wanted)


def _chat_for(world: World, person: Person, chat_id: int | None) -> JsonObject:
    wanted = person.id if chat_id is None else chat_id
    chat = people.find_chat(world.db, wanted)
    if chat is None or person.id not in people.members_of(world.db, wanted):
        raise CannotActError(f"person {person.id} is not in chat {wanted}")
    return chat


def _own_message(world: World, person: Person, message_id: int) -> StoredMessage:
    row = world.db.one("SELECT chat_id FROM messages WHERE message_id = ?", message_id)
    found = messages.find(world.db, row["chat_id"], message_id) if row else None
    if found is None or found.body["from"]["id"] != person.id:
        raise CannotActError(f"message {message_id} is not one of person {person.id}")
    return found


def _reply(world: World, chat_id: int, reply_to: int | None) -> JsonObject:
    if reply_to is None:
        return {}
    replied = messages.find(world.db, chat_id, reply_to)
    if replied is None:
        raise CannotActError(f"chat {chat_id} has no message {reply_to} to reply to")
    return {"reply_to_message": without_reply(replied.body)}


def _origin(world: World, sending: Sending) -> JsonObject:
    extras: JsonObject = {}
    if sending.via_bot:
        extras["via_bot"] = {"id": 2, "is_bot": True, "first_name": sending.via_bot, "username": sending.via_bot}
    if sending.forward_from is None:
        return extras
    origin: JsonObject = {"date": unix(world.clock())}
    known = people.find_person(world.db, sending.forward_from) if isinstance(sending.forward_from, int) else None
    if known:
        origin.update(type="user", sender_user=known.user())
    else:
        origin.update(type="hidden_user", sender_user_name=str(sending.forward_from))
    return {**extras, "forward_origin": origin}
