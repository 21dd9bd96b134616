"""Sends calls to Telegram: rate-limited, respecting Telegram's waits, to the chat's present id. Every visible message goes through it.

It retries nothing: a failed attempt raises aiogram's error, and the caller decides whether to repeat it.
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
"""Seconds; upper bound for a wait that Telegram names, so that a nonsensical value cannot silence a chat for years."""
SEND_WITHIN = 20
"""Timeout in seconds for one call.

Telegram answers within tenths of a second; after a timeout the message may or may not have been shown.
"""
UPLOAD_WITHIN = 120
_FLOOD = "Too Many Requests"
"""Text of a 429 without a wait, or with 0: aiogram raises it as a generic error and keeps only Telegram's text."""
_STRIPPABLE: tuple[tuple[str, dict[str, None]], ...] = (
    ("entit", {"entities": None, "caption_entities": None}),
    ("button", {"reply_markup": None}),
    ("keyboard", {"reply_markup": None}),
    ("reply markup is too long", {"reply_markup": None}),
    ("message thread not found", {"message_thread_id": None}),
    ("topic_", {"message_thread_id": None}),
    ("message to be replied not found", {"reply_parameters": None}),
)
"""Phrases of Telegram's refusals (any case) with the fields to drop before a retry: a plain message is better than none."""


class NotDelivering(Exception):
    """While the call waited, this process stopped being the one that delivers, or began to shut down."""


class ChatClosed(Exception):
    """The chat is closed to the bot; no call was made."""


class NotAdmitted(Exception):
    """The chat belongs to a person without access; no call was made."""


class Sender:
    """Makes rate-limited calls for one bot."""

    def __init__(
        self, bot: Bot, pacer: RateLimiter, chats: Chats, may_send: Callable[[], bool], admits: Callable[[int], bool] = lambda _: True
    ) -> None:
        """Create the sender; `may_send`, and `admits` for the chat, are checked again after each wait."""
        self._bot = bot
        self._pacer = pacer
        self._chats = chats
        self._may_send = may_send
        self._admits = admits

    def build_unrestricted(self) -> "Sender":
        """Return a sender without the access check, for the few texts that strangers may read."""
        return Sender(self._bot, self._pacer, self._chats, self._may_send)

    async def send(self, method: TelegramMethod[T], chat: int, rank: Rank) -> T:
        """Make the call when the rate limit admits it. Parts that Telegram refuses are dropped and the rest is sent.

        Raises aiogram's errors, ChatClosed, NotAdmitted or NotDelivering.
        """
        if rank is not Rank.TOAST and self._chats.find_closed_reason(chat):
            raise ChatClosed(self._chats.find_closed_reason(chat))
        try:
            return await self._send_in_turn(method, chat, rank)
        except TelegramMigrateToChat as moved:
            await self._chats.move(self._chats.find_current_id(chat), moved.migrate_to_chat_id)
            if isinstance(method, EditMessageText | DeleteMessage):  # in the new chat this message id names another message, or none
                gone: TelegramMethod[Any] = method
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
            return await self.send(mended, chat, rank)  # each retry has fewer parts, so this ends

    def find_current_chat(self, chat: int) -> int:
        """Return the chat's present id."""
        return self._chats.find_current_id(chat)

    def is_open(self, chat: int) -> bool:
        """Return whether the chat may be shown anything now and Telegram accepts it."""
        return (
            self._admits(chat)
            and not self._chats.find_closed_reason(chat)
            and not self._pacer.measure_hold(self._chats.find_current_id(chat))
        )

    def may_show(self, chat: int, *, draft: bool) -> bool:
        """Return whether a progress message may be shown now; if so it is counted, and `show` must follow."""
        place = self._chats.find_current_id(chat)
        if self._chats.find_closed_reason(chat) or not self._admits(chat):
            return False
        return self._pacer.may_draft_now(place) if draft else self._pacer.may_show_now(place)

    async def show(self, method: TelegramMethod[T], chat: int) -> T:
        """Make an optional call without rate limiting; raises AiogramError if Telegram refused it."""
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
    """Return the seconds to wait that a 429 asks for, at least one; None for any other error."""
    if isinstance(error, TelegramRetryAfter):
        return min(max(error.retry_after, 1), LONGEST_WAIT)
    return 1 if isinstance(error, TelegramAPIError) and _FLOOD in str(error.message) else None


def calculate_retry_wait(error: Exception, attempts: int) -> float | None:
    """Return the seconds until the next attempt; None if no retry can succeed.

    A refused token is no fault of the message: it waits, and the door ends by itself. After a broken connection, a 5xx or an unreadable
    answer (a proxy's page) it is unknown whether the message was shown: it is sent again and may appear twice. A duplicate message is a
    nuisance, a lost answer is a broken promise.
    """
    wait = parse_flood_wait(error)
    if isinstance(error, TelegramRetryAfter):
        return wait
    if isinstance(error, TelegramEntityTooLarge):  # a network error by class only; retried, it would block its chat for a day
        return None
    ours = TelegramUnauthorizedError | TelegramNotFound
    passing = isinstance(error, TelegramNetworkError | TelegramServerError | ClientDecodeError | ours)
    return min(60, 2 ** min(attempts, 6)) if passing or wait is not None else None


def _strip_rejected(method: TelegramMethod[T], error: TelegramBadRequest) -> TelegramMethod[T] | None:
    """Return the message without the part that Telegram refused; None if the refusal names another part, or one that is not set."""
    for words, without in _STRIPPABLE:
        mine = {name: value for name, value in without.items() if getattr(method, name, None)}
        if words in error.message.lower() and mine:
            return method.model_copy(update=mine)
    return None
