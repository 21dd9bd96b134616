"""The sandbox portal fails on demand over a real connection, and keeps what it committed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from tests.contract.sandbox_portal_kit import Caller, as_process

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
