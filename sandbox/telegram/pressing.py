"""People's clicks: the buttons under the bot's messages, and Stop on a draft."""

import uuid

from sandbox.telegram.acting import CannotActError, chat_for
from sandbox.telegram.keyboards import buttons_of
from sandbox.telegram.storage import callbacks, messages
from sandbox.telegram.storage.messages import EPHEMERAL, StoredMessage
from sandbox.telegram.storage.people import BOT, Person
from sandbox.telegram.wire import JsonObject
from sandbox.telegram.world import World


def press(world: World, person: Person, message: StoredMessage, data: str, *, age: float = 0.0) -> str:
    """Press a button that carries this data and return the id of the press; `find_button` has checked that it exists.

    `age` is how long ago, in seconds: an old press reaches the bot when it can no longer be answered.
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
    """Return the message whose button is to be pressed. Raises `CannotActError` when the person does not see such a message."""
    chat = chat_for(world, person, chat_id)
    found = messages.find(world.db, chat["id"], message_id)
    if found is None or found.body.get(EPHEMERAL, {}).get("receiver", {}).get("id", person.id) != person.id:
        raise CannotActError(f"chat {chat['id']} has no message {message_id}")
    return found


def find_button(message: StoredMessage, data: str | None, text: str | None) -> str:
    """Return the data of the button with this data or this text. Raises `CannotActError` naming the buttons there are."""
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
    """Press "stop" on the draft being written. Raises `CannotActError` when there is none that can be stopped.

    The draft goes at once unless the bot wanted it kept, and its further texts are not shown.
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
    """Compare button texts as a person would: the symbol in front ("✅ ") may be left out."""
    return wanted is not None and (shown == wanted or shown.split(" ", 1)[-1] == wanted)
