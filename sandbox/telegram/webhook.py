"""Carries updates to the bot's webhook: one at a time, in order, again and again until it answers 2xx."""

import asyncio
import contextlib

import httpx

from sandbox.telegram.clock import unix
from sandbox.telegram.methods.fetching import WEBHOOK
from sandbox.telegram.storage import updates
from sandbox.telegram.wire import JsonObject
from sandbox.telegram.world import World

_LONGEST_PAUSE = 60.0
_ANSWER_SECONDS = 60.0


async def deliver_forever(world: World) -> None:
    """Deliver whatever waits, whenever a webhook is set; ends only when cancelled."""
    failures = 0
    async with httpx.AsyncClient(timeout=_ANSWER_SECONDS, trust_env=False) as client:
        while True:
            world.news.clear()
            webhook = world.db.setting(WEBHOOK)
            waiting = updates.pending(world.db, world.clock(), 1) if webhook else []
            if not waiting:
                await world.news.wait()
                continue
            problem = await _deliver(client, webhook, waiting[0])
            if problem is None:
                failures = 0
                updates.confirm_below(world.db, waiting[0]["update_id"] + 1)
                continue
            failures += 1
            _note_failure(world, problem)
            pause = min(world.settings.webhook_retry_seconds * 2 ** (failures - 1), _LONGEST_PAUSE)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(_webhook_changed(world, webhook["url"]), pause)


async def _deliver(client: httpx.AsyncClient, webhook: JsonObject, update: JsonObject) -> str | None:
    """Post one update; give the sentence of the failure, or None."""
    headers = {"X-Telegram-Bot-Api-Secret-Token": webhook["secret"]} if webhook["secret"] else {}
    try:
        answer = await client.post(webhook["url"], json=update, headers=headers)
    except httpx.HTTPError as error:
        return f"Connection failed: {type(error).__name__}"
    return None if answer.is_success else f"Wrong response from the webhook: {answer.status_code} {answer.reason_phrase}"


async def _webhook_changed(world: World, url: str) -> None:
    """Return when the bot sets another address, which is tried at once."""
    while (world.db.setting(WEBHOOK) or {}).get("url") == url:
        await world.news.wait()
        world.news.clear()


def _note_failure(world: World, problem: str) -> None:
    webhook = world.db.setting(WEBHOOK)
    if webhook:
        failure = {"last_error_date": unix(world.clock()), "last_error_message": problem}
        world.db.remember(WEBHOOK, {**webhook, **failure})
