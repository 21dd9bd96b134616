"""Takes updates from Telegram and stores each durably before it is confirmed (facts: telegram §2, 1–5); polls for them. Ring 3.

Updates are decoded one by one: a bad one is quarantined and stops nobody. Confirmed means stored. The webhook takes them the same way.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiogram import Bot
from aiogram.exceptions import ClientDecodeError, TelegramAPIError, TelegramConflictError, TelegramRetryAfter, TelegramUnauthorizedError
from aiogram.methods import TelegramMethod
from aiogram.types import Update
from pydantic import ValidationError

from state.journal.store import StoreError

log = logging.getLogger(__name__)

ALLOWED_UPDATES = ["message", "edited_message", "callback_query", "my_chat_member", "stopped_message_generation"]
"""Said with each poll and with the webhook: what is not named does not come, and what is not said stays as it was."""
LONG_POLL = 25
STORE_PAUSE = 1.0
LONGEST_WAIT = 3600
"""Telegram's number is obeyed up to here; a nonsensical one must not silence the bot for years."""
PAUSES = (1.0, 2.0, 5.0, 15.0)

Accept = Callable[[Update], Awaitable[None]]
"""Stores the update durably (or raises, and it will come again)."""
Quarantine = Callable[[int, str], Awaitable[None]]


class RawUpdates(TelegramMethod[list[dict[str, Any]]]):
    """getUpdates whose answer stays plain data, so that one bad update cannot hide the others."""

    __returning__ = list[dict[str, Any]]
    __api_method__ = "getUpdates"

    offset: int | None = None
    timeout: int | None = None
    allowed_updates: list[str] | None = None


class UpdateIntake:
    """One raw update into the inbox, however it came."""

    def __init__(self, bot: Bot, accept: Accept, quarantine: Quarantine) -> None:
        """`accept` must return only when the update is stored."""
        self._bot = bot
        self._accept = accept
        self._quarantine = quarantine

    async def take(self, raw: Mapping[str, Any]) -> int | None:
        """Store one update, or set it aside if it cannot be read; its number, None where it has none. Raises StoreError: it is not stored.

        An update that nothing can be made of is set aside too, so that it blocks nobody.
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
    """Polls until cancelled."""

    def __init__(self, bot: Bot, intake: UpdateIntake) -> None:
        """`intake` stores what comes."""
        self._bot = bot
        self._intake = intake
        self._offset: int | None = None

    async def run(self) -> None:
        """Poll for ever; raises TelegramUnauthorizedError and TelegramConflictError, which no waiting mends."""
        failures = 0
        while True:
            try:
                await self._poll_once()
                failures = 0
            except (TelegramUnauthorizedError, TelegramConflictError):
                raise
            except TelegramRetryAfter as error:
                await asyncio.sleep(min(max(error.retry_after, 1), LONGEST_WAIT))
            except (TelegramAPIError, ClientDecodeError) as error:
                failures += 1
                log.warning("telegram did not answer: %s", type(error).__name__, extra={"action": "poll_failed"})
                await asyncio.sleep(PAUSES[min(failures, len(PAUSES)) - 1])

    async def _poll_once(self) -> None:
        await self._bot.me()  # asked once and kept: whoever accepts must know which commands and mentions are for this bot
        method = RawUpdates(offset=self._offset, timeout=LONG_POLL, allowed_updates=ALLOWED_UPDATES)
        for raw in await self._bot(method, request_timeout=LONG_POLL + 15):
            number = await self._take_until_stored(raw)
            if number is not None:
                self._offset = number + 1  # the next poll confirms it

    async def _take_until_stored(self, raw: Mapping[str, Any]) -> int | None:
        """Stored, however long the store takes: until then nothing is confirmed."""
        while True:
            try:
                return await self._intake.take(raw)
            except StoreError:
                log.exception("an update waits for the store", extra={"action": "store_trouble"})
                await asyncio.sleep(STORE_PAUSE)
