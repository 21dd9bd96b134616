"""The sandbox portal fails and slows down on demand, keeps what it committed, and serves the product's client as an application."""

from __future__ import annotations

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
from tests.contract.sandbox_portal_kit import Caller, as_process, in_process

CHANGE = {"id": 410, "fields": {"OPPORTUNITY": 777}}


async def _sum(portal: Caller) -> str:
    deals = (await portal.http.get("/sandbox/records/deal/410")).json()
    return str(deals["OPPORTUNITY"])


async def _late(portal: Caller) -> None:
    """A client that gave up does not call its write back: it is seen waiting, then it is applied."""
    await portal.http.delete("/sandbox/ledger")
    await portal.arm(kind="delay", seconds=3)
    with pytest.raises(httpx.ReadTimeout):
        await portal.http.post(
            "/rest/1/sandbox/crm.deal.update", json={"id": 411, "fields": {"TITLE": "late"}}, timeout=httpx.Timeout(30, read=0.1)
        )
    (row,) = await portal.ledger()
    assert (row["outcome"], row["applied"]) == ("open", False)
    async with asyncio.timeout(30):
        while (await portal.ledger())[0]["outcome"] == "open":  # noqa: ASYNC110  (another process: only asking helps)
            await asyncio.sleep(0.02)
    assert (await portal.ledger())[0]["applied"] is True
    lines = (await portal.http.get("/sandbox/changes")).json()["changes"]
    assert [line["kind"] for line in lines] == ["call", "change", "closed"]


FAULTS: list[tuple[str, int, str, bool]] = [
    ("html_200", 200, "<html>", False),
    ("query_limit", 503, "QUERY_LIMIT_EXCEEDED", False),
    ("delay_answer", 200, "true", True),
]


async def test_further_faults_and_a_restart_after_kill(tmp_path: Path) -> None:
    """Faults beyond the vectors answer as named; a killed portal keeps its records, its numbers, its bindings and its tokens."""
    async with as_process(tmp_path) as (portal, process):
        await _late(portal)
        for kind, status, text, applied in FAULTS:
            await portal.http.patch("/sandbox/records/deal/410", json={"OPPORTUNITY": 1})
            await portal.http.delete("/sandbox/ledger")
            await portal.arm(kind=kind, seconds=0.05)
            answer = await portal.send("crm.deal.update", CHANGE)
            assert (kind, answer.status_code) == (kind, status)
            assert text in answer.text, kind
            assert (kind, await _sum(portal)) == (kind, "777.00" if applied else "1.00")
            (row,) = await portal.ledger()
            assert (row["applied"], row["fault"], row["status"] is not None) == (applied, kind, True)
        added = await portal.result("crm.deal.add", {"fields": {"TITLE": "Выжила"}})
        pair = (await portal.http.post("/sandbox/oauth")).json()
        bind = {"event": "ONCRMDEALADD", "handler": "http://127.0.0.1:9/", "auth": pair["access_token"]}
        assert (await portal.http.post("/rest/event.bind", json=bind)).json()["result"] is True
        process.kill()
        await process.communicate()
    async with as_process(tmp_path) as (again, _):
        assert (await again.result("crm.deal.get", {"id": added}))["TITLE"] == "Выжила"
        assert [row["method"] for row in await again.ledger("crm.deal.add")] == ["crm.deal.add"]
        assert await again.result("crm.deal.add", {"fields": {}}) == added + 1
        listed = (await again.http.post("/rest/event.get", json={"auth": pair["access_token"]})).json()["result"]
        assert [row["handler"] for row in listed] == ["http://127.0.0.1:9/"]
        assert (await again.http.post("/sandbox/oauth")).json()["application_token"] == pair["application_token"]


async def _set(portal: Caller, address: str, **body: Any) -> dict[str, Any]:
    answer = await portal.http.post(f"/sandbox/{address}", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def test_a_bucket_may_begin_hot_and_be_switched(portal: Caller) -> None:
    """At the full level the first call is refused and half a second lets one pass; the level of the portal is told; off lets all pass."""
    assert portal.clock is not None
    shown = await _set(portal, "limits", bucket="2/50", level=50)
    assert (shown["bucket"], shown["level"]) == ("2/50", 50)
    assert [(await portal.send("server.time")).status_code for _ in range(2)] == [503, 503]
    portal.clock.move(seconds=0.5)
    assert [(await portal.send("server.time")).status_code for _ in range(2)] == [200, 503]
    await _set(portal, "limits", bucket="5/250", level=248)
    assert [(await portal.send("server.time")).status_code for _ in range(3)] == [200, 200, 503]
    portal.clock.move(seconds=10)
    assert (await portal.http.get("/sandbox/limits")).json()["level"] == 200
    await _set(portal, "limits", bucket="off")
    assert (await portal.send("server.time")).status_code == 200
    await portal.http.post("/sandbox/limits", json={"bucket": "2/50", "level": 50})
    await portal.http.post("/sandbox/reset")
    assert (await portal.send("server.time")).status_code == 200
    assert (await portal.http.post("/sandbox/limits", json={"bucket": "fast"})).status_code == 422


async def test_the_time_budget_counts_inside_a_batch_for_each_method_and_webhook(portal: Caller) -> None:
    """Commands of a batch spend the budget of their own method, `result_time` shows it, another webhook has its own."""
    await _set(portal, "limits", operating=10, window=60, cost={"crm.deal.update": 4})
    update = "crm.deal.update?id=410&fields[OPPORTUNITY]="
    report = await portal.result("batch", {"cmd": {f"u{n}": f"{update}{n}" for n in range(4)} | {"g": "crm.deal.get?id=410"}})
    spent = {key: times["operating"] for key, times in report["result_time"].items()}
    assert [round(spent[f"u{n}"]) for n in range(3)] == [4, 8, 12]
    assert spent["g"] == 0
    assert report["result_error"] == {
        "u3": {"error": "OPERATION_TIME_LIMIT", "error_description": "Method is blocked due to operation time limit."}
    }
    assert (await portal.send("crm.deal.update", CHANGE)).status_code == 429
    assert (await portal.send("crm.deal.update", CHANGE, "/rest/7/sandbox/")).status_code == 200
    assert (await portal.send("batch", {"cmd": ["server.time"]})).status_code == 200
    stats = (await portal.http.get("/sandbox/stats")).json()
    assert stats["refused_429"] == 2
    assert stats["committed"] == {"crm.deal.update": 4}
    assert portal.clock is not None
    portal.clock.move(seconds=60)
    assert (await portal.send("crm.deal.update", CHANGE)).status_code == 200


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
