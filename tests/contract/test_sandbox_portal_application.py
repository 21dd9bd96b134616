"""The product's client as an application of the sandbox portal: real tokens, a real expiry, a real redirect."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from bitrix.auth.oauth import Application, TokenServer
from bitrix.client.client import BitrixClient
from bitrix.errors import NoAccess, Refused
from bitrix.limits.limiter import Limiter
from bot.access.portal_auth import OAuthStore
from sandbox.portal.oauth import CLIENT_ID, CLIENT_SECRET
from state.journal.async_store import AsyncStore
from state.sql import build_sqlite_url, open_store
from tests.contract.sandbox_portal_kit import Caller, in_process

HERE = "http://127.0.0.1:8100"


class Counted(httpx.AsyncBaseTransport):
    """The sandbox behind httpx, with the addresses that were asked."""

    def __init__(self, caller: Caller) -> None:
        self.inner = caller.http._transport
        self.asked: list[httpx.URL] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url)
        return await self.inner.handle_async_request(request)

    def count(self, path: str) -> int:
        return sum(url.path == path for url in self.asked)


def application(wire: Counted, first: str, store: AsyncStore, **given: Any) -> BitrixClient:
    server = TokenServer(CLIENT_ID, SecretStr(given.get("key", CLIENT_SECRET)), base=HERE, transport=wire)
    auth = Application(HERE, SecretStr(first), server=server, store=OAuthStore(store), now=lambda: datetime.now(UTC))
    return BitrixClient(auth, limiter=Limiter.create_unlimited(), transport=wire)


@pytest.mark.req("S004-73", "S004-74")
async def test_an_application_lives_through_expiry_and_redirect(tmp_path: Path) -> None:
    """Vectors 35, 37, 40: events are bound, writes under an expired token happen once, a renamed portal is found."""
    store = AsyncStore(open_store(build_sqlite_url(tmp_path / "sdelka.db")))
    async with in_process() as caller:
        wire = Counted(caller)
        first = (await caller.http.post("/sandbox/oauth", json={})).json()["refresh_token"]
        async with application(wire, first, store) as client:
            bound = await client.call("event.bind", {"event": "ONCRMDEALUPDATE", "handler": "http://127.0.0.1:9/h"})
            assert bound.result is True
            assert (await client.call("event.get", {})).result[0]["event"] == "ONCRMDEALUPDATE"
            assert wire.count("/oauth/token/") == 1

            await caller.http.post("/sandbox/oauth/expire", json={})
            adds = [client.call("crm.deal.add", {"fields": {"TITLE": f"D{number}"}}) for number in range(7)]
            ids = {answer.result for answer in await asyncio.gather(*adds)}
            assert (len(ids), wire.count("/oauth/token/")) == (7, 2)
            assert len([line for line in await caller.ledger("crm.deal.add") if line["status"] == 200]) == 7

            await caller.arm(method="profile", kind="302", location="http://127.0.0.1:8101/rest/")
            assert (await client.call("profile", {})).result["ADMIN"] is True
            assert str(wire.asked[-1]) == "http://127.0.0.1:8101/rest/profile"

        async with application(wire, first, store) as client:
            await client.call("profile", {})
        assert wire.count("/oauth/token/") == 2
    await store.aclose()


@pytest.mark.req("S004-73")
async def test_what_an_application_is_refused(tmp_path: Path) -> None:
    """A spent refresh token or a wrong key is one sentence to ops; over a webhook no event can be bound."""
    store = AsyncStore(open_store(build_sqlite_url(tmp_path / "sdelka.db")))
    async with in_process() as caller:
        wire = Counted(caller)
        first = (await caller.http.post("/sandbox/oauth", json={})).json()["refresh_token"]
        async with application(wire, first, store, key="wrong") as client:
            with pytest.raises(NoAccess, match="BITRIX_OAUTH_CLIENT_SECRET"):
                await client.call("profile", {})
        async with application(wire, "spent", store) as client:
            with pytest.raises(NoAccess, match="authorized anew"):
                await client.call("profile", {})
        async with BitrixClient(f"{HERE}/rest/1/sandbox/", limiter=Limiter.create_unlimited(), transport=wire) as client:
            with pytest.raises(Refused, match="WRONG_AUTH_TYPE"):
                await client.call("event.get", {})
            assert not client.is_application
    await store.aclose()
