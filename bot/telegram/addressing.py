"""Whether a message is meant for the bot, and its words. Tells no person from another. Ring 3, pure."""

import re

from aiogram.enums import ContentType
from aiogram.types import Message, User

from bot.telegram.quoting import is_foreign
from orchestrator.commands import ADMIN_COMMANDS, COMMANDS
from state.canonical import to_storable_text

_CONTENT_TYPES = frozenset(
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


def is_addressed_to(message: Message, me: User) -> bool:
    """True for what asks for an answer: in private all that was sent, in a group commands, mentions of `me` and replies to it.

    A command that names another bot is that bot's everywhere; one without a name is ours in a group only when we have it.
    """
    if message.content_type not in _CONTENT_TYPES:
        return False
    command = None if is_foreign(message) else _COMMAND.match(_extract_text(message).strip())
    if command is not None and command["addressee"]:
        return command["addressee"].lower() == _find_username(me)
    if message.chat.type == "private" or _is_reply_to(message, me):
        return True
    return command["name"].lower() in (*COMMANDS, *ADMIN_COMMANDS) if command is not None else _has_mention(message, me)


def extract_words(message: Message, me: User) -> str:
    """What was said, without the mention it begins with; a mention alone stays."""
    text = _extract_text(message).strip()
    return re.sub(rf"^@{re.escape(_find_username(me))}\b[\s,:]*(?=\S)", "", text, count=1, flags=re.IGNORECASE)


def _extract_text(message: Message) -> str:
    """As it can be stored, with every offset where it was."""
    return to_storable_text(message.text or message.caption or "")


def _find_username(me: User) -> str:
    return (me.username or "").lower()


def _is_reply_to(message: Message, me: User) -> bool:
    """In a topic every message replies to the note that opened it, whoever that was: no reply to the bot."""
    answered = message.reply_to_message
    if answered is None or answered.from_user is None or answered.forum_topic_created is not None:
        return False
    return answered.from_user.id == me.id


def _has_mention(message: Message, me: User) -> bool:
    if is_foreign(message):
        return False
    text = _extract_text(message)
    for entity in message.entities or message.caption_entities or ():
        if entity.type == "mention" and entity.extract_from(text).lower() == f"@{_find_username(me)}":
            return True
        if entity.type == "text_mention" and entity.user is not None and entity.user.id == me.id:
            return True
    return False
