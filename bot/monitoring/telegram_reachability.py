"""Records from every call whether Telegram answers. It changes no call."""

from typing import Final

from aiogram import Bot
from aiogram.client.session.middlewares.base import BaseRequestMiddleware, NextRequestMiddlewareType
from aiogram.exceptions import AiogramError, ClientDecodeError, TelegramNetworkError, TelegramServerError, TelegramUnauthorizedError
from aiogram.methods import Response, TelegramMethod
from aiogram.methods.base import TelegramType

from bot.monitoring.reachability import Reachability

_NO_ANSWER: Final = (TelegramNetworkError, TelegramServerError, TelegramUnauthorizedError, ClientDecodeError)


class ReachabilityMiddleware(BaseRequestMiddleware):
    def __init__(self, ear: Reachability) -> None:
        self._reachability = ear

    async def __call__(
        self, make_request: NextRequestMiddlewareType[TelegramType], bot: Bot, method: TelegramMethod[TelegramType]
    ) -> Response[TelegramType]:
        """A refused call counts as answered, a rejected bot token does not."""
        try:
            answer = await make_request(bot, method)
        except AiogramError as error:
            broken = isinstance(error, _NO_ANSWER)
            why = "token not accepted" if isinstance(error, TelegramUnauthorizedError) else "no answer"
            self._reachability.record(answers=not broken, why=why if broken else "")
            raise
        self._reachability.record(answers=True)
        return answer
