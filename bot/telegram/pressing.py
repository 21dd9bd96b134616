"""What a press of a button means. Access is checked at every press; its data is user input. Ring 3, pure."""

from datetime import datetime
from typing import assert_never

from aiogram.types import CallbackQuery

from bot.access import Access
from bot.i18n.translate import Translator
from bot.rendering.daily import reminder_press
from bot.telegram.callbacks import ActionPress, CardPress, CheckPress, ChoicePress, DetailsPress, ExamplePress, Press, StopPress, unpack
from bot.telegram.people import press_row
from bot.telegram.rows import Maker, Routed
from orchestrator.messages import Notice


def pressed(query: CallbackQuery, access: Access, source: str, now: datetime) -> Routed:
    """The input that a press is; one by a stranger, by a bot or of a button we never made is answered with a word and stored nowhere."""
    actor = None if query.from_user.is_bot else access.actor(query.from_user.id)
    if actor is None:
        return Routed(callback_id=query.id, toast=Notice(code="stranger", args={"id": str(query.from_user.id)}))
    if query.message is None:
        return Routed(callback_id=query.id, toast=Notice(code="card-outdated"))
    make = Maker(source=source, session=_session(query), actor=actor, now=now)
    data = query.data or ""
    press = unpack(data)
    if press is not None:
        return _of_card_or_talk(press, query, make)
    reminder = reminder_press(data)
    if reminder is not None:
        return make.row("reminder", "express", {**reminder, "callback_id": query.id})
    row = press_row(data, source, make.session, actor, now)
    if row is not None:
        return Routed(session=make.session, rows=(row,), callback_id=query.id)
    return Routed(session=make.session, callback_id=query.id, toast=Notice(code="card-outdated"))


def _session(query: CallbackQuery) -> str:
    """The conversation of the chat and topic in which the button stands."""
    if query.message is None:
        return ""
    thread = getattr(query.message, "message_thread_id", None) if getattr(query.message, "is_topic_message", None) else None
    return f"tg:{query.message.chat.id}:{thread}" if thread else f"tg:{query.message.chat.id}"


def _topic(query: CallbackQuery, session: str) -> str:
    """The conversation of a card that stands outside of its topic, since that is closed; "" where it stands at its place.

    The buttons that decide name it, and they stand under the same message.
    """
    markup = getattr(query.message, "reply_markup", None)
    buttons = (button for line in markup.inline_keyboard for button in line) if markup is not None else ()
    homes = (press.home for button in buttons if isinstance(press := unpack(button.callback_data or ""), CardPress))
    home = next((home for home in homes if home), "")
    return home if home != session and home.startswith(f"{session}:") else ""


def _of_card_or_talk(press: Press, query: CallbackQuery, make: Maker) -> Routed:
    """Whoever works a decision or a feature's button answers the press; the others are answered at once."""
    topic = _topic(query, make.session)
    match press:
        case ActionPress() if topic:  # what it asks would be answered there, where nobody may write
            return Routed(session=make.session, callback_id=query.id, toast=Notice(code="card-in-topic"))
        case CardPress():
            body = {"confirmation_id": press.confirmation_id, "nonce": press.nonce, "approve": press.approve}
            return make.row("decision", "express", {**body, "via": "button", "callback_id": query.id}, session=press.home)
        case ActionPress():
            shown = query.message.message_id if query.message is not None else 0
            return make.row("press", "express", {"words": list(press.words), "callback_id": query.id, "message_id": shown})
        case ChoicePress():
            body = {"answers": press.question_id, "option": press.option, "origin": "choice"}
            if query.message is not None and query.message.chat.type != "private":  # whoever works it knows whose question it is
                return make.row("message", "turn", {**body, "callback_id": query.id})
            routed = make.row("message", "turn", body)
        case ExamplePress():
            text = Translator(make.actor.locale).say(press.code)
            routed = make.row("message", "turn", {"text": text, "origin": "button"})
        case CheckPress():
            routed = make.row("command", "express", {"name": "check", "confirmation_id": press.confirmation_id}, session=topic)
        case DetailsPress():
            routed = make.row("command", "express", {"name": "details", "confirmation_id": press.confirmation_id}, session=topic)
        case StopPress():
            routed = make.row("command", "express", {"name": "stop"})
        case _:
            assert_never(press)
    return Routed(session=routed.session, rows=routed.rows, callback_id=query.id)
