"""Receives updates by webhook: checks the secret, stores the update, then answers.

A request without the right secret is refused before its body is read. The status is 200 for an update that is stored or quarantined, 403
for a wrong secret, 408 for a body that arrives too slowly, 413 for one that is too long, and 503 if the update cannot be stored. Telegram
sends the update again after any status other than 200.
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
"""Maximum length of a body in bytes; an update has some kilobytes, and its text at most 4096 characters."""
READ_WITHIN = 10.0
STORE_WITHIN = 20.0
"""Seconds in which an update must be stored.

Telegram sends an update again that is not answered in about a minute; until then the first attempt must have ended.
"""
LOOK_EVERY = 300.0
"""Seconds after which the webhook is set again, in case another program has removed it."""

Take = Callable[[object], Awaitable[object]]
"""Stores one raw update; raises StoreError."""


def build_webhook_router(webhook: Webhook, take: Take) -> "APIRouter":
    """Return the HTTP router with the webhook's endpoint, which passes each raw update to `take` to be stored."""
    from fastapi import APIRouter  # noqa: PLC0415 - a bot that polls needs no FastAPI for its start

    router = APIRouter()
    wanted = webhook.secret.get_secret_value().encode()

    @router.post(webhook.path, include_in_schema=False)
    async def receive_update(request: Request) -> Response:
        if not hmac.compare_digest(request.headers.get(HEADER, "").encode(), wanted):
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
    """Return the request's body, None if it is longer than `MAX_BYTES`."""
    read = bytearray()
    async for chunk in request.stream():
        read += chunk
        if len(read) > MAX_BYTES:
            return None
    return bytes(read)


async def _store_body(body: bytes, take: Take) -> int:
    """Store the update in `body` and return the HTTP status of the answer: 200, or 503 if it cannot be stored.

    A body that is not JSON gets 200 too. Otherwise Telegram would send it again and again, and would not send the updates after it.
    """
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
    """Set the webhook at once and again every `LOOK_EVERY` seconds, until cancelled. Updates that wait at Telegram are kept.

    Raises TelegramUnauthorizedError and TelegramConflictError, since retries cannot resolve them.
    """
    while True:
        await _retry_until_accepted(lambda: _set_webhook(bot, webhook))
        await asyncio.sleep(LOOK_EVERY)


async def _retry_until_accepted(call: Callable[[], Awaitable[None]]) -> None:
    """Repeat `call` until Telegram accepts it.

    Raises TelegramUnauthorizedError and TelegramConflictError, since retries cannot resolve them.
    """
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
    """Set the webhook, even if it is set already: Telegram does not return its secret, so it cannot be compared with the right one."""
    await bot.me()
    info = await bot.get_webhook_info()
    if info.last_error_message and info.url == webhook.url:
        log.warning("telegram could not post: %s", info.last_error_message, extra={"action": "webhook_trouble"})
    await bot.set_webhook(
        webhook.url, secret_token=webhook.secret.get_secret_value(), allowed_updates=ALLOWED_UPDATES, drop_pending_updates=False
    )


async def drop_webhook(bot: Bot) -> None:
    """Delete the bot's webhook if one is set, because Telegram refuses polling while there is one. Updates that wait at Telegram are kept.

    Raises TelegramUnauthorizedError and TelegramConflictError, since retries cannot resolve them.
    """
    await _retry_until_accepted(lambda: _drop_webhook(bot))


async def _drop_webhook(bot: Bot) -> None:
    if (await bot.get_webhook_info()).url:
        log.warning("a webhook was set: it is taken away, for this process polls", extra={"action": "webhook_dropped"})
        await bot.delete_webhook(drop_pending_updates=False)
