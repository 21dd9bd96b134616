"""Performs clicks of simulated people: on buttons under the bot's messages, and on the Stop button of a draft."""

import uuid

from sandbox.telegram.acting import CannotActError, chat_for
from sandbox.telegram.keyboards import buttons_of
from sandbox.telegram.storage import callbacks, messages
from sandbox.telegram.storage.messages import EPHEMERAL, StoredMessage
from sandbox.telegram.storage.people import BOT, Person
from sandbox.telegram.wire import JsonObject
from sandbox.telegram.world import World


def press(world: World, person: Person, message: StoredMessage, data: str, *, age: float = 0.0) -> str:
    """Click a button with this callback data, queue the update, and return the id of the click.

    Whether the message has such a button is not checked here, but in `find_button`. `age` is how many seconds ago the click was made; the
    bot can no longer answer a click that is too old.
    """
    callback_id = str(uuid.uuid4().int)[:19]
    visible = messages.over_the_wire(message.body)
    if message.deleted:
        visible = {"chat": message.body["chat"], "message_id": message.message_id, "date": 0}
    press_record = {
        "id": callback_id,
        "chat_id": message.chat_id,
        "message_id": message.message_id,
        "user_id": person.id,
        "data": data,
        "pressed_at": world.now() - age,
    }
    callbacks.insert(world.db, press_record)
    query: JsonObject = {"id": callback_id, "from": person.user(), "message": visible, "chat_instance": str(message.chat_id)}
    world.queue_update("callback_query", {**query, "data": data})
    return callback_id


def find_message(world: World, person: Person, message_id: int, chat_id: int | None) -> StoredMessage:
    """Return the message with this id in the chat, for a click on its button.

    If `chat_id` is None, this is the person's private chat. Raises `CannotActError` if the person does not see such a message.
    """
    chat = chat_for(world, person, chat_id)
    found = messages.find(world.db, chat["id"], message_id)
    if found is None or found.body.get(EPHEMERAL, {}).get("receiver", {}).get("id", person.id) != person.id:
        raise CannotActError(f"chat {chat['id']} has no message {message_id}")
    return found


def find_button(message: StoredMessage, data: str | None, text: str | None) -> str:
    """Return the callback data of the message's button that has this data or, if `data` is None, this text.

    Raises `CannotActError` if there is no such button that sends data to the bot, or if the message is deleted or not from the bot.
    """
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
    """Click Stop on the draft in the person's private chat, and return the id of the update, None if the bot does not want such updates.

    The draft disappears, unless the bot asked to keep it, and its later texts are not shown. Raises `CannotActError` if there is no draft
    that can be stopped.
    """
    draft = world.draft_of(person.id)
    if draft is None or not draft.can_stop or world.stopped.get(person.id) == draft.draft_id:
        raise CannotActError("there is no draft to stop in this chat")
    chat = chat_for(world, person, None)
    world.stopped[person.id] = draft.draft_id
    if not draft.keep_on_stop:
        world.drafts.pop(person.id, None)
    world.hub.publish("draft_stopped", person.id, draft_id=draft.draft_id, kept=draft.keep_on_stop)
    return world.queue_update("stopped_message_generation", {"chat": chat, "draft_id": draft.draft_id})


def _same(shown: str, wanted: str | None) -> bool:
    """Return whether a button shows the wanted text; a symbol in front of it ("✅ ") may be left out."""
    return wanted is not None and (shown == wanted or shown.split(" ", 1)[-1] == wanted)
