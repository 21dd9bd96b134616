"""Delivers outbox rows to Telegram, each at least once (docs/telegram.md), each chat in a task of its own."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import TypeVar

from aiogram import Bot
from aiogram.exceptions import AiogramError, ClientDecodeError, TelegramAPIError, TelegramForbiddenError
from aiogram.methods import AnswerCallbackQuery, EditMessageText, SendMessage, TelegramMethod

from bot.rendering.pictures.worker_process import PictureWorker
from bot.telegram.intake.people import ChatPeople
from bot.telegram.outgoing.chats import Chats, build_admission_check, find_withholding_reason
from bot.telegram.outgoing.delivery_state import DeliveryState, parse_chat
from bot.telegram.outgoing.posting import Poster
from bot.telegram.outgoing.progress import Progress
from bot.telegram.outgoing.rate_limiter import Rank, RateLimiter
from bot.telegram.outgoing.sender import ChatClosed, NotAdmitted, NotDelivering, Sender, calculate_retry_wait
from orchestrator.domain.card_view import CardView
from orchestrator.domain.outputs import Notice
from state.clock import Clock
from state.journal.async_store import AsyncStore
from state.journal.store import OutboxRow, StoreError

log = logging.getLogger(__name__)
T = TypeVar("T")

POLL = 0.5
STORE_PAUSE = 5
GIVE_UP_AFTER = timedelta(hours=24)
ACCESS_RETRY = timedelta(minutes=1)
"""The registry of people cannot be read."""
MAX_CHATS = 256
"""Served at the same time, by one task each."""
LOOK_AHEAD = 64
"""Rows beyond those of chats that are being served."""
DRAIN_TIMEOUT = 3.0
"""Seconds for running calls when the program stops, to mark their rows."""
MAX_SIDE_CALLS = 64
"""Calls that are not for outbox rows; further ones are dropped."""


class Delivery:
    """Delivers the rows of the channel "tg" while `run` runs."""

    def __init__(
        self,
        bot: Bot,
        store: AsyncStore,
        people: ChatPeople,
        clock: Clock,
        *,
        may_send: Callable[[], bool] = lambda: True,
        pacer: RateLimiter | None = None,
    ) -> None:
        self._store = store
        self._people = people
        self._clock = clock
        self._may_send = may_send
        self.pacer = pacer or RateLimiter()
        self.chats = Chats(store, bot.id)
        admits = build_admission_check(people.access)
        # progress signs come from whichever process runs the turn, not only from the one that delivers
        signs = Sender(bot, self.pacer, self.chats, lambda: True, admits)
        self._for_anyone = signs.build_unrestricted()
        parts = DeliveryState(store, bot.id)
        self.progress = Progress(signs, parts, people)
        self._pictures = PictureWorker()
        self._poster = Poster(Sender(bot, self.pacer, self.chats, may_send, admits), store, parts, people, self.progress, self._pictures)
        self._delivered_refs: dict[str, str] = {}
        self._wake = asyncio.Event()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._side_calls: set[asyncio.Task[None]] = set()

    def wake(self) -> None:
        """Look for rows before the next poll."""
        self._wake.set()

    async def run(self) -> None:
        """A database that cannot be read is tried again every few seconds."""
        self._poster.clear_shown()
        async with asyncio.TaskGroup() as group:
            try:
                await self._load_chats()
                while True:
                    self._wake.clear()
                    await self._start_due(group)
                    timer = asyncio.get_running_loop().call_later(POLL, self.wake)
                    try:
                        await self._wake.wait()
                    finally:
                        timer.cancel()
            finally:
                await self._drain()
                self._pictures.end()

    async def wait_until_empty(self) -> None:
        """Raises StoreError."""
        while self._tasks or await self._store.list_due_outbox("tg", self._clock.now(), 1):  # noqa: ASYNC110 - only the store knows what is due
            await asyncio.sleep(0.05)

    async def _load_chats(self) -> None:
        while True:
            try:
                await self.chats.load()
            except StoreError:
                log.exception("the store cannot be read", extra={"action": "store_trouble"})
                await asyncio.sleep(STORE_PAUSE)
            else:
                return

    async def _start_due(self, group: asyncio.TaskGroup) -> None:
        room = MAX_CHATS - len(self._tasks)
        if room <= 0 or not self._may_send():
            return
        busy = set(self._tasks)  # a row read while its task marks it sent may be that same row again
        try:
            rows = await self._store.list_due_outbox("tg", self._clock.now(), len(busy) + LOOK_AHEAD)
        except StoreError:
            log.exception("the outbox cannot be read", extra={"action": "store_trouble"})
            await asyncio.sleep(STORE_PAUSE)
            return
        fresh = [row for row in rows if row.session not in busy]
        for row in fresh[:room]:
            self._tasks[row.session] = group.create_task(self._serve(row))
        if len(fresh) > LOOK_AHEAD - 1:
            self.wake()

    async def _serve(self, row: OutboxRow) -> None:
        try:
            await self._deliver(row)
        except StoreError:
            log.exception("a delivery cannot be marked", extra={"action": "store_trouble", "row": row.id})
            await asyncio.sleep(STORE_PAUSE)
        finally:
            self._tasks.pop(row.session, None)
            self.wake()

    async def _drain(self) -> None:
        self.pacer.stop()
        if self._tasks:
            await asyncio.wait([*self._tasks.values()], timeout=DRAIN_TIMEOUT)
        self.pacer.start()

    async def _deliver(self, row: OutboxRow) -> None:
        """Mark as sent or failed, or reschedule. Raises StoreError."""
        try:
            ref = self._delivered_refs.get(row.id)
            if ref is None:
                card = CardView.from_body(row.body) if row.kind == "card" else None
                if find_withholding_reason(row, card, self._people.access, self._clock.now()) and await self._hold_back(row, card):
                    return
                ref = self._delivered_refs[row.id] = await self._post(row, card)
        except (TelegramAPIError, ClientDecodeError) as error:
            await self._handle_refusal(row, error)
        except ChatClosed as closed:
            await self._store.mark_outbox_failed(row.id, f"the chat is closed to the bot: {closed}")
        except NotAdmitted:
            await self._store.reschedule_outbox(row.id, self._clock.now(), "access was gone in this very moment")
        except (NotDelivering, StoreError) as error:
            if isinstance(error, StoreError):
                raise
        except Exception as error:
            log.exception("a message cannot be made", extra={"action": "delivery_failed", "row": row.id})
            await self._store.mark_outbox_failed(row.id, type(error).__name__)
        else:
            await self._store.mark_outbox_sent(row.id, ref)  # if this fails, only the mark is retried, not the message
            self._delivered_refs.pop(row.id, None)

    async def _hold_back(self, row: OutboxRow, card: CardView | None) -> bool:
        """Fails the row if its reader may not see it, reschedules it while that is unknown, for a day at most. Raises StoreError."""
        access, now = self._people.access, self._clock.now()
        try:
            await access.reload_registry(self._store)
        except Exception:  # see `Access.watch_registry`: any failure to read it counts
            log.exception("the registry of people cannot be read", extra={"action": "registry_unreadable", "row": row.id})
            if now - row.created_at <= GIVE_UP_AFTER:
                await self._store.reschedule_outbox(row.id, now + ACCESS_RETRY, "nobody can tell who has access")
                return True
        why = find_withholding_reason(row, card, access, now)
        if why:
            log.info("a message is not delivered: %s", why, extra={"action": "delivery_withheld", "row": row.id})
            await self._store.mark_outbox_failed(row.id, why)
        return bool(why)

    async def _post(self, row: OutboxRow, card: CardView | None) -> str:
        if self.chats.find_closed_reason(parse_chat(row.session)[0]):
            await self.chats.load()  # another process may have received a message from there
        return await self._poster.post(row, card)

    async def _handle_refusal(self, row: OutboxRow, error: TelegramAPIError | ClientDecodeError) -> None:
        """Fails a row that cannot succeed or is older than `GIVE_UP_AFTER`."""
        wait = calculate_retry_wait(error, row.attempts)
        if wait is not None and self._clock.now() - row.created_at <= GIVE_UP_AFTER:
            await self._store.reschedule_outbox(row.id, self._clock.now() + timedelta(seconds=wait), type(error).__name__)
            return
        # a person who blocks the bot is no fault of ours
        level = logging.INFO if isinstance(error, TelegramForbiddenError) else logging.ERROR
        log.log(level, "a message cannot be delivered: %s", error.message, extra={"action": "delivery_failed", "row": row.id})
        await self._store.mark_outbox_failed(row.id, f"{type(error).__name__}: {error.message}")

    async def report_trouble(self, session: str, notice: Notice) -> None:
        """Without the outbox, for example if the database is down. May fail silently."""
        if session.startswith("tg:"):
            chat, thread = parse_chat(session)
            text = self._people.build_translator(session).translate_notice(notice)
            self._start_beside(SendMessage(chat_id=chat, text=text, message_thread_id=thread), chat, Rank.FINAL)

    def reply_to_click(self, callback_id: str, text: str | None) -> None:
        """None shows nothing. May fail silently."""
        self._start_beside(AnswerCallbackQuery(callback_query_id=callback_id, text=text), 0, Rank.TOAST)

    def remove_buttons(self, session: str, message: int) -> None:
        """Refer to the newer message of the card. May fail silently."""
        chat = parse_chat(session)[0]
        text = self._people.build_translator(session).translate("card-moved")
        self._start_beside(EditMessageText(text=text, chat_id=chat, message_id=message, entities=[], parse_mode=None), chat, Rank.CARD)

    async def report_partial(self, session: str, report: str | Notice) -> None:
        """Text so far, or a notice. Returns at once, may fail silently."""
        if session.startswith("tg:"):
            await self.progress.tell(session, report)

    def _start_beside(self, method: TelegramMethod[T], chat: int, rank: Rank) -> None:
        """The call is dropped if `MAX_SIDE_CALLS` are running."""
        if len(self._side_calls) < MAX_SIDE_CALLS:
            task = asyncio.ensure_future(_run_silently(self._for_anyone.send(method, chat, rank)))
            self._side_calls.add(task)
            task.add_done_callback(self._side_calls.discard)


async def _run_silently(call: Coroutine[None, None, T]) -> None:
    with contextlib.suppress(AiogramError, ChatClosed, NotDelivering, StoreError):
        await call
