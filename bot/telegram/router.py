"""What an update means: an inbox row for the orchestrator, or a sentence for a stranger. Decides nothing about the CRM. Ring 3.

Access is checked on every message and every press; data of a press is user input.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aiogram.types import CallbackQuery, Message, Update, User

from bot.access import Access
from bot.i18n.translate import Translator
from bot.telegram.addressing import is_for, words
from bot.telegram.callbacks import CardPress, CheckPress, ChoicePress, DetailsPress, ExamplePress, unpack
from orchestrator.messages import Actor, Notice
from state.canonical import clean_text
from state.clock import new_id
from state.store import InboxRow, Lane

MAX_TEXT = 20_000
_YES = frozenset({"да", "yes", "ок", "ok", "подтверждаю", "выполняй"})
_NO = frozenset({"нет", "no", "отмена", "отклонить"})


@dataclass(frozen=True, kw_only=True)
class Routed:
    """An update as the product understands it: inputs to store, or an answer to give at once."""

    session: str = ""
    rows: tuple[InboxRow, ...] = ()
    say: Notice | None = None
    callback_id: str = ""
    """A press that is answered at once, with `toast` if there is something to say."""
    toast: Notice | None = None


@dataclass(frozen=True, kw_only=True)
class Card:
    """A card that waits, as the door knows it: where it was shown, for typed answers."""

    confirmation_id: str
    nonce: str
    message_id: str
    call_class: str
    taps: int


def route(update: Update, access: Access, me: User, cards: "tuple[Card, ...]", now: datetime) -> Routed:
    """The meaning of `update` for the bot `me`; `cards` are the open ones of its chat."""
    source = f"telegram:{me.id}:{update.update_id}"
    if update.callback_query is not None:
        return _press(update.callback_query, access, source, now)
    if update.message is not None and is_for(update.message, me):
        return _message(update.message, access, me, _Arrival(source=source, cards=cards, now=now))
    if update.edited_message is not None and is_for(update.edited_message, me):
        return _edited(update.edited_message, access, me)
    return Routed()


def _edited(message: Message, access: Access, me: User) -> Routed:
    """Told that it changes nothing; what only moves by itself, such as a live location, is no edit of words."""
    known = message.from_user is not None and access.actor(message.from_user.id) is not None
    return Routed(session=session_of(message), say=Notice(code="edited-ignored")) if known and words(message, me) else Routed()


def session_of(message: Message) -> str:
    """ "tg:<chat>[:<thread>]"."""
    thread = f":{message.message_thread_id}" if message.is_topic_message and message.message_thread_id else ""
    return f"tg:{message.chat.id}{thread}"


@dataclass(frozen=True, kw_only=True)
class _Arrival:
    """How and when a message came."""

    source: str
    cards: "tuple[Card, ...]"
    now: datetime


def _message(message: Message, access: Access, me: User, arrival: _Arrival) -> Routed:
    session = session_of(message)
    if message.from_user is None or message.from_user.is_bot:
        return Routed()
    actor = access.actor(message.from_user.id)
    if actor is None:
        alone = message.chat.type == "private"
        return Routed(session=session, say=Notice(code="stranger", args={"id": str(message.from_user.id)}) if alone else None)
    text = words(message, me)
    if not text:
        return Routed(session=session, say=Notice(code="only-text"))
    if len(text) > MAX_TEXT:
        return Routed(session=session, say=Notice(code="too-long", args={"length": len(text), "limit": MAX_TEXT}))
    make = _Maker(source=arrival.source, session=session, actor=actor, now=arrival.now)
    if text.startswith("/") and message.forward_origin is None:
        return make.command(text)
    return _typed_decision(message, text, arrival.cards, make) or make.message(message, text)


@dataclass(frozen=True, kw_only=True)
class _Maker:
    """Builds the inbox rows of one update."""

    source: str
    session: str
    actor: Actor
    now: datetime

    def row(self, kind: str, lane: Lane, body: Mapping[str, Any]) -> Routed:
        """One input."""
        row = InboxRow(
            id=new_id(),
            source=self.source,
            session=self.session,
            lane=lane,
            kind=kind,
            actor=self.actor.model_dump(mode="json"),
            body=body,
            received_at=self.now,
        )
        return Routed(session=self.session, rows=(row,))

    def command(self, text: str) -> Routed:
        """A typed command; all but /new overtake a running turn."""
        name = text[1:].split(maxsplit=1)[0].split("@", maxsplit=1)[0].lower() if len(text) > 1 else ""
        return self.row("command", "turn" if name == "new" else "express", {"name": name})

    def message(self, message: Message, text: str) -> Routed:
        """A request; what was forwarded is somebody else's text, never an instruction."""
        sent = int(message.date.timestamp())
        if message.forward_origin is not None:
            return self.row("message", "turn", {"text": "", "quoted": text, "origin": "typed", "at": sent})
        quoted = message.quote.text if message.quote is not None else ""
        return self.row("message", "turn", {"text": text, "quoted": clean_text(quoted), "origin": "typed", "at": sent})


def _typed_decision(message: Message, text: str, cards: "tuple[Card, ...]", make: _Maker) -> Routed | None:
    """«да»/«нет» in a private chat, as DESIGN §3 allows it: never forwarded, edited or through another bot; only harmless classes."""
    word = text.lower().strip(" .!")
    if word not in _YES | _NO or not cards or message.chat.type != "private":
        return None
    if message.forward_origin is not None or message.via_bot is not None or message.edit_date is not None:
        return None
    meant = _meant(message, cards)
    if meant is None:
        return Routed(session=make.session, say=Notice(code="which-card")) if len(cards) > 1 else None
    if word in _YES and (meant.call_class != "W" or meant.taps > 1):
        return Routed(session=make.session, say=Notice(code="only-button"))
    body = {"confirmation_id": meant.confirmation_id, "nonce": meant.nonce, "approve": word in _YES, "via": "typed"}
    return make.row("decision", "express", body)


def _meant(message: Message, cards: "tuple[Card, ...]") -> Card | None:
    """The card a typed answer is bound to: the one it replies to, or the only one when it was the bot's last message."""
    if message.reply_to_message is not None:
        wanted = str(message.reply_to_message.message_id)
        return next((card for card in cards if card.message_id == wanted), None)
    if len(cards) != 1 or not cards[0].message_id.isdecimal():
        return None
    return cards[0] if int(cards[0].message_id) == message.message_id - 1 else None


def _press(query: CallbackQuery, access: Access, source: str, now: datetime) -> Routed:
    actor = access.actor(query.from_user.id)
    if actor is None:
        return Routed(callback_id=query.id, toast=Notice(code="stranger", args={"id": str(query.from_user.id)}))
    if query.message is None:
        return Routed(callback_id=query.id, toast=Notice(code="card-outdated"))
    chat = query.message.chat.id
    thread = getattr(query.message, "message_thread_id", None) if getattr(query.message, "is_topic_message", None) else None
    session = f"tg:{chat}:{thread}" if thread else f"tg:{chat}"
    make = _Maker(source=source, session=session, actor=actor, now=now)
    press = unpack(query.data or "")
    match press:
        case CardPress():
            body = {"confirmation_id": press.confirmation_id, "nonce": press.nonce, "approve": press.approve}
            return make.row("decision", "express", {**body, "via": "button", "callback_id": query.id})
        case ChoicePress():
            routed = make.row("message", "turn", {"answers": press.question_id, "option": press.option, "origin": "choice"})
        case ExamplePress():
            text = Translator(actor.locale).say(press.code)
            routed = make.row("message", "turn", {"text": text, "origin": "button"})
        case CheckPress():
            routed = make.row("command", "express", {"name": "check", "confirmation_id": press.confirmation_id})
        case DetailsPress():
            routed = make.row("command", "express", {"name": "details", "confirmation_id": press.confirmation_id})
        case None:
            return Routed(session=session, callback_id=query.id, toast=Notice(code="card-outdated"))
    return Routed(session=session, rows=routed.rows, callback_id=query.id)
