"""The sandbox portal fails on demand over a real connection, keeps what it committed, and sends events."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from pathlib import Path
from urllib.parse import parse_qsl

import httpx
import pytest

from tests.contract.sandbox_portal_kit import ROOT, Caller, as_process, in_process, listener
from tests.forker import forked

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


async def test_the_stream_tells_of_a_change_and_ends_with_the_portal() -> None:
    """The page's event stream carries the call and its change at once; SIGTERM does not hang on it."""
    async with as_process() as (portal, process):
        lines: list[str] = []
        with contextlib.suppress(httpx.TransportError):
            async with portal.http.stream("GET", "/sandbox/stream") as stream:
                async for line in stream.aiter_lines():
                    lines.append(line)
                    if line.startswith(": hello"):
                        await portal.result("crm.deal.update", CHANGE)
                    if line == "event: change":
                        process.terminate()
        assert [line for line in lines if line.startswith("event")] == ["event: call", "event: change"]
        await asyncio.wait_for(process.wait(), 60)


async def test_a_busy_port_is_one_sentence() -> None:
    """The portal says that the port is taken and ends with code 2."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = await asyncio.create_subprocess_exec(
            *forked("-m", "sandbox.portal", "--port", str(taken.getsockname()[1])),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), 60)
    assert (process.returncode, out) == (2, b"")
    assert err.decode().count("\n") == 1
    assert "занят" in err.decode()


async def test_a_fault_counts_calls_and_times(portal: Caller) -> None:
    """`after_calls` spares the first calls, `times` hits that many, other methods pass."""
    await portal.arm(kind="500_before", method="server.time", after_calls=1, times=2)
    codes = [(await portal.send(m)).status_code for m in ["server.time", "scope", *["server.time"] * 3]]
    assert codes == [200, 200, 500, 500, 200]
    assert (await portal.http.post("/sandbox/faults", json={"kind": "nonsense"})).status_code == 422


async def test_an_outgoing_webhook_hears_without_tokens_of_a_user() -> None:
    """The hook a person makes in the pages gets its own application token and no access."""
    async with in_process() as portal, listener() as (url, got):
        hook = await portal.http.post("/sandbox/outgoing", json={"handler": url, "events": ["ONTASKADD"]})
        await portal.result("tasks.task.add", {"fields": {"TITLE": "t", "RESPONSIBLE_ID": 7}})
        event = dict(parse_qsl((await asyncio.wait_for(got.get(), 30))[1]))
        assert (event["data[FIELDS_BEFORE]"], event["data[FIELDS_AFTER][ID]"]) == ("undefined", "8029")
        assert event["auth[application_token]"] == hook.json()["application_token"]
        assert "auth[access_token]" not in event
