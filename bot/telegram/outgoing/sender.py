"""Makes calls to Telegram within the rate limit. Everything that a person sees is sent here.

If a group has a new id, the call goes to that id. A failed call raises aiogram's error, and the caller decides whether to repeat it. One
case is repeated here: if Telegram refuses a part of a message (such as its buttons), the message is sent again without that part.
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
from aiogram.methods import DeleteMessage, EditMessageText, SendDocument, SendMessage, SendPhoto, TelegramMethod
from aiogram.types import Message

from bot.telegram.outgoing.chats import Chats
from bot.telegram.outgoing.rate_limiter import Rank, RateLimiter, Stopped

log = logging.getLogger(__name__)
T = TypeVar("T")

LONGEST_WAIT = 3600
"""Maximum number of seconds that a wait asked for by Telegram may take; a nonsensical value would silence a chat for years."""
SEND_WITHIN = 20
"""Timeout in seconds for one call.

Telegram answers within tenths of a second; after a timeout the message may or may not have been shown.
"""
UPLOAD_WITHIN = 120
_FLOOD = "Too Many Requests"
"""Text of a 429 answer that does not say how long to wait; aiogram raises it as a generic error, recognizable only by this text."""
_STRIPPABLE: tuple[tuple[str, dict[str, None]], ...] = (
    ("entit", {"entities": None, "caption_entities": None}),
    ("button", {"reply_markup": None}),
    ("keyboard", {"reply_markup": None}),
    ("reply markup is too long", {"reply_markup": None}),
    ("message thread not found", {"message_thread_id": None}),
    ("topic_", {"message_thread_id": None}),
    ("message to be replied not found", {"reply_parameters": None}),
)
"""Phrases of Telegram's refusals (in any case), each with the fields to drop before a retry, since a plain message is better than none."""


class NotDelivering(Exception):
    """Raised instead of making a call if this process is no longer the one that delivers, or is shutting down."""


class ChatClosed(Exception):
    """Raised instead of making a call if the chat is closed to the bot, for example because the person blocked it."""


class NotAdmitted(Exception):
    """Raised instead of making a call if the chat may not see company data, because its person has no access."""


class Sender:
    """Makes the calls of one bot to Telegram, within the rate limit and only to chats that may get them."""

    def __init__(
        self,
        bot: Bot,
        pacer: RateLimiter,
        chats: Chats,
        may_send: Callable[[], bool],
        admits: Callable[[int], bool] = lambda _: True,
        *,
        mends: bool = True,
    ) -> None:
        """Create the sender for `bot`.

        Each call waits for the rate limiter `pacer`. After the wait two conditions are checked: `may_send()`, whether this process
        delivers, and `admits(chat)`, whether the chat may see company data. Without `mends` a message of which Telegram refuses a part is
        not sent without that part: somebody approved it as a whole.
        """
        self._bot = bot
        self._pacer = pacer
        self._chats = chats
        self._may_send = may_send
        self._admits = admits
        self._mends = mends

    def build_unrestricted(self) -> "Sender":
        """Return a sender that may send to all chats, for the few texts that people without access may read. It does not check `admits`."""
        return Sender(self._bot, self._pacer, self._chats, self._may_send)

    async def send(self, method: TelegramMethod[T], chat: int, rank: Rank) -> T:
        """Make the call when the rate limit allows it, and return Telegram's answer.

        If Telegram refuses formatting, buttons or topic, the message is sent without that part. Raises aiogram's errors, ChatClosed,
        NotAdmitted and NotDelivering.
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
            mended = _strip_rejected(method, error) if self._mends else None
            if mended is None:
                raise
            log.warning("a message is sent without what Telegram does not take: %s", error.message, extra={"action": "message_mended"})
            return await self.send(mended, chat, rank)  # each retry has fewer parts, so this ends

    def find_current_chat(self, chat: int) -> int:
        """Return the present id of a chat: a group gets a new id when Telegram makes it a supergroup."""
        return self._chats.find_current_id(chat)

    def is_open(self, chat: int) -> bool:
        """Return whether something may be shown in the chat now.

        It may, if the chat may see company data, is not closed to the bot, and Telegram has not asked for a wait.
        """
        return (
            self._admits(chat)
            and not self._chats.find_closed_reason(chat)
            and not self._pacer.measure_hold(self._chats.find_current_id(chat))
        )

    def may_show(self, chat: int, *, draft: bool) -> bool:
        """Return whether progress may be shown in the chat now, as a draft or as a message.

        If True, the rate limiter has counted the call, and the caller must make it with `show`.
        """
        place = self._chats.find_current_id(chat)
        if self._chats.find_closed_reason(chat) or not self._admits(chat):
            return False
        return self._pacer.may_draft_now(place) if draft else self._pacer.may_show_now(place)

    async def show(self, method: TelegramMethod[T], chat: int) -> T:
        """Make a call that shows progress, without waiting for the rate limit, and return Telegram's answer.

        Call `may_show` first, which counts the call. Raises AiogramError if Telegram refuses the call.
        """
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
            shown = await self._bot(method, request_timeout=UPLOAD_WITHIN if isinstance(method, SendDocument | SendPhoto) else SEND_WITHIN)
        except AiogramError as error:
            wait = parse_flood_wait(error)
            if wait is not None:
                self._pacer.hold(place, wait)
            raise
        if isinstance(shown, Message) and isinstance(method, SendMessage | SendDocument | SendPhoto):
            self._chats.record_sent(chat, shown.message_id)
        return shown


def parse_flood_wait(error: Exception) -> float | None:
    """Return how many seconds Telegram asks to wait (at least 1) if `error` is a 429 answer; None for any other error."""
    if isinstance(error, TelegramRetryAfter):
        return min(max(error.retry_after, 1), LONGEST_WAIT)
    return 1 if isinstance(error, TelegramAPIError) and _FLOOD in str(error.message) else None


def calculate_retry_wait(error: Exception, attempts: int) -> float | None:
    """Return the seconds until a failed message is sent again; None if no retry can succeed. `attempts` counts the failed attempts so far.

    If Telegram rejects the bot's token, a retry is made too, since the message itself may be fine. After a broken connection, a status 5xx
    or an unreadable answer it is unknown whether the message was shown. It is sent again and may appear twice, because a lost answer would
    be worse than a duplicate.
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
    """Return the message without the part that Telegram refused, such as its buttons or its topic.

    Returns None if the error is about something else, or if the message has no such part.
    """
    for words, without in _STRIPPABLE:
        mine = {name: value for name, value in without.items() if getattr(method, name, None)}
        if words in error.message.lower() and mine:
            return method.model_copy(update=mine)
    return None
