"""Downloads files that people sent in Telegram, with limits of size and time.

The addresses of files contain the bot's token, so they never leave this module.
"""

import asyncio
from io import BytesIO
from typing import Final

from aiogram import Bot
from aiogram.exceptions import AiogramError
from aiohttp import ClientError

from orchestrator.features.talking.voice import FileUnavailable

DOWNLOAD_TIMEOUT: Final = 30
"""Seconds that the download of one file may take."""


class TelegramFiles:
    """Downloads files that were sent to one bot."""

    def __init__(self, bot: Bot) -> None:
        """Download with the token of `bot`."""
        self._bot = bot

    async def read(self, file_id: str, limit: int) -> bytes:
        """Return the content of the file.

        Raises FileUnavailable if Telegram does not deliver it, if the download takes too long, or if the file exceeds `limit` bytes.
        """
        try:
            async with asyncio.timeout(DOWNLOAD_TIMEOUT):
                return await self._read(file_id, limit)
        except TimeoutError:
            raise FileUnavailable("it did not come in time") from None
        except (AiogramError, ClientError, OSError) as error:  # messages of some of these errors contain the address
            raise FileUnavailable(type(error).__name__) from None

    async def _read(self, file_id: str, limit: int) -> bytes:
        file = await self._bot.get_file(file_id)
        if file.file_path is None or (file.file_size or 0) > limit:
            raise FileUnavailable("it is too large")
        held = _LimitedBuffer(limit)
        await self._bot.download_file(file.file_path, held, timeout=DOWNLOAD_TIMEOUT)
        return held.getvalue()


class _LimitedBuffer(BytesIO):
    """A buffer that refuses more than `limit` bytes, because the size that Telegram reports may be wrong."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._left = limit

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Append `data` and return its length; raises FileUnavailable above the limit."""
        self._left -= len(data)
        if self._left < 0:
            raise FileUnavailable("it is too large")
        return super().write(data)
