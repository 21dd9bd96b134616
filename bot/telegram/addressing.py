"""Whether a message is meant for the bot, and its words. Tells no person from another. Ring 3, pure."""

import re

from aiogram.enums import ContentType
from aiogram.types import Message, User

from bot.telegram.quoting import is_of_others
from orchestrator.commands import FOR_ADMINS, NAMES
from state.canonical import clean_text

_SENT = frozenset(
    {
        ContentType.TEXT,
        ContentType.ANIMATION,
        ContentType.AUDIO,
        ContentType.CHECKLIST,
        ContentType.CONTACT,
        ContentType.DICE,
        ContentType.DOCUMENT,
        ContentType.GAME,
        ContentType.LIVE_PHOTO,
        ContentType.LOCATION,
        ContentType.PAID_MEDIA,
        ContentType.PHOTO,
        ContentType.POLL,
        ContentType.RICH_MESSAGE,
        ContentType.STICKER,
        ContentType.STORY,
        ContentType.VENUE,
        ContentType.VIDEO,
        ContentType.VIDEO_NOTE,
        ContentType.VOICE,
    }
)
"""What a person sends to be read; all else is a note of what happened (joined, pinned, renamed …), to which nobody expects an answer."""
_COMMAND = re.compile(r"/(?P<name>[^\s@]*)(?:@(?P<addressee>\w+))?")


def is_for(message: Message, me: User) -> bool:
    """True for what asks for an answer: in private all that was sent, in a group commands, mentions of `me` and replies to it.

    A command that names another bot is that bot's everywhere; one without a name is ours in a group only when we have it.
    """
    if message.content_type not in _SENT:
        return False
    command = None if is_of_others(message) else _COMMAND.match(_text(message).strip())
    if command is not None and command["addressee"]:
        return command["addressee"].lower() == _name(me)
    if message.chat.type == "private" or _replies(message, me):
        return True
    return command["name"].lower() in (*NAMES, *FOR_ADMINS) if command is not None else _mentions(message, me)


def words(message: Message, me: User) -> str:
    """What was said, without the mention it begins with; a mention alone stays."""
    text = _text(message).strip()
    return re.sub(rf"^@{re.escape(_name(me))}\b[\s,:]*(?=\S)", "", text, count=1, flags=re.IGNORECASE)


def _text(message: Message) -> str:
    """As it can be stored, with every offset where it was."""
    return clean_text(message.text or message.caption or "")


def _name(me: User) -> str:
    return (me.username or "").lower()


def _replies(message: Message, me: User) -> bool:
    """In a topic every message replies to the note that opened it, whoever that was: no reply to the bot."""
    answered = message.reply_to_message
    if answered is None or answered.from_user is None or answered.forum_topic_created is not None:
        return False
    return answered.from_user.id == me.id


def _mentions(message: Message, me: User) -> bool:
    if is_of_others(message):
        return False
    text = _text(message)
    for entity in message.entities or message.caption_entities or ():
        if entity.type == "mention" and entity.extract_from(text).lower() == f"@{_name(me)}":
            return True
        if entity.type == "text_mention" and entity.user is not None and entity.user.id == me.id:
            return True
    return False
