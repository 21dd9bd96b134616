"""Delivers outbox rows (stored messages) to Telegram, each at least once (docs/telegram.md).

Each chat has its own task, so that no chat waits for another. A row is marked as sent only after Telegram has confirmed it. If a row takes
several messages, the delivered ones are recorded one by one.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import TypeVar

from aiogram import Bot
from aiogram.exceptions import AiogramError, ClientDecodeError, TelegramAPIError, TelegramForbiddenError
from aiogram.methods import AnswerCallbackQuery, EditMessageText, SendMessage, TelegramMethod

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
"""Time after which a row is tried again if nobody can tell who has access, because the registry of people cannot be read."""
MAX_CHATS = 256
"""Maximum number of chats that are served at the same time, each by one task."""
LOOK_AHEAD = 64
"""Number of rows to fetch in addition to those of chats that are being served; the store returns one row per chat."""
DRAIN_TIMEOUT = 3.0
"""Seconds that running calls get when the program stops, so that messages that Telegram has shown can be marked as sent."""
MAX_SIDE_CALLS = 64
"""Maximum number of running calls that are not for outbox rows (answers to strangers and clicks); further ones are dropped."""


class Delivery:
    """Delivers the outbox rows of the channel "tg" (Telegram) to their chats while `run` runs."""

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
        """Set up the delivery of the messages of `bot`.

        `people` gives the language and time zone of each chat. `may_send` returns whether this process is the leader, the only one that
        delivers. `pacer` replaces the usual rate limiter.
        """
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
        self._poster = Poster(Sender(bot, self.pacer, self.chats, may_send, admits), store, parts, people, self.progress)
        self._delivered_refs: dict[str, str] = {}
        self._wake = asyncio.Event()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._side_calls: set[asyncio.Task[None]] = set()

    def wake(self) -> None:
        """Look for rows to deliver now instead of at the next poll; called when something was stored."""
        self._wake.set()

    async def run(self) -> None:
        """Deliver until cancelled; while the database cannot be read, try again every few seconds."""
        self._poster.clear_shown()
        async with asyncio.TaskGroup() as group:
            try:
                await self._load_chats()
                while True:
                    self._wake.clear()
                    await self._start_due(group)
                    # wait_for of Python 3.11 would swallow a cancellation that coincides with a wake-up
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(POLL):
                            await self._wake.wait()
            finally:
                await self._drain()

    async def wait_until_empty(self) -> None:
        """Wait until every outbox row whose delivery time has come is delivered. Raises StoreError."""
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
        """Start a delivery task for each chat that has an outbox row to deliver and no running task."""
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
        """End delivery: calls that wait for the rate limit stop at once, and running calls get `DRAIN_TIMEOUT` seconds to finish."""
        self.pacer.stop()
        if self._tasks:
            await asyncio.wait([*self._tasks.values()], timeout=DRAIN_TIMEOUT)
        self.pacer.start()

    async def _deliver(self, row: OutboxRow) -> None:
        """Deliver one outbox row, and store the result: the row is marked as sent, marked as failed, or rescheduled. Raises StoreError."""
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
        """Check again whether an outbox row's reader may see it, and return True if it must not be delivered now. Raises StoreError.

        The registry of people is read anew first, since the person may have joined a second ago. If the reader may not see the row, it is
        marked as failed. While the registry cannot be read, the row is rescheduled, for a day at most.
        """
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
        """Reschedule an outbox row that Telegram refused.

        If no retry can succeed, or if the row is older than `GIVE_UP_AFTER`, it is marked as failed instead.
        """
        wait = calculate_retry_wait(error, row.attempts)
        if wait is not None and self._clock.now() - row.created_at <= GIVE_UP_AFTER:
            await self._store.reschedule_outbox(row.id, self._clock.now() + timedelta(seconds=wait), type(error).__name__)
            return
        # a person who blocks the bot is no fault of ours
        level = logging.INFO if isinstance(error, TelegramForbiddenError) else logging.ERROR
        log.log(level, "a message cannot be delivered: %s", error.message, extra={"action": "delivery_failed", "row": row.id})
        await self._store.mark_outbox_failed(row.id, f"{type(error).__name__}: {error.message}")

    async def report_trouble(self, session: str, notice: Notice) -> None:
        """Send a notice to a chat at once, without the outbox, for example while the database cannot be written. May fail silently."""
        if session.startswith("tg:"):
            chat, thread = parse_chat(session)
            text = self._people.build_translator(session).translate_notice(notice)
            self._start_beside(SendMessage(chat_id=chat, text=text, message_thread_id=thread), chat, Rank.FINAL)

    def reply_to_click(self, callback_id: str, text: str | None) -> None:
        """Answer a click at once, without the outbox. `text` is shown for a moment; None shows nothing. May fail silently."""
        self._start_beside(AnswerCallbackQuery(callback_query_id=callback_id, text=text), 0, Rank.TOAST)

    def remove_buttons(self, session: str, message: int) -> None:
        """Replace an old message of a card by a text without buttons that refers to the newer message of the card. May fail silently."""
        chat = parse_chat(session)[0]
        text = self._people.build_translator(session).translate("card-moved")
        self._start_beside(EditMessageText(text=text, chat_id=chat, message_id=message, entities=[], parse_mode=None), chat, Rank.CARD)

    async def report_partial(self, session: str, said: str | Notice) -> None:
        """Show the progress of a running turn (processing of a request) in its chat. Returns at once and may fail silently.

        `said` is the text of the answer so far, or a notice.
        """
        if session.startswith("tg:"):
            await self.progress.tell(session, said)

    def _start_beside(self, method: TelegramMethod[T], chat: int, rank: Rank) -> None:
        """Start a call to Telegram in the background, so that the caller does not wait for it.

        The call is dropped if `MAX_SIDE_CALLS` such calls are running.
        """
        if len(self._side_calls) < MAX_SIDE_CALLS:
            task = asyncio.ensure_future(_run_silently(self._for_anyone.send(method, chat, rank)))
            self._side_calls.add(task)
            task.add_done_callback(self._side_calls.discard)


async def _run_silently(call: Coroutine[None, None, T]) -> None:
    with contextlib.suppress(AiogramError, ChatClosed, NotDelivering, StoreError):
        await call
