"""What an update means: an inbox row for the orchestrator, or a sentence for a stranger. Decides nothing about the CRM. Ring 3.

Access is checked on every message and every press. Whoever speaks as a chat (an anonymous administrator, a channel) and other bots are
nobody. Presses: `pressing`; «да» and «нет»: `typed`.
"""

import re
from datetime import datetime
from typing import Any, Final

from aiogram.types import Message, Update, User

from bot.access import Access
from bot.i18n.translate import Translator
from bot.telegram.addressing import is_for, words
from bot.telegram.callbacks import CardPress, unpack
from bot.telegram.people import start_payload, stranger
from bot.telegram.pressing import pressed
from bot.telegram.quoting import is_of_others, quoted_of
from bot.telegram.rows import Maker, Routed
from bot.telegram.stopping import stopped
from bot.telegram.typed import Card, refuses, says_no, says_yes, typed_decision, why_of
from orchestrator.messages import Actor, Notice
from state.canonical import clean_text

__all__ = ["MAX_TEXT", "Card", "Routed", "route", "session_of"]

MAX_TEXT: Final = 20_000
_RECORD = re.compile(r"(?P<kind>deal|lead|contact|company|task)_(?P<number>[0-9]{1,10})")
"""A deep link that opens a conversation about a record."""
_LONGEST_ARGS: Final = 200


def route(update: Update, access: Access, me: User, cards: tuple[Card, ...], now: datetime) -> Routed:
    """The meaning of `update` for the bot `me`; `cards` are the open ones of its chat."""
    source = f"telegram:{me.id}:{update.update_id}"
    if update.callback_query is not None:
        return pressed(update.callback_query, access, source, now)
    if update.message is not None and is_for(update.message, me):
        return _message(update.message, access, me, source=source, cards=cards, now=now)
    if update.edited_message is not None and is_for(update.edited_message, me):
        return _edited(update.edited_message, access, me, source=source, now=now)
    return stopped(update, access, source, now) or Routed()


def session_of(message: Message) -> str:
    """ "tg:<chat>[:<thread>]"."""
    thread = f":{message.message_thread_id}" if message.is_topic_message and message.message_thread_id else ""
    return f"tg:{message.chat.id}{thread}"


def _is_nobody(message: Message) -> bool:
    """Written by no person who could answer for it."""
    return message.from_user is None or message.from_user.is_bot or message.sender_chat is not None


def _message(message: Message, access: Access, me: User, *, source: str, cards: tuple[Card, ...], now: datetime) -> Routed:
    session = session_of(message)
    if _is_nobody(message) or message.from_user is None:
        return Routed()
    actor = access.actor(message.from_user.id)
    if actor is None:
        rows, said = stranger(message, source, now)
        return Routed(session=session, rows=rows, say=said)
    make = Maker(source=source, session=session, actor=actor, now=now)
    if message.voice is not None:
        return make.row("voice", "turn", {**_voice(message), "caption": words(message, me)})
    text, quoted = words(message, me), quoted_of(message)
    if not text and not quoted and message.media_group_id is None:
        return Routed(session=session, say=Notice(code="only-text"))
    length = len(text) + len(quoted)
    if length > MAX_TEXT:
        return Routed(session=session, say=Notice(code="too-long", args={"length": length, "limit": MAX_TEXT}))
    if text.startswith("/") and not is_of_others(message):
        return _command(message, text, make)
    return typed_decision(message, text, cards, make) or _reason(message, text, me, make) or _said(message, text, quoted, make)


def _said(message: Message, text: str, quoted: str, make: Maker) -> Routed:
    """A request; what was forwarded, or written by another bot, is somebody else's text, never an instruction."""
    own = "" if is_of_others(message) else text
    return make.row("message", "turn", {"text": own, "quoted": quoted, "origin": "typed", **_place(message)})


def _place(message: Message) -> dict[str, Any]:
    """When and where it stands, and what it belongs to."""
    place: dict[str, Any] = {"at": int(message.date.timestamp()), "message_id": message.message_id}
    if message.reply_to_message is not None and not is_of_others(message):
        place["reply_to"] = message.reply_to_message.message_id
    return place | ({"album": message.media_group_id} if message.media_group_id else {})


def _voice(message: Message) -> dict[str, Any]:
    """A recording to be heard; what was forwarded stays somebody else's words."""
    voice = message.voice
    if voice is None:
        return {}
    recorded = {"file_id": voice.file_id, "seconds": voice.duration, "size": voice.file_size or 0}
    return {**recorded, "forwarded": is_of_others(message), **_place(message)}


def _command(message: Message, text: str, make: Maker) -> Routed:
    """A typed command with what stands after it; all but /new overtake a running turn."""
    head, *rest = text[1:].split(maxsplit=1) or [""]
    name, args = head.split("@", maxsplit=1)[0].lower(), (rest[0].strip()[:_LONGEST_ARGS] if rest else "")
    payload = start_payload(text)
    if name != "start" or not payload:
        return make.row("command", "turn" if name == "new" else "express", {"name": name, "args": args})
    record = _RECORD.fullmatch(payload)
    if record is not None:
        asked = Translator(make.actor.locale).say(f"start-{record['kind']}", number=record["number"])
        return make.row("message", "turn", {"text": asked, "origin": "button"})
    rows, said = stranger(message, make.source, make.now)  # a link that is brought by somebody who is in already
    return Routed(session=make.session, rows=rows, say=said)


def _reason(message: Message, text: str, me: User, make: Maker) -> Routed | None:
    """Words in answer to a card of somebody else's request: why its reader says no. None for other messages.

    Which card that is stands on its buttons: the message that is answered is the bot's own, and the gate checks nonce and person.
    """
    answered = message.reply_to_message
    if answered is None or answered.from_user is None or answered.from_user.id != me.id or answered.reply_markup is None:
        return None
    if is_of_others(message) or message.chat.type != "private":
        return None
    presses = (unpack(button.callback_data or "") for line in answered.reply_markup.inline_keyboard for button in line)
    press = next((found for found in presses if isinstance(found, CardPress) and found.home), None)
    if press is None:
        return None
    card = {"confirmation_id": press.confirmation_id, "nonce": press.nonce}
    if says_yes(text):
        return Routed(session=make.session, say=Notice(code="only-button"))
    if says_no(text):
        return make.row("decision", "express", {**card, "approve": False, "via": "typed"}, session=press.home)
    if not refuses(text):  # «хорошо», «а почему?»: words that are no clear refusal deny nothing
        return Routed(session=make.session, say=Notice(code="lead-answer-how"))
    return make.row("reason", "express", {**card, "home": press.home, "text": clean_text(why_of(text)), "message_id": message.message_id})


def _edited(message: Message, access: Access, me: User, *, source: str, now: datetime) -> Routed:
    """New words for an old message; what only moves by itself, such as a live location, is no edit of words."""
    actor = _writer(message, access)
    text = words(message, me)
    if actor is None or not text or is_of_others(message) or len(text) > MAX_TEXT:
        return Routed()
    make = Maker(source=source, session=session_of(message), actor=actor, now=now)
    return make.row("edited", "express", {"text": text, **_place(message)})


def _writer(message: Message, access: Access) -> Actor | None:
    if _is_nobody(message) or message.from_user is None:
        return None
    return access.actor(message.from_user.id)
