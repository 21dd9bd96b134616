"""Delivers updates to the bot's webhook, and repeats a delivery until the bot answers with a 2xx status.

The messages of one chat are delivered in order, and so are the clicks of one person.
"""

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
_LOOKED_AT = 1_000


async def deliver_forever(world: World) -> None:
    """Deliver waiting updates whenever a webhook is set, until cancelled."""
    async with httpx.AsyncClient(timeout=_ANSWER_SECONDS, trust_env=False) as client, asyncio.TaskGroup() as tasks:
        carrier = _Carrier(world, client, tasks)
        while True:
            world.news.clear()
            webhook = world.db.setting(WEBHOOK)
            if webhook:
                carrier.start(webhook)
            await world.news.wait()


class _Carrier:
    """Delivers updates to the webhook from several queues at the same time, one update per queue.

    The bot sets the maximum number of simultaneous connections.
    """

    def __init__(self, world: World, client: httpx.AsyncClient, tasks: asyncio.TaskGroup) -> None:
        self._world = world
        self._client = client
        self._tasks = tasks
        self._busy: set[str] = set()

    def start(self, webhook: JsonObject) -> None:
        """Start the delivery of the first waiting update of every queue that has no delivery running."""
        world = self._world
        again = list(world.again)
        for update in again + updates.pending(world.db, world.clock(), _LOOKED_AT):
            queue = _queue_of(update)
            if queue in self._busy or len(self._busy) >= webhook["max_connections"]:
                continue
            if update in again:
                world.again.remove(update)
            self._busy.add(queue)
            self._tasks.create_task(self._carry(queue, update))

    async def _carry(self, queue: str, update: JsonObject) -> None:
        """Deliver one update, with retries, until the webhook accepts it.

        If the bot sets another webhook in the meantime, this method returns; the update stays in the queue and is delivered to the new
        webhook.
        """
        failures = 0
        try:
            while webhook := self._world.db.setting(WEBHOOK):
                changed = self._world.webhook_changed
                problem = await self._deliver(webhook, update)
                if problem is None:
                    updates.remove(self._world.db, update["update_id"])
                    self._world.hand_out([update])
                    return
                failures += 1
                _note_failure(self._world, problem)
                pause = min(self._world.settings.webhook_retry_seconds * 2 ** (failures - 1), _LONGEST_PAUSE)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), pause)
                    return
        finally:
            self._busy.discard(queue)
            self._world.news.set()

    async def _deliver(self, webhook: JsonObject, update: JsonObject) -> str | None:
        """Post one update to the webhook. Return a description of the failure, or None if it was accepted."""
        headers = {"X-Telegram-Bot-Api-Secret-Token": webhook["secret"]} if webhook["secret"] else {}
        try:
            answer = await self._client.post(webhook["url"], json=update, headers=headers)
        except httpx.HTTPError as error:
            return f"Connection failed: {type(error).__name__}"
        return None if answer.is_success else f"Wrong response from the webhook: {answer.status_code} {answer.reason_phrase}"


def _queue_of(update: JsonObject) -> str:
    """Return the name of the queue of an update: messages of the same chat, or clicks of the same person, are delivered in order."""
    kind = next((name for name in update if name != "update_id"), "")
    body = update[kind] if isinstance(update.get(kind), dict) else {}
    place = body.get("from") if kind == "callback_query" else body.get("chat")
    return f"{kind == 'callback_query'}:{place.get('id') if isinstance(place, dict) else ''}"


def _note_failure(world: World, problem: str) -> None:
    webhook = world.db.setting(WEBHOOK)
    if webhook:
        failure = {"last_error_date": unix(world.clock()), "last_error_message": problem}
        world.db.remember(WEBHOOK, {**webhook, **failure})
