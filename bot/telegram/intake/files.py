"""Downloads files that people sent. Their addresses contain the bot's token and never leave this module."""

import asyncio
from io import BytesIO

from aiogram import Bot
from aiogram.exceptions import AiogramError, TelegramBadRequest
from aiohttp import ClientError

from orchestrator.domain.errors import FileUnavailable
from orchestrator.turns.feature import FILE_SECONDS


class TelegramFiles:
    def __init__(self, bot: Bot) -> None:
        self._bot = bot

    async def read(self, file_id: str, limit: int, *, within: float = FILE_SECONDS) -> bytes:
        """Raises FileUnavailable, also after `within` seconds or above `limit` bytes."""
        try:
            async with asyncio.timeout(within):
                return await self._read(file_id, limit, within)
        except TimeoutError:
            raise FileUnavailable("it did not come in time") from None
        except TelegramBadRequest as error:  # Telegram gives bots no file above 20 MB
            raise FileUnavailable(type(error).__name__, is_too_large="too big" in error.message) from None
        except (AiogramError, ClientError, OSError) as error:  # messages of some of these errors contain the address
            raise FileUnavailable(type(error).__name__) from None

    async def _read(self, file_id: str, limit: int, within: float) -> bytes:
        file = await self._bot.get_file(file_id)
        if (file.file_size or 0) > limit:
            raise FileUnavailable("it is too large", is_too_large=True)
        if file.file_path is None:
            raise FileUnavailable("Telegram does not say where it is")
        buffer = _LimitedBuffer(limit)
        await self._bot.download_file(file.file_path, buffer, timeout=max(1, round(within)))
        return buffer.getvalue()


class _LimitedBuffer(BytesIO):
    """The size that Telegram reports may be wrong."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._left = limit

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self._left -= len(data)
        if self._left < 0:
            raise FileUnavailable("it is too large", is_too_large=True)
        return super().write(data)
