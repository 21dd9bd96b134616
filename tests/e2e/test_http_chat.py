"""The HTTP API through a real socket: what `sdelka run` serves without Telegram, a whole conversation, and callers who mean no good."""

import asyncio
import socket
import time
from contextlib import AbstractAsyncContextManager, ExitStack, suppress
from typing import Any

import httpx
import pytest

from tests.e2e.e2e_kit import World, plan

SITE, SHOP = "site-0123456789abcdef", "shop-0123456789abcdef"
UPDATE = {"method": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 150_000}}, "comment": "так попросили"}


def served(world: World, **over: Any) -> AbstractAsyncContextManager[httpx.AsyncClient]:
    """The bot with its HTTP door only."""
    tokens = f"site={SITE}:manager:full,shop={SHOP}:manager:full"
    return world.running_bot(telegram_bot_token="", http_api_tokens=tokens, **over)


async def ask(http: httpx.AsyncClient, message: str, user: str = "42", token: str = SITE, **headers: str) -> httpx.Response:
    return await http.post("/chat", json={"user_id": user, "message": message}, headers={"X-API-Key": token, **headers})


@pytest.mark.req("S004-58", "S004-61", "S004-63", "S004-64", "S004-65", "S004-66", "S004-67", "S004-X10", "S004-M3")
async def test_a_conversation_from_the_question_to_one_call_in_the_portal(world: World) -> None:
    """Ask, read before → after, approve by fingerprint, one call; who asked and who approved stands in the audit; a repeat changes nothing."""
    async with served(world) as http:
        for answer, status, code in (
            (await ask(http, "привет", token="wrong-0123456789abcdef"), 401, "unauthorized"),
            (await http.post("/chat", content=b"{", headers={"X-API-Key": SITE}), 400, "invalid_json"),
            (await http.post("/chat", json={"user_id": "42"}, headers={"X-API-Key": SITE}), 400, "missing_message"),
            (await http.get("/chats", headers={"X-API-Key": SITE}), 404, "endpoint_not_found"),
        ):
            assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
        await world.script(plan(UPDATE))
        asked = await ask(http, "подними сумму сделки 481 до 150000", **{"Idempotency-Key": "order-1"})
        card = asked.json()["waiting"][0]
        assert [row["name"] for row in card["rows"]] == ["Сумма"]
        assert await world.writes() == []
        decision = {"decision": "approve", "fingerprint": card["fingerprint"]}
        foreign = await http.post(f"/confirmations/{card['id']}", json=decision, headers={"X-API-Key": SHOP})
        assert foreign.status_code == 404
        decided = await http.post(f"/confirmations/{card['id']}", json=decision, headers={"X-API-Key": SITE})
        assert (decided.status_code, decided.json()["status"]) == (200, "executed"), decided.text
        again = await ask(http, "подними сумму сделки 481 до 150000", **{"Idempotency-Key": "order-1"})
        assert again.content == asked.content
        assert await world.writes() == ["crm.deal.update"], decided.text
        assert float((await world.record("deal", 481))["OPPORTUNITY"]) == 150_000
        audit = (await http.get("/audit", headers={"X-API-Key": SITE})).text
        assert "http:site" in audit
        assert "crm.deal.update" in audit


@pytest.mark.long
async def test_callers_who_mean_no_good_do_not_keep_others_from_being_answered(world: World) -> None:
    """Dozens of half requests, a slow body, a head without end and a flood of wrong tokens: a right one is answered at once meanwhile."""
    async with served(world, http_trusted_proxies="127.0.0.1") as http:
        with ExitStack() as stack:
            started = b"POST /chat HTTP/1.1\r\nHost: x\r\nX-API-Key: " + SITE.encode()
            halves = [_begun(stack, http, started) for _ in range(60)]
            slow = _begun(stack, http, started + b"\r\nContent-Length: 100\r\n\r\n{")
            endless = _begun(stack, http, b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (line, b"y" * 1000) for line in range(100)))
            assert b" 400 " in await _heard(endless)
            flood = [ask(http, "x", token=f"wrong-{number}", **{"X-Forwarded-For": f"9.9.{number % 15}.1"}) for number in range(120)]
            began = time.monotonic()
            *refused, answer = await asyncio.gather(*flood, ask(http, "/mode", **{"X-Forwarded-For": "7.7.7.7"}))
            assert answer.status_code == 200
            assert {item.status_code for item in refused} == {401, 429}
            assert all(int(item.headers["Retry-After"]) > 800 for item in refused if item.status_code == 429)
            assert time.monotonic() - began < 15
            assert b" 408 " in await _heard(slow)
            assert await _heard(halves[0]) == b""


def _begun(stack: ExitStack, http: httpx.AsyncClient, sent: bytes) -> socket.socket:
    """A connection on which something was begun."""
    made = stack.enter_context(socket.create_connection(("127.0.0.1", int(http.base_url.port or 0)), timeout=15))
    with suppress(OSError):  # the other side may have heard enough
        made.sendall(sent)
    return made


async def _heard(connection: socket.socket) -> bytes:
    """What the other side says, b"" when it hangs up."""
    try:
        return await asyncio.to_thread(connection.recv, 1000)
    except ConnectionResetError:
        return b""
