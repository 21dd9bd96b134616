"""Takes updates by polling or webhook: stored before confirmed, unreadable ones quarantined."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

from aiogram import Bot
from aiogram.exceptions import ClientDecodeError, TelegramAPIError, TelegramConflictError, TelegramRetryAfter, TelegramUnauthorizedError
from aiogram.methods import TelegramMethod
from aiogram.types import Update
from pydantic import ValidationError

from state.journal.store import StoreError

log = logging.getLogger(__name__)

ALLOWED_UPDATES = ["message", "edited_message", "callback_query", "my_chat_member", "stopped_message_generation"]
"""Without the list Telegram keeps its previous setting."""
LONG_POLL = 25
STORE_PAUSE = 1.0
LONGEST_WAIT = 3600
"""Seconds; a nonsensical wait would silence the bot for years."""
PAUSES = (1.0, 2.0, 5.0, 15.0)
CONFLICT_WINDOW = 60.0
"""A second conflict within so many seconds shows that another program polls."""

Accept = Callable[[Update], Awaitable[None]]
"""Telegram sends the update again if this raises StoreError."""
Quarantine = Callable[[int, str], Awaitable[None]]


class RawUpdates(TelegramMethod[list[dict[str, object]]]):
    """Plain data: one malformed update does not spoil the others."""

    __returning__ = list[dict[str, object]]
    __api_method__ = "getUpdates"

    offset: int | None = None
    timeout: int | None = None
    allowed_updates: list[str] | None = None


class UpdateIntake:
    def __init__(self, bot: Bot, accept: Accept, quarantine: Quarantine) -> None:
        """`accept` returns only after the update is stored."""
        self._bot = bot
        self._accept = accept
        self._quarantine = quarantine

    async def take(self, raw: object) -> int | None:
        """Return its update_id, None if it has none. Raises StoreError."""
        number = raw.get("update_id") if isinstance(raw, Mapping) else None
        if not isinstance(number, int):
            log.error("something that is no update was left out", extra={"action": "update_quarantined"})
            return None
        try:
            update = Update.model_validate(raw, context={"bot": self._bot})
        except ValidationError as error:
            log.error("update %s cannot be read", number, extra={"action": "update_quarantined"})  # noqa: TRY400
            await self._quarantine(number, f"{error.error_count()} faults, first at {error.errors()[0]['loc']}")
            return number
        try:
            await self._accept(update)
        except StoreError:
            raise
        except Exception as error:
            log.exception("update %s cannot be taken", number, extra={"action": "update_quarantined"})
            await self._quarantine(number, type(error).__name__)
        return number


class Poller:
    def __init__(self, bot: Bot, intake: UpdateIntake, *, may_poll: Callable[[], bool]) -> None:
        """A poll ends that of another process: only while `may_poll`."""
        self._bot = bot
        self._intake = intake
        self._may_poll = may_poll
        self._offset: int | None = None
        self._conflict_at = -CONFLICT_WINDOW

    async def run(self) -> None:
        """Raises TelegramUnauthorizedError and TelegramConflictError."""
        failures = 0
        while True:
            try:
                await self._poll_once()
                failures = 0
            except TelegramUnauthorizedError:
                raise
            except TelegramConflictError:
                previous, self._conflict_at = self._conflict_at, time.monotonic()
                if self._conflict_at - previous < CONFLICT_WINDOW:
                    raise
                log.warning("another process polled with this token", extra={"action": "poll_conflict"})
            except TelegramRetryAfter as error:
                await asyncio.sleep(min(max(error.retry_after, 1), LONGEST_WAIT))
            except (TelegramAPIError, ClientDecodeError) as error:
                failures += 1
                log.warning("telegram did not answer: %s", type(error).__name__, extra={"action": "poll_failed"})
                await asyncio.sleep(PAUSES[min(failures, len(PAUSES)) - 1])

    async def _poll_once(self) -> None:
        if not self._may_poll():
            await asyncio.sleep(PAUSES[0])
            return
        await self._bot.me()  # fetched once and cached: parsing must know which commands and mentions are for this bot
        method = RawUpdates(offset=self._offset, timeout=LONG_POLL, allowed_updates=ALLOWED_UPDATES)
        updates: dict[object, list[object]] = {}
        for raw in await self._bot(method, request_timeout=LONG_POLL + 15):
            updates.setdefault(_find_chat(raw), []).append(raw)
        async with asyncio.TaskGroup() as group:
            taking = [group.create_task(self._take_in_order(chat)) for chat in updates.values()]
        numbers = [number for task in taking for number in task.result()]
        self._offset = max(numbers) + 1 if numbers else self._offset  # the next poll confirms the updates

    async def _take_in_order(self, updates: Sequence[object]) -> list[int]:
        """Those of one chat: no other chat waits until they are stored."""
        return [number for raw in updates if (number := await self._take_until_stored(raw)) is not None]

    async def _take_until_stored(self, raw: object) -> int | None:
        """Until then no further update is taken."""
        while True:
            try:
                return await self._intake.take(raw)
            except StoreError:
                log.exception("an update waits for the store", extra={"action": "store_trouble"})
                await asyncio.sleep(STORE_PAUSE)


def _find_chat(raw: object) -> object:
    """None for an update of no chat."""
    contents = [part for part in raw.values() if isinstance(part, Mapping)] if isinstance(raw, Mapping) else []
    holders = [part for content in contents for part in (content, content.get("message")) if isinstance(part, Mapping)]
    chats = (chat.get("id") for holder in holders if isinstance(chat := holder.get("chat"), Mapping))
    return next((chat for chat in chats if isinstance(chat, int)), None)
