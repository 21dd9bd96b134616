"""Extracts the content of a message: the sender's own words, and text that others wrote. Decides whether the bot shall answer it. Pure.

Text of others is a forwarded message, a quotation or a shared contact. It is data, never an instruction. Who the sender is, is not checked
here.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from aiogram.enums import ContentType
from aiogram.types import Contact, Message, MessageOriginChannel, MessageOriginChat, MessageOriginHiddenUser, MessageOriginUser, User

from orchestrator.runtime.commands import COMMANDS
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
"""Kinds of content that a person sends to be read. Service messages (joined, pinned …) are not among them: nobody expects an answer."""
_ATTACHED: dict[str, str] = {
    ContentType.PHOTO: "photo",
    ContentType.LIVE_PHOTO: "photo",
    ContentType.ANIMATION: "video",
    ContentType.VIDEO: "video",
    ContentType.VIDEO_NOTE: "video",
    ContentType.DOCUMENT: "document",
    ContentType.AUDIO: "audio",
    ContentType.STICKER: "sticker",
    ContentType.LOCATION: "place",
    ContentType.VENUE: "place",
}
"""The content that the bot cannot read → the word for it in messages; content that is not listed is called "other"."""
_READABLE = frozenset({ContentType.TEXT, ContentType.CONTACT, ContentType.VOICE})
_COMMAND = re.compile(r"/(?P<name>[^\s@]*)(?:@(?P<addressee>\w+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageContent:
    """What the bot reads in a message: found in one pass, and asked by everything that decides what the message is."""

    type: str
    """Telegram's word for what the message contains, such as "text" or "photo"."""
    is_foreign: bool
    """Whether somebody else wrote the message's text: it is forwarded, or another bot composed it (inline mode)."""
    text: str
    """The text or caption as it was sent, "" if there is none.

    Characters that cannot be stored are replaced, but none is added or removed, so Telegram's offsets in the text stay valid.
    """
    words: str
    """The text without a mention of the bot at its beginning; a text that is only the mention is unchanged.

    Quotations and blocks of code, which Telegram sends as formatting, are written as lines that begin with "> ".
    """
    quoted: str
    """The text in the message that its sender did not write: a shared contact, a forwarded text or a quotation; "" if there is none.

    A forwarded text is preceded by a line with its author's name, if Telegram tells the name.
    """

    cited: str = ""
    """The part of the bot's own message that the sender quotes."""
    answers_others: bool = False
    """Whether it replies to a message that neither its sender nor the bot wrote."""

    @property
    def attached(self) -> str:
        """What the message contains besides its text that the bot cannot read, such as "photo"; "" if there is nothing."""
        return "" if self.type in _READABLE else _ATTACHED.get(self.type, "other")


def read_content(message: Message, me: User) -> MessageContent:
    """Return what the message contains; `me` is the bot, whose mention at the beginning is no word of the sender."""
    is_others = is_foreign(message)
    text = to_storable_text(message.text or message.caption or "")
    spelled = text if is_others else _spell_quotations(message, text)
    return MessageContent(
        type=message.content_type,
        is_foreign=is_others,
        text=text,
        words=_drop_mention(spelled.strip(), me),
        quoted=_read_quoted(message, text, me, is_others=is_others),
        cited="" if is_others else _read_cited(message, me),
        answers_others=_answers_others(message, me),
    )


def is_addressed_to(message: Message, content: MessageContent, me: User, commands: Collection[str] = ()) -> bool:
    """Return whether the bot `me` shall answer the message; `commands` are those that features of this program handle.

    In a private chat it answers every message, in a group replies to its messages, mentions of it and commands. A command with the name of
    another bot ("/help@other_bot") is never answered. A group's command without a bot's name is answered only if this bot has that command.
    """
    if content.type not in _CONTENT_TYPES:
        return False
    command = None if content.is_foreign else _COMMAND.match(content.text.strip())
    if command is not None and command["addressee"]:
        return command["addressee"].lower() == _find_username(me)
    if message.chat.type == "private" or _is_reply_to(message, me):
        return True
    if command is not None:
        return command["name"].lower() in (*COMMANDS, *commands)
    return not content.is_foreign and _has_mention(message, content.text, me)


def _drop_mention(text: str, me: User) -> str:
    if not text.startswith("@"):
        return text
    return re.sub(rf"^@{re.escape(_find_username(me))}\b[\s,:]*(?=\S)", "", text, count=1, flags=re.IGNORECASE)


_BLOCKS = frozenset({"blockquote", "expandable_blockquote", "pre"})


def _spell_quotations(message: Message, text: str) -> str:
    """Return the message's `text` with its formatting written out.

    Each line of a quotation or block of code gets "> " in front of it, and inline code gets backticks around it.
    """
    entities = [one for one in message.entities or message.caption_entities or () if one.type in _BLOCKS or one.type == "code"]
    if not entities:
        return text
    units, parts, position = text.encode("utf-16-le"), list[str](), 0
    for entity in sorted(entities, key=lambda message_entity: (message_entity.offset, -message_entity.length)):
        if entity.offset < position:
            continue  # inside the one before it
        parts.append(_decode_units(units, position, entity.offset))
        position = entity.offset + entity.length
        inner = _decode_units(units, entity.offset, position)
        if entity.type == "code" and "\n" not in inner:
            parts.append(f"`{inner}`")
        else:
            parts.append("".join(f"\n> {line}" for line in inner.split("\n")) + "\n")
    return "".join([*parts, _decode_units(units, position, len(units) // 2)])


def _decode_units(units: bytes, start: int, end: int) -> str:
    """Return the part of a UTF-16 text between two offsets, which Telegram counts in UTF-16 units."""
    return units[2 * start : 2 * end].decode("utf-16-le", "replace")


def _find_username(me: User) -> str:
    return (me.username or "").lower()


def _is_reply_to(message: Message, me: User) -> bool:
    """Return whether the message is a reply to a message of the bot `me`.

    In a topic Telegram marks every message as a reply to the message that opened the topic. This mark does not count as a reply here.
    """
    answered = message.reply_to_message
    if answered is None or answered.from_user is None or answered.forum_topic_created is not None:
        return False
    return answered.from_user.id == me.id


def _has_mention(message: Message, text: str, me: User) -> bool:
    for entity in message.entities or message.caption_entities or ():
        if entity.type == "mention" and entity.extract_from(text).lower() == f"@{_find_username(me)}":
            return True
        if entity.type == "text_mention" and entity.user is not None and entity.user.id == me.id:
            return True
    return False


_LONGEST_NAME = 80


def is_foreign(message: Message) -> bool:
    """Return whether somebody else wrote the message's text: it is forwarded, or another bot composed it (inline mode)."""
    return message.forward_origin is not None or message.via_bot is not None


def _read_cited(message: Message, me: User) -> str:
    """Return the part of the bot's own message that is quoted; "" if none is."""
    return to_storable_text(message.quote.text) if message.quote is not None and _is_reply_to(message, me) else ""


def _answers_others(message: Message, me: User) -> bool:
    """Return whether the message replies to what somebody else than its sender or the bot wrote, or to a message of another chat."""
    answered = message.reply_to_message
    if answered is None or answered.forum_topic_created is not None:
        return message.external_reply is not None
    author = answered.from_user.id if answered.from_user is not None else None
    own = message.from_user.id if message.from_user is not None else None
    return author not in {me.id, own} or author is None or is_foreign(answered)


def _read_quoted(message: Message, text: str, me: User, *, is_others: bool) -> str:
    if message.contact is not None:
        return _format_contact(message.contact)
    if is_others:
        said = text.strip()
        return f"{name}:\n{said}" if (name := _find_author(message)) and said else said
    return to_storable_text(message.quote.text) if message.quote is not None and not _is_reply_to(message, me) else ""


def _format_contact(contact: Contact) -> str:
    """Return name and phone number of a shared contact, on two lines."""
    name = " ".join(filter(None, (contact.first_name, contact.last_name)))
    return to_storable_text(f"{name}\n{contact.phone_number}")


def _find_author(message: Message) -> str:
    match message.forward_origin:
        case MessageOriginUser() as known:
            name = known.sender_user.full_name
        case MessageOriginHiddenUser() as hidden:
            name = hidden.sender_user_name
        case MessageOriginChat() as chat:
            name = chat.author_signature or chat.sender_chat.full_name
        case MessageOriginChannel() as channel:
            name = channel.author_signature or channel.chat.full_name
        case _:
            if message.via_bot is None:
                return ""
            name = f"@{message.via_bot.username}" if message.via_bot.username else message.via_bot.full_name
    return " ".join(to_storable_text(name).split())[:_LONGEST_NAME]
