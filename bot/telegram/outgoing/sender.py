"""Makes calls to Telegram within the rate limit.

Failed calls raise aiogram's error; only a refused part of a message (such as its buttons) is left out and the rest sent again.
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
from aiogram.methods import DeleteMessage, EditMessageMedia, EditMessageText, SendDocument, SendMessage, SendPhoto, TelegramMethod
from aiogram.types import Message

from bot.telegram.outgoing.chats import Chats
from bot.telegram.outgoing.rate_limiter import Rank, RateLimiter, Stopped

log = logging.getLogger(__name__)
T = TypeVar("T")

LONGEST_WAIT = 3600
"""Seconds; a nonsensical wait would silence a chat for years."""
SEND_WITHIN = 20
"""Seconds, after which the message may or may not have been shown."""
UPLOAD_WITHIN = 120
_FLOOD = "Too Many Requests"
"""A 429 answer without a wait, which aiogram raises as a generic error."""
_STRIPPABLE: tuple[tuple[str, dict[str, None]], ...] = (
    ("entit", {"entities": None, "caption_entities": None}),
    ("button", {"reply_markup": None}),
    ("keyboard", {"reply_markup": None}),
    ("reply markup is too long", {"reply_markup": None}),
    ("message thread not found", {"message_thread_id": None}),
    ("topic_", {"message_thread_id": None}),
    ("message to be replied not found", {"reply_parameters": None}),
)
"""Phrases of refusals, with the fields to drop before a retry."""


class NotDelivering(Exception):
    """This process does not deliver, or is shutting down."""


class ChatClosed(Exception):
    """The chat refuses the bot, for example blocked it."""


class NotAdmitted(Exception):
    """The chat's person has no access."""


class Sender:
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
        """`may_send` and `admits` are checked after the wait. Without `mends` no refused part is left out: somebody approved the whole."""
        self._bot = bot
        self._pacer = pacer
        self._chats = chats
        self._may_send = may_send
        self._admits = admits
        self._mends = mends

    def build_unrestricted(self) -> "Sender":
        """Does not check `admits`: for texts that people without access may read."""
        return Sender(self._bot, self._pacer, self._chats, self._may_send)

    async def send(self, method: TelegramMethod[T], chat: int, rank: Rank) -> T:
        """Raises aiogram's errors, ChatClosed, NotAdmitted and NotDelivering."""
        if rank is not Rank.TOAST and self._chats.find_closed_reason(chat):
            raise ChatClosed(self._chats.find_closed_reason(chat))
        try:
            return await self._send_in_turn(method, chat, rank)
        except TelegramMigrateToChat as moved:
            await self._chats.move(self._chats.find_current_id(chat), moved.migrate_to_chat_id)
            if isinstance(
                method, EditMessageText | EditMessageMedia | DeleteMessage
            ):  # in the new chat this message id names another message, or none
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
        """A group that becomes a supergroup gets a new id."""
        return self._chats.find_current_id(chat)

    def is_open(self, chat: int) -> bool:
        """Neither withheld, closed nor asked to wait by Telegram."""
        return (
            self._admits(chat)
            and not self._chats.find_closed_reason(chat)
            and not self._pacer.measure_hold(self._chats.find_current_id(chat))
        )

    def may_show(self, chat: int, *, draft: bool) -> bool:
        """If True the call is counted, and must be made with `show`."""
        place = self._chats.find_current_id(chat)
        if self._chats.find_closed_reason(chat) or not self._admits(chat):
            return False
        return self._pacer.may_draft_now(place) if draft else self._pacer.may_show_now(place)

    async def show(self, method: TelegramMethod[T], chat: int) -> T:
        """Call `may_show` first. Raises AiogramError."""
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
            response = await self._bot(
                method, request_timeout=UPLOAD_WITHIN if isinstance(method, SendDocument | SendPhoto | EditMessageMedia) else SEND_WITHIN
            )
        except AiogramError as error:
            wait = parse_flood_wait(error)
            if wait is not None:
                self._pacer.hold(place, wait)
            raise
        if isinstance(response, Message) and isinstance(method, SendMessage | SendDocument | SendPhoto):
            self._chats.record_sent(chat, response.message_id)
        return response


def parse_flood_wait(error: Exception) -> float | None:
    """Seconds, at least 1; None for other errors."""
    if isinstance(error, TelegramRetryAfter):
        return min(max(error.retry_after, 1), LONGEST_WAIT)
    return 1 if isinstance(error, TelegramAPIError) and _FLOOD in str(error.message) else None


def calculate_retry_wait(error: Exception, attempts: int) -> float | None:
    """Seconds; None if no retry can succeed.

    After a broken connection the message may appear twice: a lost answer would be worse.
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
    """None if the message has no refused part."""
    for words, without in _STRIPPABLE:
        mine = {name: value for name, value in without.items() if getattr(method, name, None)}
        if words in error.message.lower() and mine:
            return method.model_copy(update=mine)
    return None
