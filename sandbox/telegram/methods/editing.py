"""The methods with which the bot changes, deletes and reacts to messages.

They are editMessageText, editMessageCaption, editMessageMedia, editMessageReplyMarkup, deleteMessage and setMessageReaction.
"""

from typing import Any

from sandbox.telegram import attachments
from sandbox.telegram.clock import unix
from sandbox.telegram.keyboards import inline_only, read_markup
from sandbox.telegram.methods.chats import require_message
from sandbox.telegram.methods.reading import read_caption, read_photo, read_text, stored_file
from sandbox.telegram.storage import messages
from sandbox.telegram.storage.messages import StoredMessage, over_the_wire
from sandbox.telegram.storage.people import BOT
from sandbox.telegram.views import show_message
from sandbox.telegram.wire import JsonObject, Params, bad_request
from sandbox.telegram.world import World

NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same "
    "as a current content and reply markup of the message"
)
_MEDIA = frozenset({"photo", "document"})
_DELETE_WITHIN = 48 * 60 * 60
# The emoji that a bot may set: Bot API, ReactionTypeEmoji.
_REACTIONS = frozenset({
    "❤", "👍", "👎", "🔥", "🥰", "👏", "😁", "🤔", "🤯", "😱", "🤬", "😢", "🎉", "🤩", "🤮", "💩",
    "🙏", "👌", "🕊", "🤡", "🥱", "🥴", "😍", "🐳", "❤‍🔥", "🌚", "🌭", "💯", "🤣", "⚡", "🍌", "🏆",
    "💔", "🤨", "😐", "🍓", "🍾", "💋", "🖕", "😈", "😴", "😭", "🤓", "👻", "👨‍💻", "👀", "🎃", "🙈",
    "😇", "😨", "🤝", "✍", "🤗", "🫡", "🎅", "🎄", "☃", "💅", "🤪", "🗿", "🆒", "💘", "🙉", "🦄",
    "😘", "💊", "🙊", "😎", "👾", "🤷‍♂", "🤷", "🤷‍♀", "😡",
})  # fmt: skip


def edit_message_text(world: World, params: Params) -> JsonObject:
    """Change the text and the buttons of one of the bot's messages, and return its new Message object.

    If the call has no buttons, the old ones are removed.
    """
    message = _own(world, params)
    if "text" not in message.body:
        raise bad_request("there is no text in the message to edit")
    text, entities = read_text(params)
    return _apply(world, message, params, {"text": text, "entities": entities})


def edit_message_caption(world: World, params: Params) -> JsonObject:
    """Change the caption and the buttons of a message with a file that the bot sent, and return its new Message object."""
    message = _own(world, params)
    if "text" in message.body:
        raise bad_request("there is no caption in the message to edit")
    content = read_caption(params)
    changed = {"caption": content.get("caption", ""), "caption_entities": content.get("caption_entities", [])}
    return _apply(world, message, params, changed)


def edit_message_media(world: World, params: Params) -> JsonObject:
    """Put another photo or document, with its caption, in place of the content of one of the bot's messages.

    A message with a text becomes one with a file, as in the Bot API.
    """
    message = _own(world, params)
    media = params.structure("media")
    if not isinstance(media, dict) or media.get("type") not in _MEDIA:
        raise bad_request("can't parse InputMedia: the sandbox reads photos and documents only")
    upload = params.resolve_file(str(media.get("media") or ""), "media")
    kind = str(media["type"])
    new = read_photo(world, upload) if kind == "photo" else attachments.document(stored_file(world, upload))
    caption = read_caption(Params(media))
    cleared = {"text": "", "entities": [], "photo": [], "document": "", "caption": "", "caption_entities": []}
    return _apply(world, message, params, {**cleared, kind: new, **caption})


def edit_message_reply_markup(world: World, params: Params) -> JsonObject:
    """Change only the buttons of one of the bot's messages, and return its new Message object."""
    return _apply(world, _own(world, params), params, {})


def delete_message(world: World, params: Params) -> bool:
    """Delete a message and return True.

    It must be at most 48 hours old and, except in a private chat, one of the bot's. Otherwise `ApiError` 400 is raised.
    """
    message = require_message(world, params, "delete")
    own = message.body["from"]["id"] == BOT["id"]
    too_old = world.now() - message.body["date"] > _DELETE_WITHIN
    if too_old or not (own or message.body["chat"]["type"] == "private"):
        raise bad_request("message can't be deleted for everyone")
    messages.mark_deleted(world.db, message.message_id)
    show_message(world, StoredMessage(message.body, deleted=True, reactions=message.reactions))
    return True


def set_message_reaction(world: World, params: Params) -> bool:
    """Set the bot's reaction to a message, one emoji at most, and return True; an empty list removes the reaction."""
    message = require_message(world, params, "react")
    given = params.structure("reaction") or []
    if not isinstance(given, list):
        raise bad_request("can't parse reaction types JSON object")
    if len(given) > 1:
        raise bad_request("REACTIONS_TOO_MANY")
    emoji = [_emoji(item) for item in given]
    messages.set_reactions(world.db, message.message_id, emoji)
    show_message(world, StoredMessage(message.body, message.deleted, emoji))
    return True


def _emoji(reaction: Any) -> str:
    emoji = str(reaction.get("emoji", "")) if isinstance(reaction, dict) else ""
    if emoji.replace("\ufe0f", "") not in _REACTIONS:
        raise bad_request("REACTION_INVALID")
    return emoji


def _own(world: World, params: Params) -> StoredMessage:
    message = require_message(world, params, "edit")
    if message.body["from"]["id"] != BOT["id"]:
        raise bad_request("message can't be edited")
    return message


def _apply(world: World, message: StoredMessage, params: Params, content: JsonObject) -> JsonObject:
    keyboard = inline_only(read_markup(params.structure("reply_markup")))
    changed = {**message.body, **content, "reply_markup": keyboard}
    changed = {name: value for name, value in changed.items() if value not in (None, [], "")}
    if changed == message.body:
        raise bad_request(NOT_MODIFIED)
    # A change of buttons alone leaves no "edited" mark on the message.
    if content:
        changed["edit_date"] = unix(world.clock())
    messages.replace(world.db, changed)
    show_message(world, StoredMessage(changed, deleted=False, reactions=message.reactions))
    return over_the_wire(changed)
