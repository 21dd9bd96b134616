"""What the tests of the Telegram sandbox share: a real server on loopback, aiogram against it, and a clock to push."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.types import InlineKeyboardButton, InlineKeyboardMarkup

from sandbox.telegram.clock import Clock, system_clock
from sandbox.telegram.server import running
from sandbox.telegram.settings import TelegramSandboxSettings

BORIS = 1007
VERA = 1008


@dataclass(frozen=True)
class Kit:
    """One sandbox: the bot's side, the control side, the bare Bot API."""

    bot: Bot
    http: httpx.AsyncClient

    async def control(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Post to the control side, or get when there is no body; a refusal fails the test."""
        answer = await (self.http.get(path) if body is None else self.http.post(path, json=body))
        assert answer.is_success, answer.text
        return answer.json()

    async def say(self, text: str, person: int = BORIS, **more: Any) -> Any:
        """Let a person write."""
        return await self.control(f"/sandbox/users/{person}/send", {"text": text, **more})

    async def seen(self, chat: int = BORIS, after: int = 0) -> list[Any]:
        """Give what a chat shows."""
        return list((await self.control(f"/sandbox/chats/{chat}/messages?after={after}"))["messages"])

    async def call(self, method: str, **params: Any) -> Any:
        """Call the Bot API as plain JSON and give the envelope."""
        return (await self.http.post(f"/bot1:sandbox/{method}", json=params)).json()

    async def later(self, seconds: float) -> None:
        """Push the sandbox's clock."""
        await self.control("/sandbox/clock", {"seconds": seconds})


@asynccontextmanager
async def opened(folder: Path, clock: Clock = system_clock, **settings: Any) -> AsyncIterator[Kit]:
    """Start a sandbox over a folder and connect to it; everything is closed at the end."""
    with running(TelegramSandboxSettings(data_dir=folder, **settings), clock) as url:
        bot = Bot("1:sandbox", session=AiohttpSession(api=TelegramAPIServer.from_base(url)))
        try:
            async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=10) as http:
                yield Kit(bot, http)
        finally:
            await bot.session.close()


def keyboard(*rows: list[tuple[str, str]]) -> InlineKeyboardMarkup:
    """Build inline buttons from (text, data) pairs."""
    return InlineKeyboardMarkup(
        inline_keyboard=[[InlineKeyboardButton(text=text, callback_data=data) for text, data in row] for row in rows]
    )


async def until(look: Callable[[], Awaitable[Any]], seconds: float = 45.0) -> Any:
    """Ask again until there is an answer; fail when it does not come in time."""
    deadline = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < deadline:
        if found := await look():
            return found
        await asyncio.sleep(0.02)
    raise AssertionError("what the test waited for did not come")
