"""The sandbox portal fails on demand over a real connection, keeps what it committed, and sends events."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import httpx
import pytest
from sandbox_portal_kit import ROOT, Caller, as_process, in_process

CHANGE = {"id": 410, "fields": {"OPPORTUNITY": 777}}


async def _sum(portal: Caller) -> str:
    deals = (await portal.http.get("/sandbox/records/deal/410")).json()
    return str(deals["OPPORTUNITY"])


async def _drop(portal: Caller) -> None:
    await portal.arm(kind="commit_then_drop", method="CRM.deal.update")
    with pytest.raises(httpx.TransportError):
        await portal.send("crm.deal.update", CHANGE)
    (row,) = await portal.ledger("crm.deal.update")
    assert (row["applied"], row["status"], row["outcome"], row["fault"]) == (True, None, "dropped", "commit_then_drop")


async def _late(portal: Caller) -> None:
    """A client that gave up does not call its write back: it is seen waiting, then it is applied."""
    await portal.http.delete("/sandbox/ledger")
    await portal.arm(kind="delay", seconds=0.4)
    with pytest.raises(httpx.ReadTimeout):
        await portal.http.post("/rest/1/sandbox/crm.deal.update", json={"id": 411, "fields": {"TITLE": "late"}}, timeout=0.1)
    (row,) = await portal.ledger()
    assert (row["outcome"], row["applied"]) == ("open", False)
    async with asyncio.timeout(5):
        while (await portal.ledger())[0]["outcome"] == "open":  # noqa: ASYNC110  (another process: only asking helps)
            await asyncio.sleep(0.02)
    assert (await portal.ledger())[0]["applied"] is True
    lines = (await portal.http.get("/sandbox/changes")).json()["changes"]
    assert [line["kind"] for line in lines] == ["call", "change", "closed"]


FAULTS: list[tuple[str, int, str, bool]] = [
    ("500_before", 500, "INTERNAL_SERVER_ERROR", False),
    ("500_after", 500, "INTERNAL_SERVER_ERROR", True),
    ("504_html", 504, "<html>", True),
    ("html_200", 200, "<html>", False),
    ("302", 302, "", False),
    ("403_scope", 403, "insufficient_scope", False),
    ("query_limit", 503, "QUERY_LIMIT_EXCEEDED", False),
    ("delay", 200, "true", True),
    ("delay_answer", 200, "true", True),
    ("no_operating", 200, "true", True),
]


async def test_every_fault_over_a_real_connection_and_a_restart_after_kill(tmp_path: Path) -> None:
    """Each fault answers as named and says in the ledger whether it was applied; a killed portal keeps what it did (vector 40)."""
    async with as_process(tmp_path) as (portal, process):
        await _drop(portal)
        await _late(portal)
        assert await _sum(portal) == "777.00"
        for kind, status, text, applied in FAULTS:
            await portal.http.patch("/sandbox/records/deal/410", json={"OPPORTUNITY": 1})
            await portal.http.delete("/sandbox/ledger")
            await portal.arm(kind=kind, seconds=0.05)
            answer = await portal.send("crm.deal.update", CHANGE)
            assert (kind, answer.status_code) == (kind, status)
            assert text in answer.text, kind
            assert ("operating" in answer.text) is (status == 200 and kind not in {"no_operating", "html_200"})
            assert (kind, await _sum(portal)) == (kind, "777.00" if applied else "1.00")
            (row,) = await portal.ledger()
            assert (row["applied"], row["fault"], row["status"] is not None) == (applied, kind, True)
        added = await portal.result("crm.deal.add", {"fields": {"TITLE": "Выжила"}})
        process.kill()
        await process.wait()
    async with as_process(tmp_path) as (again, _):
        assert (await again.result("crm.deal.get", {"id": added}))["TITLE"] == "Выжила"
        assert [row["method"] for row in await again.ledger("crm.deal.add")] == ["crm.deal.add"]
        assert await again.result("crm.deal.add", {"fields": {}}) == added + 1


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
        await asyncio.wait_for(process.wait(), 10)


async def test_a_busy_port_is_one_sentence() -> None:
    """The portal says that the port is taken and ends with code 2."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = await asyncio.create_subprocess_exec(
            *[sys.executable, "-m", "sandbox.portal", "--port", str(taken.getsockname()[1])],
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), 20)
    assert (process.returncode, out) == (2, b"")
    assert err.decode().count("\n") == 1
    assert "занят" in err.decode()


async def test_a_fault_counts_calls_and_times() -> None:
    """`after_calls` spares the first calls, `times` hits that many, other methods pass."""
    async with in_process() as portal:
        await portal.arm(kind="500_before", method="server.time", after_calls=1, times=2)
        codes = [(await portal.send(m)).status_code for m in ["server.time", "scope", *["server.time"] * 3]]
        assert codes == [200, 200, 500, 500, 200]
        assert (await portal.http.post("/sandbox/faults", json={"kind": "nonsense"})).status_code == 422


@contextlib.asynccontextmanager
async def _handler() -> AsyncIterator[tuple[str, asyncio.Queue[dict[str, str]]]]:
    """A handler of events on loopback; what it got lies in the queue."""
    got: asyncio.Queue[dict[str, str]] = asyncio.Queue()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = next(int(h.split(b":")[1]) for h in head.split(b"\r\n") if h.lower().startswith(b"content-length"))
        body = await reader.readexactly(size)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()
        got.put_nowait(dict(parse_qsl(body.decode())))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/events", got


async def test_an_application_binds_and_hears_of_an_update() -> None:
    """Binding works over OAuth once, is listed, unbinds; the POST has the documented keys (vectors 35, 36)."""
    async with in_process() as portal, _handler() as (url, got):
        pair = (await portal.http.post("/sandbox/oauth", json={})).json()

        async def ask(method: str, **params: Any) -> httpx.Response:
            return await portal.send(method, {**params, "auth": pair["access_token"]}, "/rest/")

        bound = {"event": "onCrmDealUpdate", "handler": url}
        assert (await ask("event.bind", **bound)).json()["result"] is True
        assert (await ask("event.bind", **bound)).status_code == 400
        unknown = await ask("event.bind", event="X", handler=url)
        assert (unknown.status_code, unknown.json()["error"]) == (400, "ERROR_EVENT_NOT_FOUND")
        listed = (await ask("event.get")).json()["result"]
        assert listed == [{"event": "ONCRMDEALUPDATE", "handler": url, "auth_type": "0", "offline": 0}]
        await portal.result("crm.deal.update", CHANGE)
        event = await asyncio.wait_for(got.get(), 5)
        assert (event["event"], event["event_handler_id"], event["data[FIELDS][ID]"]) == ("ONCRMDEALUPDATE", "1", "410")
        assert event["auth[application_token]"] == pair["application_token"]
        assert event["auth[member_id]"] == pair["member_id"]
        assert event["auth[domain]"] == "portal.test"
        assert event["ts"].isdecimal()
        assert (await ask("event.unbind", **bound)).json()["result"] == {"count": 1}
        assert pair["access_token"] not in str(await portal.ledger())


async def test_an_outgoing_webhook_hears_without_tokens_of_a_user() -> None:
    """The hook a person makes in the pages gets its own application token and no access."""
    async with in_process() as portal, _handler() as (url, got):
        hook = await portal.http.post("/sandbox/outgoing", json={"handler": url, "events": ["ONTASKADD"]})
        await portal.result("tasks.task.add", {"fields": {"TITLE": "t", "RESPONSIBLE_ID": 7}})
        event = await asyncio.wait_for(got.get(), 5)
        assert (event["data[FIELDS_BEFORE]"], event["data[FIELDS_AFTER][ID]"]) == ("undefined", "8029")
        assert event["auth[application_token]"] == hook.json()["application_token"]
        assert "auth[access_token]" not in event


async def test_an_expired_token_is_refreshed_once() -> None:
    """An old token is 401 expired_token; the refresh gives a new pair and spends the old refresh token."""
    async with in_process() as portal:
        pair = (await portal.http.post("/sandbox/oauth", json={"user_id": 7, "expires_in": 60})).json()
        assert portal.clock is not None
        portal.clock.move(seconds=61)
        late = await portal.send("profile", {"auth": pair["access_token"]}, "/rest/")
        assert (late.status_code, late.json()["error"]) == (401, "expired_token")
        wanted = {"grant_type": "refresh_token", "refresh_token": pair["refresh_token"]}
        fresh = (await portal.http.get("/oauth/token/", params=wanted)).json()
        profile = await portal.send("profile", {"auth": fresh["access_token"]}, "/rest/")
        assert profile.json()["result"]["ID"] == "7"
        assert (await portal.http.get("/oauth/token/", params=wanted)).json()["error"] == "invalid_grant"
