"""A portal with its authorization server on the wire, and processes that share one database, for the tests of OAuth."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from pydantic import SecretStr

from bitrix.auth.oauth import Application, TokenServer
from bitrix.client.client import BitrixClient
from bitrix.limits.limiter import Limiter
from bot.access.portal_auth import OAuthStore
from state.journal.async_store import AsyncStore
from state.sql import SqlStore, build_sqlite_url, open_store
from state.sql.database import Statement

PORTAL = "company.bitrix24.ru"
ID, KEY, FIRST = "local.app", "clientsecretvalue", "refreshtokenzero"
EXPIRED = (401, {"error": "expired_token", "error_description": "The access token provided has expired."})


class World:
    """Both servers behind one transport. `executed` counts what the portal did; tokens are its own truth."""

    def __init__(self, seed: int = 0) -> None:
        self.refreshable = {FIRST}
        self.valid: set[str] = set()
        self.executed: Counter[str] = Counter()
        self.rest: list[httpx.Request] = []
        self.asked: list[dict[str, str]] = []
        self.server_does: list[Any] = []  # what the authorization server does before anything else, one entry a request
        self.portal_says: list[tuple[int, Any]] = []
        self.before_rest: Callable[[str], None] = lambda access: None
        self.holds: list[asyncio.Event] = []  # the authorization server answers its next requests when these are set
        self.random = random.Random(seed)  # noqa: S311 - only the order of events hangs on it
        self.number = 0

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        for _ in range(self.random.randrange(4)):
            await asyncio.sleep(0)
        return await self._token(request) if request.url.path == "/oauth/token/" else self._call(request)

    def expire(self) -> None:
        self.valid.clear()

    async def _token(self, request: httpx.Request) -> httpx.Response:
        asked = dict(request.url.params)
        self.asked.append(asked)
        step = self.server_does.pop(0) if self.server_does else None
        if self.holds:
            await self.holds.pop(0).wait()
        if isinstance(step, tuple):
            return httpx.Response(step[0], json=step[1]) if not isinstance(step[1], str) else httpx.Response(step[0], text=step[1])
        if isinstance(step, Exception):
            raise step
        if (asked["grant_type"], asked["client_id"], asked["client_secret"]) != ("refresh_token", ID, KEY):
            return httpx.Response(400, json={"error": "invalid_client"})
        if asked["refresh_token"] not in self.refreshable:
            return httpx.Response(400, json={"error": "invalid_grant"})
        if step != "spend nothing":
            self.refreshable.discard(asked["refresh_token"])
        if step == "spend and drop":
            raise httpx.ReadError("reset")
        self.number += 1
        access, refresh = f"accesstoken{self.number}", f"refreshtoken{self.number}"
        self.valid.add(access)
        self.refreshable.add(refresh)
        return httpx.Response(200, json={"access_token": access, "refresh_token": refresh, "expires_in": 3600, "member_id": "m"})

    def _call(self, request: httpx.Request) -> httpx.Response:
        self.rest.append(request)
        body = json.loads(request.content)
        self.before_rest(body["auth"])
        if self.portal_says:
            status, answer = self.portal_says.pop(0)
            return httpx.Response(status, json=answer)
        if body["auth"] not in self.valid:
            return httpx.Response(EXPIRED[0], json=EXPIRED[1])
        self.executed[str(body.get("id"))] += 1
        return httpx.Response(200, json={"result": body.get("id"), "time": {}})


async def until(seen: Callable[[], bool]) -> None:
    """Wait for something on the wire, half a minute at most."""
    for _ in range(30_000):
        if seen():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never came")


@dataclass
class Hour:
    """Wall time; a sleep moves it, so waiting for somebody's claim ends."""

    now: datetime
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> datetime:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += timedelta(seconds=seconds)
        await asyncio.sleep(0.001)


class Processes:
    """Starts processes of the product on one database: each has its own store, client and memory."""

    def __init__(self, folder: Path, world: World, hour: Hour) -> None:
        self.url = build_sqlite_url(folder / "sdelka.db")
        self.world, self.hour = world, hour
        self.peek = open_store(self.url)
        self.opened: list[Callable[[], Awaitable[None]]] = []

    def start(self, *, first: str = FIRST, store: SqlStore | None = None, limiter: Limiter | None = None) -> BitrixClient:
        shared = AsyncStore(store or open_store(self.url))
        transport = httpx.MockTransport(self.world)
        server = TokenServer(ID, SecretStr(KEY), transport=transport)
        auth = Application(PORTAL, SecretStr(first), server=server, store=OAuthStore(shared), now=self.hour, sleep=self.hour.sleep)
        client = BitrixClient(auth, limiter=limiter or Limiter.create_unlimited(sleep=self.hour.sleep), transport=transport)
        self.opened += [shared.aclose, client.aclose]
        return client

    def stored(self) -> str:
        """Everything that is stored under any name, as one text."""
        with self.peek._database.read() as transaction:
            rows = transaction.fetch_rows(Statement(sql='SELECT value FROM "values"', fixed={}), {})
        return "\n".join(value for (value,) in rows)

    async def aclose(self) -> None:
        for close in reversed(self.opened):
            await close()
        self.peek.close()
