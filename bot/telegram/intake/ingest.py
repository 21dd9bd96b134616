"""Polls Telegram for updates, and decodes updates that come by polling or by webhook.

Each update is stored durably before it is confirmed to Telegram. Updates are decoded one by one. An unreadable update is quarantined (its
number is stored with the error), so that it does not block the others.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping

from aiogram import Bot
from aiogram.exceptions import ClientDecodeError, TelegramAPIError, TelegramConflictError, TelegramRetryAfter, TelegramUnauthorizedError
from aiogram.methods import TelegramMethod
from aiogram.types import Update
from pydantic import ValidationError

from state.journal.store import StoreError

log = logging.getLogger(__name__)

ALLOWED_UPDATES = ["message", "edited_message", "callback_query", "my_chat_member", "stopped_message_generation"]
"""The kinds of updates that Telegram shall send. Passed at each poll, since without the list Telegram keeps its previous setting."""
LONG_POLL = 25
STORE_PAUSE = 1.0
LONGEST_WAIT = 3600
"""Maximum number of seconds that the bot waits if Telegram asks for a pause; a nonsensical value would silence it for years."""
PAUSES = (1.0, 2.0, 5.0, 15.0)
CONFLICT_WINDOW = 60.0
"""Seconds within which a second conflict shows that another program keeps polling.

A single one also comes of a process of ours that was suspended in the moment of a poll, and lost its lease meanwhile.
"""

Accept = Callable[[Update], Awaitable[None]]
"""Stores the update durably; if it raises StoreError the update is not confirmed, and Telegram sends it again."""
Quarantine = Callable[[int, str], Awaitable[None]]


class RawUpdates(TelegramMethod[list[dict[str, object]]]):
    """The Bot API method getUpdates, whose answer stays plain data, so that one malformed update does not make the others unreadable."""

    __returning__ = list[dict[str, object]]
    __api_method__ = "getUpdates"

    offset: int | None = None
    timeout: int | None = None
    allowed_updates: list[str] | None = None


class UpdateIntake:
    """Decodes raw updates and passes each to a function that stores it; used for polling and for the webhook."""

    def __init__(self, bot: Bot, accept: Accept, quarantine: Quarantine) -> None:
        """Create the intake for updates of `bot`.

        `accept` stores a decoded update and must not return before it is stored. `quarantine` stores the update_id of an unreadable update,
        with the error.
        """
        self._bot = bot
        self._accept = accept
        self._quarantine = quarantine

    async def take(self, raw: object) -> int | None:
        """Store one raw update and return its update_id, or None if it has none. Raises StoreError if it cannot be stored.

        An update that cannot be read or processed is quarantined, so that it does not block the following ones.
        """
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
    """Polls Telegram for the updates of one bot until cancelled."""

    def __init__(self, bot: Bot, intake: UpdateIntake, *, may_poll: Callable[[], bool]) -> None:
        """Create a poller that passes each update of `bot` to `intake` to be stored.

        It polls only while `may_poll` returns True: a poll ends that of another process with an error.
        """
        self._bot = bot
        self._intake = intake
        self._may_poll = may_poll
        self._offset: int | None = None
        self._conflict_at = -CONFLICT_WINDOW

    async def run(self) -> None:
        """Poll until cancelled.

        Raises TelegramUnauthorizedError, and TelegramConflictError if another program keeps polling, since retries cannot resolve them.
        """
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
        for raw in await self._bot(method, request_timeout=LONG_POLL + 15):
            number = await self._take_until_stored(raw)
            if number is not None:
                self._offset = number + 1  # the next poll confirms the update

    async def _take_until_stored(self, raw: object) -> int | None:
        """Store a raw update, with as many attempts as it needs, and return its update_id, or None if it has none.

        While it cannot be stored, no further update is taken, and it is not confirmed to Telegram.
        """
        while True:
            try:
                return await self._intake.take(raw)
            except StoreError:
                log.exception("an update waits for the store", extra={"action": "store_trouble"})
                await asyncio.sleep(STORE_PAUSE)
