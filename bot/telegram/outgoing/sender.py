"""The one way to Telegram for what people see: paced, obeying the waits Telegram names, to where the chat is now. Ring 3; retries nothing.

What a try came to is raised as aiogram's error; whoever called decides whether it is tried again.
"""

import contextlib
import logging
from collections.abc import Callable
from typing import Any, TypeVar

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
    TelegramRetryAfter,
    TelegramServerError,
    TelegramUnauthorizedError,
)
from aiogram.methods import DeleteMessage, EditMessageText, SendDocument, SendMessage, TelegramMethod
from aiogram.types import Message

from bot.telegram.outgoing.chats import Chats
from bot.telegram.outgoing.rate_limiter import Rank, RateLimiter, Stopped

log = logging.getLogger(__name__)
T = TypeVar("T")

LONGEST_WAIT = 3600
"""Telegram's number is obeyed up to here, then asked for again: a nonsensical one must not silence a chat for years."""
SEND_WITHIN = 20
"""Seconds for one call. Telegram answers in tenths of one; what takes longer may or may not have been shown."""
UPLOAD_WITHIN = 120
_FLOOD = "Too Many Requests"
"""A 429 that names no wait, or 0, reaches us as an error of no special kind: aiogram keeps only Telegram's words of it."""
_STRIPPABLE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("entit", {"entities": None, "caption_entities": None}),
    ("button", {"reply_markup": None}),
    ("keyboard", {"reply_markup": None}),
    ("reply markup is too long", {"reply_markup": None}),
    ("message thread not found", {"message_thread_id": None}),
    ("topic_", {"message_thread_id": None}),
    ("message to be replied not found", {"reply_parameters": None}),
)
"""What Telegram does not take of a message, and the message without it: words that arrive plain are better than none. In whatever case."""


class NotDelivering(Exception):
    """While it waited its turn, this process ceased to be the one that delivers, or began to stop."""


class ChatClosed(Exception):
    """The bot is kept out of the chat; nothing was asked of Telegram."""


class NotAdmitted(Exception):
    """The chat is that of somebody who has no access any more; nothing was asked of Telegram."""


class Sender:
    """Makes calls for one bot."""

    def __init__(
        self, bot: Bot, pacer: RateLimiter, chats: Chats, may_send: Callable[[], bool], admits: Callable[[int], bool] = lambda _: True
    ) -> None:
        """`may_send`, and for which chats it `admits` anything, are asked again after each wait."""
        self._bot = bot
        self._pacer = pacer
        self._chats = chats
        self._may_send = may_send
        self._admits = admits

    def build_unrestricted(self) -> "Sender":
        """The same way for the few words that strangers may read too."""
        return Sender(self._bot, self._pacer, self._chats, self._may_send)

    async def send(self, method: TelegramMethod[T], chat: int, rank: Rank) -> T:
        """Make the call in its turn; raises aiogram's errors, ChatClosed, NotAdmitted or NotOurs. What Telegram cannot read is left out."""
        if rank is not Rank.TOAST and self._chats.find_closed_reason(chat):
            raise ChatClosed(self._chats.find_closed_reason(chat))
        try:
            return await self._send_in_turn(method, chat, rank)
        except TelegramMigrateToChat as moved:
            await self._chats.move(self._chats.find_current_id(chat), moved.migrate_to_chat_id)
            gone: TelegramMethod[Any] = method
            if isinstance(method, EditMessageText | DeleteMessage):  # its number means another message there, or none
                raise TelegramBadRequest(method=gone, message="message to edit not found") from None
            return await self._send_in_turn(method, chat, rank)
        except TelegramForbiddenError as shut:
            await self._chats.close(chat, shut.message)
            raise
        except TelegramBadRequest as error:
            mended = _strip_rejected(method, error)
            if mended is None:
                raise
            log.warning("a message is sent without what Telegram does not take: %s", error.message, extra={"action": "message_mended"})
            return await self.send(mended, chat, rank)  # each time it is less, so this ends

    def find_current_chat(self, chat: int) -> int:
        """Where the chat is now."""
        return self._chats.find_current_id(chat)

    def is_open(self, chat: int) -> bool:
        """Whether anything may be shown in this chat now, and Telegram takes it."""
        return (
            self._admits(chat)
            and not self._chats.find_closed_reason(chat)
            and not self._pacer.measure_hold(self._chats.find_current_id(chat))
        )

    def may_show(self, chat: int, *, draft: bool) -> bool:
        """Whether a sign of progress may be shown now; it counts then, and `show` is to follow."""
        place = self._chats.find_current_id(chat)
        if self._chats.find_closed_reason(chat) or not self._admits(chat):
            return False
        return self._pacer.may_draft_now(place) if draft else self._pacer.may_show_now(place)

    async def show(self, method: TelegramMethod[T], chat: int) -> T:
        """Make a call that nobody misses, unpaced; raises AiogramError where Telegram refused it."""
        return await self._call(method, chat)

    async def _send_in_turn(self, method: TelegramMethod[T], chat: int, rank: Rank) -> T:
        with contextlib.suppress(Stopped):
            await self._pacer.admit(self._chats.find_current_id(chat), rank)
            if not self._admits(chat):
                raise NotAdmitted
            if self._may_send():
                return await self._call(method, chat)
        raise NotDelivering

    async def _call(self, method: TelegramMethod[T], chat: int) -> T:
        place = self._chats.find_current_id(chat)
        if place != chat and "chat_id" in type(method).model_fields:
            method = method.model_copy(update={"chat_id": place})
        try:
            shown = await self._bot(method, request_timeout=UPLOAD_WITHIN if isinstance(method, SendDocument) else SEND_WITHIN)
        except AiogramError as error:
            wait = parse_flood_wait(error)
            if wait is not None:
                self._pacer.hold(place, wait)
            raise
        if isinstance(shown, Message) and isinstance(method, SendMessage | SendDocument):
            self._chats.record_sent(chat, shown.message_id)
        return shown


def parse_flood_wait(error: Exception) -> float | None:
    """The seconds to wait that a 429 asks for, at least one; None for anything else."""
    if isinstance(error, TelegramRetryAfter):
        return min(max(error.retry_after, 1), LONGEST_WAIT)
    return 1 if isinstance(error, TelegramAPIError) and _FLOOD in str(error.message) else None


def calculate_retry_wait(error: Exception, attempts: int) -> float | None:
    """Seconds until the next try; None for what no waiting mends.

    A token that is not taken (any more) is no fault of the message: it waits, and the door ends by itself. A broken connection, a 5xx or
    an answer that is no answer (a proxy's page) leaves open whether the message was shown: it is sent again, and may then be there twice.
    A message too many is a nuisance, a lost answer is a broken promise.
    """
    wait = parse_flood_wait(error)
    if isinstance(error, TelegramRetryAfter):
        return wait
    if isinstance(error, TelegramEntityTooLarge):  # a network error by its class only: it would hold up its chat for a day
        return None
    ours = TelegramUnauthorizedError | TelegramNotFound
    passing = isinstance(error, TelegramNetworkError | TelegramServerError | ClientDecodeError | ours)
    return min(60, 2 ** min(attempts, 6)) if passing or wait is not None else None


def _strip_rejected(method: TelegramMethod[T], error: TelegramBadRequest) -> TelegramMethod[T] | None:
    """The message without what Telegram complains of; None where it complains of something else, or of what is not there."""
    for words, without in _STRIPPABLE:
        mine = {name: value for name, value in without.items() if getattr(method, name, None)}
        if words in error.message.lower() and mine:
            return method.model_copy(update=mine)
    return None
