"""Receives updates by webhook.

Status 403: wrong secret, 408: too slow, 413: too long, 503: not stored. Telegram sends an update again unless it gets 200.
"""

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import orjson
from aiogram import Bot
from aiogram.exceptions import ClientDecodeError, TelegramAPIError, TelegramConflictError, TelegramUnauthorizedError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from bot.settings.settings import Webhook, parse_webhook
from bot.telegram.intake.ingest import ALLOWED_UPDATES, PAUSES
from bot.telegram.outgoing.sender import parse_flood_wait
from state.journal.store import StoreError

if TYPE_CHECKING:
    from fastapi import APIRouter

__all__ = ["Webhook", "build_webhook_router", "drop_webhook", "keep_webhook", "parse_webhook"]

log = logging.getLogger(__name__)

HEADER = "X-Telegram-Bot-Api-Secret-Token"
MAX_BYTES = 1_000_000
"""Bytes; an update has some kilobytes."""
READ_WITHIN = 10.0
STORE_WITHIN = 20.0
"""Seconds; Telegram sends an update again after about a minute."""
LOOK_EVERY = 300.0
"""Seconds; another program may remove the webhook."""

Take = Callable[[object], Awaitable[object]]
"""Raises StoreError if the raw update is not stored."""


def build_webhook_router(webhook: Webhook, take: Take) -> "APIRouter":
    from fastapi import APIRouter  # noqa: PLC0415 - a bot that polls needs no FastAPI for its start

    router = APIRouter()
    secret = webhook.secret.get_secret_value().encode()

    @router.post(webhook.path, include_in_schema=False)
    async def receive_update(request: Request) -> Response:
        if not hmac.compare_digest(request.headers.get(HEADER, "").encode(), secret):
            return Response(status_code=403)
        try:
            async with asyncio.timeout(READ_WITHIN):
                body = await _read_body(request)
        except (TimeoutError, ClientDisconnect):
            return Response(status_code=408, headers={"connection": "close"})
        if body is None:
            return Response(status_code=413, headers={"connection": "close"})
        return Response(status_code=await _store_body(body, take))

    return router


async def _read_body(request: Request) -> bytes | None:
    read = bytearray()
    async for chunk in request.stream():
        read += chunk
        if len(read) > MAX_BYTES:
            return None
    return bytes(read)


async def _store_body(body: bytes, take: Take) -> int:
    """503 if not stored. What is not JSON gets 200: Telegram would repeat it for ever."""
    try:
        raw = orjson.loads(body)
    except orjson.JSONDecodeError:
        log.error("an update is no JSON", extra={"action": "update_quarantined"})  # noqa: TRY400 - its content is private
        return 200
    try:
        async with asyncio.timeout(STORE_WITHIN):
            await take(raw)
    except (StoreError, TimeoutError) as error:
        log.error("an update cannot be stored: %s", type(error).__name__, extra={"action": "store_trouble"})  # noqa: TRY400 - no stack needed
        return 503
    return 200


async def keep_webhook(bot: Bot, webhook: Webhook) -> None:
    """Until cancelled; waiting updates are kept.

    Raises TelegramUnauthorizedError and TelegramConflictError.
    """
    while True:
        await _retry_until_accepted(lambda: _set_webhook(bot, webhook))
        await asyncio.sleep(LOOK_EVERY)


async def _retry_until_accepted(call: Callable[[], Awaitable[None]]) -> None:
    """Raises TelegramUnauthorizedError and TelegramConflictError."""
    failures = 0
    while True:
        try:
            return await call()
        except (TelegramUnauthorizedError, TelegramConflictError):
            raise
        except (TelegramAPIError, ClientDecodeError) as error:
            failures += 1
            log.warning("the webhook cannot be set: %s", type(error).__name__, extra={"action": "webhook_failed"})
            await asyncio.sleep(max(PAUSES[min(failures, len(PAUSES)) - 1], parse_flood_wait(error) or 0))


async def _set_webhook(bot: Bot, webhook: Webhook) -> None:
    """Telegram does not return the secret to compare."""
    await bot.me()
    info = await bot.get_webhook_info()
    if info.last_error_message and info.url == webhook.url:
        log.warning("telegram could not post: %s", info.last_error_message, extra={"action": "webhook_trouble"})
    await bot.set_webhook(
        webhook.url, secret_token=webhook.secret.get_secret_value(), allowed_updates=ALLOWED_UPDATES, drop_pending_updates=False
    )


async def drop_webhook(bot: Bot) -> None:
    """Telegram refuses polling while one is set.

    Raises TelegramUnauthorizedError and TelegramConflictError.
    """
    await _retry_until_accepted(lambda: _drop_webhook(bot))


async def _drop_webhook(bot: Bot) -> None:
    if (await bot.get_webhook_info()).url:
        log.warning("a webhook was set: it is taken away, for this process polls", extra={"action": "webhook_dropped"})
        await bot.delete_webhook(drop_pending_updates=False)
