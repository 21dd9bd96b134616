"""Files of people out of Telegram, bounded in size and time. Ring 3; their addresses hold the bot's token and are never told."""

import asyncio
from io import BytesIO
from typing import Final

from aiogram import Bot
from aiogram.exceptions import AiogramError
from aiohttp import ClientError

from orchestrator.features.talking.voice import FileUnavailable

DOWNLOAD_TIMEOUT: Final = 30
"""Seconds for one file."""


class TelegramFiles:
    """Reads files that were sent to one bot."""

    def __init__(self, bot: Bot) -> None:
        """Nothing is read yet."""
        self._bot = bot

    async def read(self, file_id: str, limit: int) -> bytes:
        """The file; raises FileUnavailable where Telegram does not give it, in time or at all, and for one above `limit` bytes."""
        try:
            async with asyncio.timeout(DOWNLOAD_TIMEOUT):
                return await self._read(file_id, limit)
        except TimeoutError:
            raise FileUnavailable("it did not come in time") from None
        except (AiogramError, ClientError, OSError) as error:  # the words of some name the address
            raise FileUnavailable(type(error).__name__) from None

    async def _read(self, file_id: str, limit: int) -> bytes:
        file = await self._bot.get_file(file_id)
        if file.file_path is None or (file.file_size or 0) > limit:
            raise FileUnavailable("it is too large")
        held = _LimitedBuffer(limit)
        await self._bot.download_file(file.file_path, held, timeout=DOWNLOAD_TIMEOUT)
        return held.getvalue()


class _LimitedBuffer(BytesIO):
    """Takes no more than it was told; what Telegram said of the size need not be so."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._left = limit

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Keep it; FileUnavailable above the limit."""
        self._left -= len(data)
        if self._left < 0:
            raise FileUnavailable("it is too large")
        return super().write(data)
