"""Brings outbox rows to Telegram, at least once: one task a chat, so that no chat waits for another. Ring 3; see docs/telegram.md.

A row is marked sent after Telegram said so. Of a row that needs several messages each one that arrived is remembered.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

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
from orchestrator.domain.outputs import Notice
from state.clock import Clock
from state.journal.async_store import AsyncStore
from state.journal.store import OutboxRow, StoreError

log = logging.getLogger(__name__)

POLL = 0.5
STORE_PAUSE = 5
GIVE_UP_AFTER = timedelta(hours=24)
ACCESS_RETRY = timedelta(minutes=1)
"""For who has access, where that cannot be read: nothing is closed for good by a database that fails for a while."""
MAX_CHATS = 256
"""Chats that are served side by side; each holds one short task."""
LOOK_AHEAD = 64
"""Rows that are looked for beyond those of the chats at work, of which the store shows one each."""
DRAIN_TIMEOUT = 3.0
"""Seconds that calls on their way have when the program stops: what Telegram showed is to be marked as shown."""
MAX_SIDE_CALLS = 64
"""Answers beside the outbox (to strangers, to presses) that may be on their way; a flood of them is not answered."""


class Delivery:
    """Drains the outbox of channel "tg" until cancelled."""

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
        """`people` knows the language and zone of a chat; `may_send` says whether this process is still the one that delivers."""
        self._store = store
        self._people = people
        self._clock = clock
        self._may_send = may_send
        self._pacer = pacer or RateLimiter()
        self.chats = Chats(store, bot.id)
        admits = build_admission_check(people.access)
        signs = Sender(bot, self._pacer, self.chats, lambda: True, admits)  # of whoever works the turn, and not only of whoever delivers
        self._for_anyone = signs.build_unrestricted()
        parts = DeliveryState(store, bot.id)
        self.progress = Progress(signs, parts, people)
        self._poster = Poster(Sender(bot, self._pacer, self.chats, may_send, admits), store, parts, people, self.progress)
        self._delivered_refs: dict[str, str] = {}
        self._wake = asyncio.Event()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._side_calls: set[asyncio.Task[None]] = set()

    def wake(self) -> None:
        """Something may be waiting."""
        self._wake.set()

    async def run(self) -> None:
        """Deliver until cancelled; a store that cannot be read is tried again."""
        self._poster.clear_shown()
        async with asyncio.TaskGroup() as group:
            try:
                await self._load_chats()
                while True:
                    self._wake.clear()
                    await self._start_due(group)
                    with contextlib.suppress(TimeoutError):  # wait_for of Python 3.11 would swallow a stop that meets a wake
                        async with asyncio.timeout(POLL):
                            await self._wake.wait()
            finally:
                await self._drain()

    async def wait_until_empty(self) -> None:
        """Return when nothing that is due waits any more. Raises StoreError."""
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
        """One task for each chat that has something due and none yet."""
        room = MAX_CHATS - len(self._tasks)
        if room <= 0 or not self._may_send():
            return
        busy = set(self._tasks)  # what is read while one of them marks its row may be that row again
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
        """Those who wait their turn stop at once, calls on their way are heard to their end, within `DRAIN_TIMEOUT`."""
        self._pacer.stop()
        if self._tasks:
            await asyncio.wait([*self._tasks.values()], timeout=DRAIN_TIMEOUT)
        self._pacer.start()

    async def _deliver(self, row: OutboxRow) -> None:
        """Bring one row out of the way, or put it off. Raises StoreError."""
        try:
            ref = self._delivered_refs.get(row.id)
            if ref is None:
                if find_withholding_reason(row, self._people.access, self._clock.now()) and await self._hold_back(row):
                    return
                ref = self._delivered_refs[row.id] = await self._post(row)
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
            await self._store.mark_outbox_sent(row.id, ref)  # if the mark cannot be stored now, only the mark is tried again
            self._delivered_refs.pop(row.id, None)

    async def _hold_back(self, row: OutboxRow) -> bool:
        """Close a row whose reader may not see it, unless the registry, read anew, says otherwise: whoever joined a second ago may.

        A registry that cannot be read puts the row off, for a day at most. Raises StoreError.
        """
        access, now = self._people.access, self._clock.now()
        try:
            await access.reload_registry(self._store)
        except Exception:  # see `Access.follow`: whatever keeps it from being read
            log.exception("the registry of people cannot be read", extra={"action": "registry_unreadable", "row": row.id})
            if now - row.created_at <= GIVE_UP_AFTER:
                await self._store.reschedule_outbox(row.id, now + ACCESS_RETRY, "nobody can tell who has access")
                return True
        why = find_withholding_reason(row, access, now)
        if why:
            log.info("a message is not delivered: %s", why, extra={"action": "delivery_withheld", "row": row.id})
            await self._store.mark_outbox_failed(row.id, why)
        return bool(why)

    async def _post(self, row: OutboxRow) -> str:
        if self.chats.find_closed_reason(parse_chat(row.session)[0]):
            await self.chats.load()  # another process may have heard from there
        return await self._poster.post(row)

    async def _handle_refusal(self, row: OutboxRow, error: TelegramAPIError | ClientDecodeError) -> None:
        """Try it again later; what no waiting mends is given up, and so is what did not get through for a day."""
        wait = calculate_retry_wait(error, row.attempts)
        if wait is not None and self._clock.now() - row.created_at <= GIVE_UP_AFTER:
            await self._store.reschedule_outbox(row.id, self._clock.now() + timedelta(seconds=wait), type(error).__name__)
            return
        level = logging.INFO if isinstance(error, TelegramForbiddenError) else logging.ERROR  # whoever blocks the bot is no trouble of ours
        log.log(level, "a message cannot be delivered: %s", error.message, extra={"action": "delivery_failed", "row": row.id})
        await self._store.mark_outbox_failed(row.id, f"{type(error).__name__}: {error.message}")

    async def report_trouble(self, session: str, notice: Notice) -> None:
        """Tell a chat directly, when not even the outbox can be written; may fail silently."""
        if session.startswith("tg:"):
            chat, thread = parse_chat(session)
            text = self._people.build_translator(session).translate_notice(notice)
            self._start_beside(SendMessage(chat_id=chat, text=text, message_thread_id=thread), chat, Rank.FINAL)

    def reply_to_click(self, callback_id: str, text: str | None) -> None:
        """Answer a press without the outbox; may fail silently."""
        self._start_beside(AnswerCallbackQuery(callback_query_id=callback_id, text=text), 0, Rank.TOAST)

    def remove_buttons(self, session: str, message: int) -> None:
        """Take the buttons of a message that stands in the chat a second time, further up; may fail silently."""
        chat = parse_chat(session)[0]
        text = self._people.build_translator(session).translate("card-moved")
        self._start_beside(EditMessageText(text=text, chat_id=chat, message_id=message, entities=[], parse_mode=None), chat, Rank.CARD)

    async def report_partial(self, session: str, said: str | Notice) -> None:
        """How far a turn is; returns at once and may come to nothing."""
        if session.startswith("tg:"):
            await self.progress.tell(session, said)

    def _start_beside(self, method: TelegramMethod[Any], chat: int, rank: Rank) -> None:
        """Nobody who stores updates or works turns waits for Telegram."""
        if len(self._side_calls) < MAX_SIDE_CALLS:
            task = asyncio.ensure_future(_run_silently(self._for_anyone.send(method, chat, rank)))
            self._side_calls.add(task)
            task.add_done_callback(self._side_calls.discard)


async def _run_silently(call: Coroutine[Any, Any, Any]) -> None:
    with contextlib.suppress(AiogramError, ChatClosed, NotDelivering, StoreError):
        await call
