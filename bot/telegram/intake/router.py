"""Parses a Telegram update into an inbox row; ignores other bots and people who write as a chat.

Callback data is user input, since a modified client may send anything.
"""

import re
from datetime import datetime
from typing import Any, Final, TypedDict, assert_never

from aiogram.types import CallbackQuery, Message, Update, User, Voice

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
from bot.telegram.intake.message_content import MessageContent, is_addressed_to
from bot.telegram.intake.people import extract_run_key, extract_start_payload, parse_people_click, parse_stranger_message
from bot.telegram.intake.routed_updates import IncomingUpdate, ParsedUpdate, RowBuilder
from bot.telegram.intake.sent_items import offer_to_documents, offer_to_run
from bot.telegram.intake.typed_answers import OpenCard, extract_reason, is_no, is_refusal, is_yes, parse_typed_decision
from orchestrator.domain.address import is_chat
from orchestrator.domain.inputs import (
    CardDecision,
    ChoiceMade,
    Command,
    DenialReason,
    EditedMessage,
    FeatureClick,
    ReminderClick,
    TextMessage,
    VoiceMessage,
)
from orchestrator.domain.outputs import Notice
from orchestrator.features.leads.denial_reasons import PRESS as DENY_WITH_REASON
from orchestrator.runtime.commands import parse_command
from orchestrator.turns.feature import Feature
from state.canonical import to_storable_text


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


__all__ = ["MAX_TEXT", "OpenCard", "ParsedUpdate", "format_session", "parse_update"]

MAX_TEXT: Final = 20_000
_RECORD = re.compile(r"(?P<kind>deal|lead|contact|company|task)_(?P<number>[0-9]{1,10})")
"""A deep link about a record, such as "deal_481"."""
NO_FEATURES: Final = Feature()


def parse_update(
    incoming: IncomingUpdate,
    access: Access,
    me: User,
    cards: tuple[OpenCard, ...],
    now: datetime,
    features: Feature = NO_FEATURES,
    *,
    may_answer_run: bool = False,
) -> ParsedUpdate:
    """Empty if the bot ignores the update. With `may_answer_run` a contact, photo or document may answer a run."""
    update, message, content = incoming.update, incoming.message, incoming.content
    source = f"telegram:{me.id}:{update.update_id}"
    if update.callback_query is not None:
        return parse_click(update.callback_query, access, source, now)
    if message is None or content is None:
        return parse_stop(update, access, source, now) or ParsedUpdate()
    is_new = update.message is not None
    commands = {*features.commands, *features.command_specs} if message.chat.type != "private" else ()
    if not is_addressed_to(message, content, me, commands):
        return ParsedUpdate()
    if message.from_user is None or message.from_user.is_bot or message.sender_chat is not None:
        return ParsedUpdate()  # its author is a bot, a channel or an anonymous administrator
    session, actor = format_session(message), access.find_actor(message.from_user.id)
    if actor is None:
        return ParsedUpdate(session=session, rows=parse_stranger_message(message, source, now)) if is_new else ParsedUpdate()
    make = RowBuilder(source=source, session=session, actor=actor, now=now)
    if not is_new:
        return _parse_edit(message, content, make)
    routed = offer_to_documents(message, _parse_message(message, content, me, cards, make, features))
    return offer_to_run(message, content, routed) if may_answer_run else routed


def format_session(message: Message) -> str:
    """Format "tg:<chat>[:<topic>]"."""
    thread = f":{message.message_thread_id}" if message.is_topic_message and message.message_thread_id else ""
    return f"tg:{message.chat.id}{thread}"


def _parse_message(
    message: Message, content: MessageContent, me: User, cards: tuple[OpenCard, ...], make: RowBuilder, features: Feature
) -> ParsedUpdate:
    if message.voice is not None:
        return make.build(_build_recording(message, content, message.voice), "turn")
    if not content.words and not content.quoted and message.media_group_id is None:
        return make.build_answer(Notice(code="only-text", args={"kind": content.attached or "other"}))
    length = len(content.words) + len(content.quoted)
    if length > MAX_TEXT:
        return make.build_answer(Notice(code="too-long", args={"length": length, "limit": MAX_TEXT}))
    if content.words.startswith("/") and not content.is_foreign:
        return _parse_command(message, content.words, make, features)
    return (
        parse_typed_decision(message, content, cards, make)
        or _parse_reason(message, content, me, make)
        or make.build(_build_request(message, content), "turn")
    )


def _build_request(message: Message, content: MessageContent) -> TextMessage:
    """A text that is forwarded or composed by another bot is only quoted, so that it is never an instruction of the sender."""
    own = "" if content.is_foreign else content.words
    return TextMessage(
        text=own, origin="typed", **{"quoted": content.quoted, **_describe_beside(content)}, **_describe_place(message, content)
    )


def _describe_beside(content: MessageContent) -> dict[str, Any]:
    facts = {
        "quoted": content.quoted,
        "cited": content.cited,
        "answered": content.answered,
        "is_answered_own": bool(content.answered) and content.is_answered_own,
        "answered_records": content.answered_records,
        "answers_others": content.answers_others,
        "attached": content.attached,
    }
    return {name: value for name, value in facts.items() if value}


class _Place(TypedDict, total=False):
    at: int
    message_id: int
    reply_to: int
    album: str


def _describe_place(message: Message, content: MessageContent) -> _Place:
    place = _Place(at=int(message.date.timestamp()), message_id=message.message_id)
    if message.reply_to_message is not None and not content.is_foreign:
        place["reply_to"] = message.reply_to_message.message_id
    if message.media_group_id:
        place["album"] = message.media_group_id
    return place


def _build_recording(message: Message, content: MessageContent, voice: Voice) -> VoiceMessage:
    """A forwarded recording is marked as the words of somebody else."""
    return VoiceMessage(
        file_id=voice.file_id,
        seconds=voice.duration,
        size=voice.file_size or 0,
        forwarded=content.is_foreign,
        caption=content.words,
        **({} if content.is_foreign else _describe_beside(content)),
        **_describe_place(message, content),
    )


def _parse_command(message: Message, text: str, make: RowBuilder, features: Feature) -> ParsedUpdate:
    """ "/start" asks about a record, starts a scenario, or joins."""
    head, *rest = text[1:].split(maxsplit=1) or [""]
    name, args = head.split("@", maxsplit=1)[0].lower(), rest[0] if rest else ""
    payload = extract_start_payload(text)
    if name != "start" or not payload:
        return make.build(*parse_command(name, args, features))
    if key := extract_run_key(payload):
        return make.build(*parse_command("run", key, features))
    record = _RECORD.fullmatch(payload)
    if record is not None:
        question = Translator(make.actor.locale).translate(f"start-{record['kind']}", number=record["number"])
        return make.build(TextMessage(text=question, origin="button"), "turn")
    # a link opened by somebody who already has access
    return ParsedUpdate(session=make.session, rows=parse_stranger_message(message, make.source, make.now))


def _parse_reason(message: Message, content: MessageContent, me: User, make: RowBuilder) -> ParsedUpdate | None:
    """A denial that a lead typed in reply to a card; None for other messages. The gate checks later who may decide."""
    answered = message.reply_to_message
    if answered is None or answered.from_user is None or answered.from_user.id != me.id or answered.reply_markup is None:
        return None
    if content.is_foreign or message.chat.type != "private":
        return None
    presses = [unpack(button.callback_data or "") for line in answered.reply_markup.inline_keyboard for button in line]
    press = next((found for found in presses if isinstance(found, CardClick) and found.home), None)
    is_copy = any(isinstance(found, ActionClick) and found.words[0] == DENY_WITH_REASON for found in presses)
    if press is None or not (is_copy or is_chat(press.home)):  # the card of a run in the run's own chat is no card of somebody else
        return None
    text = content.words
    if is_yes(text):
        return make.build_answer(Notice(code="only-button"))
    if is_no(text):
        decision = CardDecision(confirmation_id=press.confirmation_id, nonce=press.nonce, approve=False, via="typed")
        return make.build(decision, "express", session=press.home)
    if not is_refusal(text):  # words that are no clear refusal («хорошо», «а почему?») must not reject the card
        return make.build_answer(Notice(code="lead-answer-how"))
    reason = DenialReason(
        confirmation_id=press.confirmation_id,
        nonce=press.nonce,
        home=press.home,
        text=to_storable_text(extract_reason(text)),
        message_id=message.message_id,
    )
    return make.build(reason, "express")


def _parse_edit(message: Message, content: MessageContent, make: RowBuilder) -> ParsedUpdate:
    """Empty if the edit has no text, as when a live location moves."""
    if not content.words or content.is_foreign or len(content.words) > MAX_TEXT:
        return ParsedUpdate()
    return make.build(EditedMessage(text=content.words, **_describe_place(message, content)), "express")
