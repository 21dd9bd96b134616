"""Parses clicks on buttons into inbox rows. Pure.

Callback data is user input, since a modified client may send anything.
"""

from datetime import datetime
from typing import assert_never

from aiogram.types import CallbackQuery, Update

from bot.access.access import Access
from bot.i18n.translate import Translator
from bot.rendering.daily import parse_reminder_click
from bot.telegram.intake.callbacks import (
    ActionClick,
    ButtonClick,
    CardClick,
    CheckClick,
    ChoiceClick,
    DetailsClick,
    ExampleClick,
    StopClick,
    unpack,
)
from bot.telegram.intake.people import parse_people_click
from bot.telegram.intake.routed_updates import ParsedUpdate, RowBuilder
from orchestrator.domain.inputs import CardDecision, ChoiceMade, Command, FeatureClick, ReminderClick, TextMessage
from orchestrator.domain.outputs import Notice


def parse_click(query: CallbackQuery, access: Access, source: str, now: datetime) -> ParsedUpdate:
    """Clicks without access or with unknown data are only answered."""
    actor = None if query.from_user.is_bot else access.find_actor(query.from_user.id)
    if actor is None:
        return ParsedUpdate(callback_id=query.id, toast=Notice(code="stranger", args={"id": str(query.from_user.id)}))
    if query.message is None:
        return ParsedUpdate(callback_id=query.id, toast=Notice(code="card-outdated"))
    make = RowBuilder(source=source, session=_format_click_session(query), actor=actor, now=now)
    data = query.data or ""
    press = unpack(data)
    if press is not None:
        return _dispatch_click(press, query, make)
    reminder = parse_reminder_click(data)
    if reminder is not None:
        return make.build(ReminderClick.model_validate({**reminder, "callback_id": query.id}), "express")
    row = parse_people_click(data, source, make.session, actor, now)
    if row is not None:
        return ParsedUpdate(session=make.session, rows=(row,), callback_id=query.id)
    return ParsedUpdate(session=make.session, callback_id=query.id, toast=Notice(code="card-outdated"))


def _format_click_session(query: CallbackQuery) -> str:
    """ "" if Telegram does not name the chat."""
    if query.message is None:
        return ""
    thread = getattr(query.message, "message_thread_id", None) if getattr(query.message, "is_topic_message", None) else None
    return f"tg:{query.message.chat.id}:{thread}" if thread else f"tg:{query.message.chat.id}"


def _find_topic(query: CallbackQuery, session: str) -> str:
    """Of a card shown outside its topic, otherwise ""."""
    markup = getattr(query.message, "reply_markup", None)
    buttons = (button for line in markup.inline_keyboard for button in line) if markup is not None else ()
    homes = (press.home for button in buttons if isinstance(press := unpack(button.callback_data or ""), CardClick))
    home = next((home for home in homes if home), "")
    return home if home != session and home.startswith(f"{session}:") else ""


def _dispatch_click(press: ButtonClick, query: CallbackQuery, make: RowBuilder) -> ParsedUpdate:
    """Clicks on cards, features and in groups are answered later by their handlers."""
    topic = _find_topic(query, make.session)
    match press:
        case ActionClick() if topic:  # the answer would go to the closed topic, where nobody may write
            return ParsedUpdate(session=make.session, callback_id=query.id, toast=Notice(code="card-in-topic"))
        case CardClick():
            decision = CardDecision(
                confirmation_id=press.confirmation_id, nonce=press.nonce, approve=press.approve, via="button", callback_id=query.id
            )
            return make.build(decision, "express", session=press.home)
        case ActionClick():
            message_id = query.message.message_id if query.message is not None else 0
            return make.build(FeatureClick(words=press.words, callback_id=query.id, message_id=message_id), "express")
        case ChoiceClick():
            choice = ChoiceMade(answers=press.question_id, option=press.option, origin="choice")
            if query.message is not None and query.message.chat.type != "private":  # only the handler knows whom the question was put to
                choice = choice.model_copy(update={"callback_id": query.id})
                return make.build(choice, "turn")
            routed = make.build(choice, "turn")
        case ExampleClick():
            text = Translator(make.actor.locale).translate(press.code)
            routed = make.build(TextMessage(text=text, origin="button"), "turn")
        case CheckClick():
            routed = make.build(Command(name="check", confirmation_id=press.confirmation_id), "express", session=topic)
        case DetailsClick():
            routed = make.build(Command(name="details", confirmation_id=press.confirmation_id), "express", session=topic)
        case StopClick():
            routed = make.build(Command(name="stop"), "express")
        case _:
            assert_never(press)
    return ParsedUpdate(session=routed.session, rows=routed.rows, said=routed.said, callback_id=query.id)


def parse_stop(update: Update, access: Access, source: str, now: datetime) -> ParsedUpdate | None:
    """/stop for Telegram's own Stop button under a draft, None for other updates; empty without access.

    Drafts are in private chats only, so the chat's id is the person's.
    """
    stop = update.stopped_message_generation
    if stop is None:
        return None
    actor = access.find_actor(stop.chat.id)
    if actor is None or stop.chat.type != "private":
        return ParsedUpdate()
    session = f"tg:{stop.chat.id}" + (f":{stop.message_thread_id}" if stop.message_thread_id else "")
    return RowBuilder(source=source, session=session, actor=actor, now=now).build(Command(name="stop"), "express")
