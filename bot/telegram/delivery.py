"""Brings outbox rows to Telegram, at least once: waits out 429, edits cards in place, splits long texts. Ring 3.

The only caller of sending methods; a row is marked sent after Telegram said so.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from aiogram import Bot
from aiogram.exceptions import (
    AiogramError,
    ClientDecodeError,
    TelegramAPIError,
    TelegramBadRequest,
    TelegramForbiddenError,
    TelegramNetworkError,
    TelegramRetryAfter,
    TelegramServerError,
)
from aiogram.types import InlineKeyboardMarkup, MessageEntity

from bot.i18n.translate import Translator, as_notice
from bot.rendering.cards import card_text
from bot.rendering.news import news_text
from bot.rendering.replies import reply_text
from bot.rendering.spans import Span, Spans, spans
from bot.telegram.entities import render
from bot.telegram.keyboards import card_keyboard, reply_keyboard
from bot.telegram.people import People
from bot.telegram.splitting import split
from orchestrator.messages import Notice, Reply
from state.clock import Clock
from state.store import OutboxRow, StoreError
from state.worker import AsyncStore

log = logging.getLogger(__name__)

POLL = 0.5
STORE_PAUSE = 5
GIVE_UP = timedelta(hours=24)
LONGEST_WAIT = 3600
"""Telegram's number is obeyed up to here, then asked for again: a nonsensical one must not silence a chat for years."""
TYPING = timedelta(seconds=4)
"""Clients show "typing" for five seconds; telling them with every piece of a streamed answer would meet the flood limit."""
_DRAFT = 1
"""One draft a chat: Telegram changes it in place as long as its number stays the same."""
_FLOOD = "Too Many Requests"
"""A 429 that names no wait, or 0, reaches us as an error of no special kind: aiogram keeps only Telegram's words of it."""


class Delivery:
    """Drains the outbox of channel "tg" until cancelled."""

    def __init__(self, bot: Bot, store: AsyncStore, people: People, clock: Clock, *, may_send: Callable[[], bool] = lambda: True) -> None:
        """`people` knows the language and zone of a chat; `may_send` says whether this process is still the one that delivers."""
        self._bot = bot
        self._store = store
        self._people = people
        self._clock = clock
        self._may_send = may_send
        self._delivered: dict[str, str] = {}
        self._wake = asyncio.Event()
        self._typing: dict[str, datetime] = {}

    def wake(self) -> None:
        """Something may be waiting."""
        self._wake.set()

    async def run(self) -> None:
        """Deliver until cancelled; a store that cannot be read is tried again."""
        while True:
            self._wake.clear()
            try:
                rows = await self._store.due_outbox("tg", self._clock.now())
                moved = any(await asyncio.gather(*(self._deliver_chat(chat) for chat in _by_session(rows))))
            except StoreError:
                log.exception("the outbox cannot be read or marked", extra={"action": "store_trouble"})
                moved = False
                await asyncio.sleep(STORE_PAUSE)
            if not moved:
                with contextlib.suppress(TimeoutError):  # wait_for of Python 3.11 would swallow a stop that meets a wake
                    async with asyncio.timeout(POLL):
                        await self._wake.wait()

    async def _deliver_chat(self, rows: Sequence[OutboxRow]) -> bool:
        """One chat's rows in order; the first that must wait holds the rest back. Whether any of them is out of the way now."""
        for number, row in enumerate(rows):
            if not await self._deliver(row):
                return number > 0
        return bool(rows)

    async def _deliver(self, row: OutboxRow) -> bool:
        if not self._may_send():  # a process that slept: somebody else may have delivered it since
            return False
        try:
            ref = self._delivered.get(row.id) or await self._send(row)
        except (TelegramAPIError, ClientDecodeError) as error:
            return not await self._refused(row, error)
        except StoreError:
            raise
        except Exception as error:
            log.exception("a message cannot be made", extra={"action": "delivery_failed", "row": row.id})
            await self._store.outbox_failed(row.id, type(error).__name__)
        else:
            self._delivered[row.id] = ref  # if the mark cannot be stored now, only the mark is tried again
            await self._store.outbox_sent(row.id, ref)
            del self._delivered[row.id]
        return True

    async def _refused(self, row: OutboxRow, error: TelegramAPIError | ClientDecodeError) -> bool:
        """True when the row is to be tried again; what no waiting mends is given up, and so is what did not get through for a day."""
        wait = _wait(error, row.attempts)
        if wait is not None and self._clock.now() - row.created_at <= GIVE_UP:
            await self._store.outbox_retry(row.id, self._clock.now() + timedelta(seconds=wait), type(error).__name__)
            return True
        level = logging.INFO if isinstance(error, TelegramForbiddenError) else logging.ERROR  # whoever blocks the bot is no trouble of ours
        log.log(level, "a message cannot be delivered: %s", error.message, extra={"action": "delivery_failed", "row": row.id})
        await self._store.outbox_failed(row.id, f"{type(error).__name__}: {error.message}")
        return False

    async def _send(self, row: OutboxRow) -> str:
        tr = self._people.translator(row.session)
        match row.kind:
            case "toast":
                return await self._toast(row, tr)
            case "card":
                return await self._message(row, card_text(row.body, tr), card_keyboard(row.body, tr))
            case "news":
                return await self._message(row, news_text(row.body, tr), None)
            case "code":
                return await self._message(row, spans(Span(str(row.body["text"]), "code")), None)
            case _:
                reply = Reply.model_validate(row.body)
                return await self._message(row, reply_text(reply, tr), reply_keyboard(reply, tr))

    async def _toast(self, row: OutboxRow, tr: Translator) -> str:
        text = tr.notice(as_notice(row.body["notice"]))[:200]
        with contextlib.suppress(TelegramBadRequest):  # too late to answer the press; the card tells it
            await self._bot.answer_callback_query(row.body["callback_id"], text=text, show_alert=len(text) > 60)  # noqa: PLR2004
        return ""

    async def _message(self, row: OutboxRow, rich: Spans, markup: InlineKeyboardMarkup | None) -> str:
        chat, thread = chat_of(row.session)
        known = await self._store.sent_ref(row.session, row.key) if row.key else ""
        text, entities = render(rich)
        if not text.strip():
            return known
        pieces = split(text, entities)
        if known and await self._edit(chat, int(known), pieces[-1], markup):
            return known
        sent = 0
        for number, (piece, marks) in enumerate(pieces, start=1):
            last = number == len(pieces)
            message = await self._bot.send_message(
                chat, piece, entities=marks, parse_mode=None, message_thread_id=thread, reply_markup=markup if last else None
            )
            sent = message.message_id
        return str(sent)

    async def _edit(self, chat: int, message_id: int, piece: tuple[str, list[MessageEntity]], markup: InlineKeyboardMarkup | None) -> bool:
        """Change a message in place; False when Telegram no longer lets it be changed. Of a long text the message holds the last piece."""
        text, marks = piece
        try:
            await self._bot.edit_message_text(
                text, chat_id=chat, message_id=message_id, entities=marks, parse_mode=None, reply_markup=markup
            )
        except TelegramBadRequest as error:
            return "not modified" in error.message
        return True

    async def trouble(self, session: str, notice: Notice) -> None:
        """Tell a chat directly, when not even the outbox can be written; may fail silently."""
        if not session.startswith("tg:"):
            return
        chat, thread = chat_of(session)
        with contextlib.suppress(AiogramError):
            await self._bot.send_message(chat, self._people.translator(session).notice(notice), parse_mode=None, message_thread_id=thread)

    async def partial(self, session: str, text: str | Notice) -> None:
        """Show that the answer is being written, or in a draft how far it is; may fail silently."""
        if not session.startswith("tg:"):
            return
        chat, thread = chat_of(session)
        if isinstance(text, Notice) and chat > 0:  # Telegram shows drafts in private chats only
            said = self._people.translator(session).notice(text)
            with contextlib.suppress(AiogramError):
                await self._bot.send_message_draft(chat, _DRAFT, text=said, parse_mode=None, message_thread_id=thread)
            return
        now = self._clock.now()
        if session in self._typing and now - self._typing[session] < TYPING:
            return
        self._typing[session] = now
        with contextlib.suppress(AiogramError):
            await self._bot.send_chat_action(chat, "typing", message_thread_id=thread)


def chat_of(session: str) -> tuple[int, int | None]:
    """ "tg:1007:5" → chat 1007, thread 5."""
    parts = session.split(":")
    return int(parts[1]), int(parts[2]) if len(parts) > 2 else None  # noqa: PLR2004 - channel, chat, thread


def _wait(error: TelegramAPIError | ClientDecodeError, attempts: int) -> float | None:
    """Seconds until the next try; None for what no waiting mends."""
    if isinstance(error, TelegramRetryAfter):
        return min(max(error.retry_after, 1), LONGEST_WAIT)
    passing = isinstance(error, TelegramNetworkError | TelegramServerError | ClientDecodeError)
    return min(60, 2 ** min(attempts, 6)) if passing or _FLOOD in str(error.message) else None


def _by_session(rows: Sequence[OutboxRow]) -> list[list[OutboxRow]]:
    groups: dict[str, list[OutboxRow]] = {}
    for row in rows:
        groups.setdefault(row.session, []).append(row)
    return list(groups.values())
