"""Text of others that came with a message: forwarded, of another bot, quoted, a shared contact. Never an instruction. Ring 3, pure."""

from aiogram.types import Contact, Message, MessageOriginChannel, MessageOriginChat, MessageOriginHiddenUser, MessageOriginUser

from state.canonical import to_storable_text

_LONGEST_NAME = 80


def is_foreign(message: Message) -> bool:
    """Whether its words are not the person's own: forwarded, or put together by another bot that was asked inline."""
    return message.forward_origin is not None or message.via_bot is not None


def extract_quoted_text(message: Message) -> str:
    """What others said in it, with the name of whoever said it where Telegram tells; "" where there is none."""
    if message.contact is not None:
        return _format_contact(message.contact)
    if is_foreign(message):
        text = to_storable_text(message.text or message.caption or "").strip()
        return f"{name}:\n{text}" if (name := _find_author(message)) and text else text
    return to_storable_text(message.quote.text) if message.quote is not None else ""


def _format_contact(contact: Contact) -> str:
    """A person's card out of the address book."""
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
