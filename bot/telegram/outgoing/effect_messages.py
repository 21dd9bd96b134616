"""Messages of effects: sent at most once, exactly as approved.

The outbox repeats a message rather than losing it.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from aiogram import Bot
from aiogram.exceptions import (
    AiogramError,
    ClientDecodeError,
    TelegramAPIError,
    TelegramBadRequest,
    TelegramEntityTooLarge,
    TelegramForbiddenError,
    TelegramMigrateToChat,
    TelegramNetworkError,
    TelegramNotFound,
    TelegramServerError,
    TelegramUnauthorizedError,
)
from aiogram.methods import DeleteMessage, EditMessageText, GetChat, SendDocument, SendMessage, SendPhoto, TelegramMethod
from aiogram.types import BufferedInputFile, InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions, Message
from aiohttp import ClientConnectorError

from bot.telegram.outgoing.chats import Chats
from bot.telegram.outgoing.rate_limiter import Rank, RateLimiter
from bot.telegram.outgoing.sender import ChatClosed, NotAdmitted, NotDelivering, Sender, parse_flood_wait
from orchestrator.domain.chat_messages import (
    ChatFile,
    ChatMessage,
    ChatRemoval,
    ChatText,
    MessageDoubtful,
    MessageRefused,
    MessageResult,
    MessageSent,
    Rows,
)
from state.canonical import dumps, loads
from state.clock import Clock
from state.journal.async_store import AsyncStore
from state.journal.store import StoreError

log = logging.getLogger(__name__)

PATIENCE: Final = 5.0
"""Seconds; of a longer wait the person is told."""
REMEMBERED: Final = 500
"""Messages of a chat that can still be edited and deleted."""
_TITLE_WITHIN: Final = 5
_NO_PREVIEW: Final = LinkPreviewOptions(is_disabled=True)
_GONE: Final = ("message to edit not found", "message to delete not found", "message can't be edited", "message can't be deleted")
_NO_CHAT: Final = ("chat not found", "peer_id_invalid", "user not found", "group chat was deactivated")
_BAD_PICTURE: Final = ("image_process_failed", "photo_invalid_dimensions", "photo_ext_invalid", "wrong type of the web page content")


class EffectMessages:
    """Implements `ChatMessenger` for one bot. Every process may send."""

    def __init__(self, bot: Bot, store: AsyncStore, chats: Chats, pacer: RateLimiter, clock: Clock) -> None:
        self._bot = bot
        self._store = store
        self._chats = chats
        self._pacer = pacer
        self._clock = clock
        self._recording = asyncio.Lock()

    async def find_title(self, chat: int) -> str:
        """ "" if the name cannot be had."""
        if self._pacer.measure_hold(chat):
            return ""
        try:
            info = await self._bot(GetChat(chat_id=self._chats.find_current_id(chat)), request_timeout=_TITLE_WITHIN)
        except (AiogramError, ClientDecodeError, OSError):
            return ""
        return info.title or info.full_name or ""

    async def deliver(self, message: ChatMessage, may_send: Callable[[], bool]) -> MessageResult:
        """Make the call once; see `ChatMessenger`."""
        if isinstance(message, ChatRemoval) or (isinstance(message, ChatText) and message.message_id is not None):
            refused = await self._check_own(message.chat, message.message_id or 0)
            if refused is not None:
                return refused
        if self._chats.find_closed_reason(message.chat):
            with contextlib.suppress(StoreError):
                await self._chats.load()  # another process may have received a message from there
        result = await self._send(message, may_send)
        wait = self._pacer.measure_hold(self._chats.find_current_id(message.chat))
        if isinstance(result, MessageRefused) and result.free_at is not None and wait <= PATIENCE:
            result = await self._send(message, may_send)  # Telegram said that it did not take the first one
        if isinstance(result, MessageSent) and not isinstance(message, ChatRemoval):
            await self._record(message.chat, result.message_id)
        return result

    async def _send(self, message: ChatMessage, may_send: Callable[[], bool]) -> MessageResult:
        hold = self._pacer.measure_hold(self._chats.find_current_id(message.chat))
        if hold > PATIENCE:
            return self._build_wait(hold, "Telegram asked for a wait before")
        sender = Sender(self._bot, self._pacer, self._chats, lambda: True, lambda _: may_send(), mends=False)
        try:
            response = await sender.send(_build_method(message), message.chat, Rank.FINAL)
        except ChatClosed as closed:
            return MessageRefused(code="telegram-blocked", detail=f"the chat is closed to the bot: {closed}", sent=False)
        except NotAdmitted:
            return MessageRefused(code="telegram-no-chat", detail="the chat is no longer one that effects may write to", sent=False)
        except NotDelivering:
            return MessageRefused(code="telegram-stopped", detail="the program is stopping, so nothing was sent", sent=False)
        except (TelegramAPIError, ClientDecodeError) as error:
            return self._explain(error, message)
        return MessageSent(message_id=response.message_id if isinstance(response, Message) else getattr(message, "message_id", None) or 0)

    def _build_wait(self, seconds: float, detail: str) -> MessageRefused:
        return MessageRefused(code="telegram-wait", detail=detail, free_at=self._clock.now() + timedelta(seconds=seconds))

    def _explain(self, error: TelegramAPIError | ClientDecodeError, message: ChatMessage) -> MessageResult:
        """Certainly not sent, sent already, or unknown."""
        wait = parse_flood_wait(error)
        if wait is not None:
            return self._build_wait(wait, error.message)
        if isinstance(error, TelegramForbiddenError):
            return MessageRefused(code="telegram-blocked", detail=error.message)
        if isinstance(error, TelegramUnauthorizedError | TelegramNotFound):
            return MessageRefused(code="telegram-no-access", detail=error.message)
        if isinstance(error, TelegramEntityTooLarge):
            return MessageRefused(code="telegram-file-large", detail=error.message)
        if isinstance(error, TelegramBadRequest | TelegramMigrateToChat):
            return _explain_refusal(error.message, message)
        if isinstance(error, TelegramNetworkError) and isinstance(error.__cause__ or error.__context__, ClientConnectorError):
            return MessageRefused(code="telegram-not-reached", detail="there is no connection to Telegram", sent=False)
        if not isinstance(error, TelegramNetworkError | TelegramServerError | ClientDecodeError):
            return MessageRefused(code="telegram-refused", detail=error.message)
        log.warning("it is not known whether a message was sent", extra={"action": "message_doubtful", "error": type(error).__name__})
        return MessageDoubtful(detail=f"Telegram did not answer ({type(error).__name__}), so the message may have been sent")

    async def _check_own(self, chat: int, message_id: int) -> MessageRefused | None:
        """A refusal unless an effect sent the message."""
        try:
            own = message_id in await self._load_sent(chat)
        except StoreError:
            own = False
        return None if own else MessageRefused(code="telegram-not-own", detail="no effect sent this message", sent=False)

    async def _record(self, chat: int, message_id: int) -> None:
        """If this fails the message cannot be edited, which harms nobody."""
        with contextlib.suppress(StoreError):
            async with self._recording:
                sent = [one for one in await self._load_sent(chat) if one != message_id]
                await self._store.set_value(self._build_key(chat), dumps([*sent, message_id][-REMEMBERED:]))

    async def _load_sent(self, chat: int) -> list[int]:
        noted: list[Any] = loads(await self._store.get_value(self._build_key(chat)) or "[]")
        return [int(one) for one in noted]

    def _build_key(self, chat: int) -> str:
        return f"telegram:{self._bot.id}:effects:{self._chats.find_current_id(chat)}"


def _explain_refusal(text: str, message: ChatMessage) -> MessageResult:
    low = text.lower()
    if "message is not modified" in low:
        return MessageSent(message_id=getattr(message, "message_id", None) or 0, is_unchanged=True)
    if any(words in low for words in _GONE):
        return MessageRefused(code="telegram-message-gone", detail=text)
    if any(words in low for words in _NO_CHAT):
        return MessageRefused(code="telegram-no-chat", detail=text)
    if any(words in low for words in _BAD_PICTURE):
        return MessageRefused(code="telegram-bad-picture", detail=text)
    return MessageRefused(code="telegram-refused", detail=text)


def _build_method(message: ChatMessage) -> TelegramMethod[Any]:
    match message:
        case ChatRemoval():
            return DeleteMessage(chat_id=message.chat, message_id=message.message_id)
        case ChatText(message_id=int(known)):
            return EditMessageText(
                chat_id=message.chat,
                message_id=known,
                text=message.text,
                entities=[],
                parse_mode=None,
                link_preview_options=_NO_PREVIEW,
                reply_markup=_build_markup(message.buttons),
            )
        case ChatText():
            return SendMessage(
                chat_id=message.chat,
                text=message.text,
                entities=[],
                parse_mode=None,
                link_preview_options=_NO_PREVIEW,
                reply_markup=_build_markup(message.buttons),
            )
        case ChatFile():
            return _build_upload(message)


def _build_upload(message: ChatFile) -> TelegramMethod[Any]:
    file = BufferedInputFile(message.content, filename=message.name)
    caption, markup = message.caption or None, _build_markup(message.buttons)
    if message.kind == "photo":
        return SendPhoto(chat_id=message.chat, photo=file, caption=caption, caption_entities=[], parse_mode=None, reply_markup=markup)
    return SendDocument(chat_id=message.chat, document=file, caption=caption, caption_entities=[], parse_mode=None, reply_markup=markup)


def _build_markup(rows: Rows) -> InlineKeyboardMarkup | None:
    if not rows:
        return None
    return InlineKeyboardMarkup(inline_keyboard=[[InlineKeyboardButton(text=text, url=url) for text, url in row] for row in rows])
