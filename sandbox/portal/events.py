"""Sandbox portal, events: posts portal events to bound handlers and outgoing webhooks. Each delivery is tried once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

import httpx

from sandbox.portal.ledger import Ledger
from sandbox.portal.oauth import Tokens
from sandbox.portal.php import to_pairs
from sandbox.portal.schema import Row
from sandbox.portal.store import Store

_SEND_TIMEOUT = 5.0


@dataclass(frozen=True)
class Raised:
    """One portal event that a call has raised. It is sent after the call is committed."""

    name: str
    data: Row
    user_id: int
    at: datetime


class EventSender:
    """Sends events over HTTP in background tasks, so that no answer waits for them. The portal cancels the tasks when it stops."""

    def __init__(self, store: Store, ledger: Ledger, tokens: Tokens) -> None:
        self._store = store
        self._ledger = ledger
        self._tokens = tokens
        self._running: set[asyncio.Task[None]] = set()
        self._client: httpx.AsyncClient | None = None

    def send(self, raised: Raised, base_url: str) -> None:
        """Start a background task for each handler and outgoing webhook that wants this event.

        `base_url` is the address of the portal, which the sent events contain.
        """
        for handler_id, url, auth in self._targets(raised, base_url):
            body = {
                "event": raised.name,
                "event_handler_id": handler_id,
                "data": raised.data,
                "ts": int(raised.at.timestamp()),
                "auth": auth,
            }
            task = asyncio.get_running_loop().create_task(self._post(raised, url, body))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def aclose(self) -> None:
        """Cancel the deliveries that are still running and close the HTTP client."""
        for task in list(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()

    def _targets(self, raised: Raised, base_url: str) -> list[tuple[int, str, Row]]:
        common = {
            "domain": base_url.split("://", 1)[-1].strip("/"),
            "client_endpoint": f"{base_url.rstrip('/')}/rest/",
            "server_endpoint": f"{base_url.rstrip('/')}/rest/",
            "member_id": self._tokens.member_id,
        }
        found = []
        for row in self._store.walk("binding"):
            if row["EVENT"] == raised.name:
                given = self._tokens.event_access(raised.user_id, raised.at)
                token = {name: given[name] for name in ("access_token", "expires_in", "status", "application_token")}
                found.append((row["ID"], row["HANDLER"], {**token, "scope": "crm,task,user,im", **common}))
        outgoing = [
            (row["ID"], row["HANDLER"], {**common, "application_token": row["TOKEN"]})
            for row in self._store.walk("outgoing")
            if raised.name in row["EVENTS"]
        ]
        return found + outgoing

    async def _post(self, raised: Raised, url: str, body: Row) -> None:
        if self._client is None:
            self._client = httpx.AsyncClient(timeout=_SEND_TIMEOUT, trust_env=False)
        try:
            answer = await self._client.post(
                url,
                content=urlencode(list(to_pairs(body, ""))),
                headers={"Content-Type": "application/x-www-form-urlencoded", "User-Agent": "Bitrix24 Webhook Engine"},
            )
            status: int | str = answer.status_code
        except httpx.HTTPError as error:
            status = type(error).__name__
        self._ledger.note_event(raised.name, url, raised.at, status)
