"""Renders messages as simple JSON objects for the control interface, which the chat page and tests read."""

from sandbox.telegram.storage.messages import EPHEMERAL, StoredMessage
from sandbox.telegram.storage.people import BOT
from sandbox.telegram.wire import JsonObject
from sandbox.telegram.world import Draft, World

_COPIED = (
    "edit_date", "forward_origin", "via_bot", "document", "photo", "voice", "contact", "force_reply", "quote",
    "message_thread_id", "is_topic_message", "sender_chat",
)  # fmt: skip
_SERVICE = (
    "migrate_to_chat_id", "migrate_from_chat_id", "new_chat_members", "left_chat_member", "forum_topic_created",
)  # fmt: skip


def message_view(message: StoredMessage) -> JsonObject:
    """Return one message as `GET /sandbox/chats/{id}/messages` lists it."""
    body = message.body
    sender = body["from"]
    view: JsonObject = {
        "message_id": body["message_id"],
        "chat_id": message.chat_id,
        "from": "bot" if sender["id"] == BOT["id"] else sender["id"],
        "date": body["date"],
        "text": body.get("text", body.get("caption", "")),
        "entities": body.get("entities", body.get("caption_entities", [])),
        "buttons": [[_button(item) for item in row] for row in body.get("reply_markup", {}).get("inline_keyboard", [])],
        "deleted": message.deleted,
        "reactions": message.reactions,
    }
    view.update({name: body[name] for name in _COPIED if name in body})
    if service := {name: body[name] for name in _SERVICE if name in body}:
        view["service"] = service
    if "reply_to_message" in body:
        view["reply_to"] = body["reply_to_message"]["message_id"]
    if EPHEMERAL in body:
        view["only_for"] = body[EPHEMERAL]["receiver"]["id"]
        view["replaces"] = body[EPHEMERAL].get("replaces")
    return view


def draft_view(chat_id: int, draft: Draft) -> JsonObject:
    """Return a draft in the form of a message from the bot, with the message id 0 and the additional field `draft`."""
    return {
        "message_id": 0,
        "chat_id": chat_id,
        "from": "bot",
        "date": int(draft.expires_at),
        "text": draft.text,
        "entities": draft.entities,
        "buttons": [],
        "deleted": False,
        "reactions": [],
        "draft": {"draft_id": draft.draft_id, "can_stop": draft.can_stop},
    }


def show_message(world: World, message: StoredMessage) -> None:
    """Send an event to the chat page and to tests that a message was added, changed or deleted."""
    world.hub.publish("message", message.chat_id, message=message_view(message))


def _button(button: JsonObject) -> JsonObject:
    shown = {"text": button["text"], "data": button.get("callback_data")}
    for name in ("style", "url", "disabled"):
        if name in button:
            shown[name] = button[name]
    if "copy_text" in button:
        shown["copy_text"] = button["copy_text"]["text"]
    return shown
