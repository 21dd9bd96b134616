"""The sender's own words, and text of others, which is never an instruction. Pure."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from aiogram.enums import ContentType
from aiogram.types import (
    ExternalReplyInfo,
    Message,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
    User,
)

from bot.telegram.intake.contact_cards import format_contact
from orchestrator.language.text import to_visible_line
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
"""Nobody expects an answer to service messages (joined, pinned …)."""
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
"""Content that the bot cannot read → its word; "other" if not listed."""
_READABLE = frozenset({ContentType.TEXT, ContentType.CONTACT, ContentType.VOICE})
_COMMAND = re.compile(r"/(?P<name>[^\s@]*)(?:@(?P<addressee>\w+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageContent:
    type: str
    """As Telegram says: "text", "photo" …"""
    is_foreign: bool
    """Forwarded, or composed by another bot."""
    text: str
    """"" if none. Unstorable characters are replaced one by one: offsets stay valid."""
    words: str
    """Without a mention of the bot at the start; quotations and code begin with "> "."""
    quoted: str
    """What others wrote: a contact, a forwarded text after its author's name, or a quotation."""

    cited: str = ""
    """The quoted part of the bot's own message."""
    answered: str = ""
    """The whole message of the bot or of the sender that this one replies to, without a quoted part."""
    is_answered_own: bool = False
    """The sender's own message is replied to."""
    answered_records: tuple[str, ...] = ()
    """Such as "deal:481": those to which the answered message of the bot links."""
    answers_others: bool = False
    """Replies to neither its sender nor the bot."""

    is_answer_unread: bool = False
    """What it replies to holds nothing that can be read, such as a photo without words."""

    @property
    def attached(self) -> str:
        """Such as "photo", or "answered" for what is replied to; "" if all that came was read."""
        return "answered" * self.is_answer_unread if self.type in _READABLE else _ATTACHED.get(self.type, "other")


def read_content(message: Message, me: User) -> MessageContent:
    is_others = is_foreign(message)
    text = to_storable_text(message.text or message.caption or "")
    spelled = text if is_others else _spell_quotations(message, text)
    return MessageContent(
        type=message.content_type,
        is_foreign=is_others,
        text=text,
        words=_drop_mention(spelled.strip(), me) if to_visible_line(spelled) else "",
        quoted=_read_quoted(message, text, me, is_others=is_others),
        cited="" if is_others else _read_cited(message, me),
        answered="" if is_others or message.quote is not None else _read_answered(message, me),
        is_answered_own=_is_reply_to_self(message),
        answered_records=() if is_others or not _is_reply_to(message, me) else list_linked_records(message.reply_to_message),
        answers_others=_answers_others(message, me),
        is_answer_unread=not is_others and _is_answer_unread(message),
    )


def is_addressed_to(message: Message, content: MessageContent, me: User, commands: Collection[str] = ()) -> bool:
    """In a group: replies to the bot, mentions, and `commands` that name no other bot."""
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
    """ "> " before quotations and blocks, backticks around code."""
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
    """Telegram's offsets are in UTF-16 units."""
    return units[2 * start : 2 * end].decode("utf-16-le", "replace")


def _find_username(me: User) -> str:
    return (me.username or "").lower()


def _is_reply_to(message: Message, me: User) -> bool:
    """In a topic every message replies to the one that opened it: this does not count."""
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
_LONGEST_ANSWERED = 4000
_RECORD_PATH = re.compile(r"/crm/(deal|lead|contact|company|quote)/details/([0-9]{1,15})/|/tasks/task/view/([0-9]{1,15})/", re.ASCII)


def is_foreign(message: Message) -> bool:
    return message.forward_origin is not None or message.via_bot is not None


def _read_cited(message: Message, me: User) -> str:
    return to_storable_text(message.quote.text) if message.quote is not None and _is_reply_to(message, me) else ""


def _is_reply_to_self(message: Message) -> bool:
    answered, sender = _find_answered(message), message.from_user
    return answered is not None and answered.from_user is not None and sender is not None and answered.from_user.id == sender.id


def _find_answered(message: Message) -> Message | None:
    answered = message.reply_to_message
    return None if answered is None or answered.forum_topic_created is not None else answered


def _read_answered(message: Message, me: User) -> str:
    answered = _find_answered(message)
    if answered is None or is_foreign(answered) or not (_is_reply_to(message, me) or _is_reply_to_self(message)):
        return ""
    return _read_words(answered)[:_LONGEST_ANSWERED]


def _read_words(answered: Message | ExternalReplyInfo) -> str:
    """Its text, contact, poll, checklist or place; "" if it holds nothing that can be read."""
    if answered.contact is not None:
        return format_contact(answered.contact)
    if answered.poll is not None:
        options = [f"- {option.text}: {option.voter_count}" for option in answered.poll.options]
        return to_storable_text("\n".join([f"[poll] {answered.poll.question}", *options]))
    if answered.checklist is not None:
        return to_storable_text(
            "\n".join([f"[checklist] {answered.checklist.title}", *(f"- {one.text}" for one in answered.checklist.tasks)])
        )
    if answered.venue is not None:
        return to_storable_text(f"[place] {answered.venue.title}, {answered.venue.address}")
    return to_storable_text(answered.text or answered.caption or "").strip() if isinstance(answered, Message) else ""


def _is_answer_unread(message: Message) -> bool:
    answered = _find_answered(message) or message.external_reply
    if message.quote is not None or (answered is None and message.reply_to_story is None):
        return False
    return answered is None or not _read_words(answered)


def list_linked_records(answered: Message | None) -> tuple[str, ...]:
    """Return the records to which a message of the bot links, such as "deal:481", in the order of its text."""
    entities = (answered.entities or answered.caption_entities or ()) if answered is not None else ()
    records = [f"{match[1] or 'task'}:{match[2] or match[3]}" for entity in entities if (match := _RECORD_PATH.search(entity.url or ""))]
    return tuple(dict.fromkeys(records))


def _answers_others(message: Message, me: User) -> bool:
    """Also a reply to a message of another chat."""
    answered = message.reply_to_message
    if answered is None or answered.forum_topic_created is not None:
        return message.external_reply is not None
    author = answered.from_user.id if answered.from_user is not None else None
    own = message.from_user.id if message.from_user is not None else None
    return author not in {me.id, own} or author is None or is_foreign(answered)


def _read_quoted(message: Message, text: str, me: User, *, is_others: bool) -> str:
    if message.contact is not None:
        return format_contact(message.contact)
    if is_others:
        words = text.strip()
        return f"{name}:\n{words}" if (name := _find_author(message)) and words else words
    if _is_reply_to(message, me):
        return ""
    answered, is_own = _find_answered(message), _is_reply_to_self(message)
    if message.quote is not None:
        words = to_storable_text(message.quote.text)
    elif is_own and answered is not None and not is_foreign(answered):
        return ""
    else:
        words = _read_words(source) if (source := answered or message.external_reply) is not None else ""
    name = _find_answered_author(message)
    return f"{name}:\n{words}"[:_LONGEST_ANSWERED] if name and words else words[:_LONGEST_ANSWERED]


def _find_answered_author(message: Message) -> str:
    """Of a colleague's message, or of one of another chat; "" if it is not known."""
    external, answered = message.external_reply, _find_answered(message)
    origin = external.origin if external is not None else answered.forward_origin if answered is not None else None
    if origin is not None:
        return _name_origin(origin)
    author = answered.from_user if answered is not None else None
    return _clean_name(author.full_name) if author is not None else ""


def _find_author(message: Message) -> str:
    if message.forward_origin is not None:
        return _name_origin(message.forward_origin)
    if message.via_bot is None:
        return ""
    return _clean_name(f"@{message.via_bot.username}" if message.via_bot.username else message.via_bot.full_name)


def _name_origin(origin: MessageOriginUser | MessageOriginHiddenUser | MessageOriginChat | MessageOriginChannel) -> str:
    match origin:
        case MessageOriginUser() as known:
            name = known.sender_user.full_name
        case MessageOriginHiddenUser() as hidden:
            name = hidden.sender_user_name
        case MessageOriginChat() as chat:
            name = chat.author_signature or chat.sender_chat.full_name
        case MessageOriginChannel() as channel:
            name = channel.author_signature or channel.chat.full_name
    return _clean_name(name)


def _clean_name(name: str) -> str:
    return " ".join(to_storable_text(name).split())[:_LONGEST_NAME]
