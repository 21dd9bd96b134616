"""What is sent to the API by those who mean no good, byte by byte: each gets a refusal in the one form, and nobody learns or breaks anything."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.bot.http_api.chat_kit import SHOP, SITE
from tests.unit.bot.http_api.hostile_kit import Site, a_site, request
from tests.unit.spine_kit import raise_sum, reply, until

pytestmark = pytest.mark.req("S004-63", "S004-64", "S004-65", "S004-66", "S004-67", "S004-X10")

CARD = "/confirmations/0123456789"
DECISION = b'{"decision": "deny", "fingerprint": "%s"}'


@pytest.fixture
async def site(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> AsyncIterator[Site]:
    """No token, nothing that was said and no traceback may stand in the log at the end."""
    caplog.set_level(logging.INFO)
    async with a_site(tmp_path) as made:
        yield made
    log = caplog.text
    for hidden in (SITE, SHOP, "wrong-0", "секрет", "Traceback"):
        assert hidden not in log


async def test_what_nobody_foresaw_is_a_500_on_the_wire(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """In the one form, with nothing of what went wrong; the connection goes on, and the log has the whole."""
    async with a_site(tmp_path) as site, site.wire() as wire:
        waiting = site.door.api.mailbox.open_ticket
        site.door.api.mailbox.open_ticket = _falls  # type: ignore[method-assign,assignment]
        wire.send(request("POST", "/chat", b'{"user_id": "1", "message": "/mode"}'))
        fallen = await wire.answer()
        site.door.api.mailbox.open_ticket = waiting  # type: ignore[method-assign]
        wire.send(request("POST", "/chat", b'{"user_id": "1", "message": "/mode"}'))
        assert (await wire.answer()).status == 200
    assert (fallen.status, fallen.code) == (500, "internal_error")
    assert b"hidden-inside" not in fallen.body
    assert "hidden-inside" in caplog.text


def _falls(*_: object) -> object:
    raise RuntimeError("hidden-inside")


REFUSED = [
    # methods and addresses
    (request("BREW", "/chat"), 405, "method_not_allowed"),
    (request("OPTIONS", "/confirmations"), 405, "method_not_allowed"),
    (request("TRACE", "/audit"), 405, "method_not_allowed"),
    (request("DELETE", CARD), 405, "method_not_allowed"),
    (request("GET", "/confirmations/"), 404, "endpoint_not_found"),
    (request("POST", "/chat/", b"{}"), 404, "endpoint_not_found"),
    (request("GET", "/audit/"), 404, "endpoint_not_found"),
    (request("GET", "//audit"), 404, "endpoint_not_found"),
    (request("GET", "http://evil.example/audit"), 404, "endpoint_not_found"),
    (request("OPTIONS", "*"), 404, "endpoint_not_found"),
    (request("GET", "/x%0d%0aSet-Cookie:%20a=b"), 404, "endpoint_not_found"),
    # ids that are none
    (request("GET", "/confirmations/%00"), 404, "confirmation_not_found"),
    (request("GET", "/confirmations/%ff%fe"), 404, "confirmation_not_found"),
    (request("GET", "/confirmations/" + "a" * 5000), 404, "confirmation_not_found"),
    (request("POST", "/confirmations/" + "a" * 5000, DECISION % b"x"), 404, "confirmation_not_found"),
    (request("GET", "/confirmations/..%2f..%2faudit"), 404, "endpoint_not_found"),
    (request("GET", "/sessions/..%2f..%2fetc%2fpasswd/events"), 404, "endpoint_not_found"),
    (request("GET", "/sessions/../events"), 404, "session_not_found"),
    (request("GET", "/sessions/http:site:%2e%2e/events"), 404, "session_not_found"),
    (request("GET", "/sessions/http:site:%252e%252e%252f/events"), 404, "session_not_found"),
    (request("GET", "/sessions/http:site:42%00/events"), 404, "session_not_found"),
    (request("GET", "/sessions/http:site:" + "a" * 5000 + "/events"), 404, "session_not_found"),
    (request("GET", "/sessions/sdelka.db/events"), 404, "session_not_found"),
    # tokens that are none
    (request("GET", "/audit", token=""), 401, "unauthorized"),
    (request("GET", f"/audit?X-API-Key={SITE}&api_key={SITE}&token={SITE}", token=""), 401, "unauthorized"),
    (request("GET", "/audit", token="", Authorization=f"Bearer {SITE}"), 401, "unauthorized"),
    (request("GET", "/audit", token="", Cookie=f"X-API-Key={SITE}"), 401, "unauthorized"),
    (request("GET", "/audit", token="\xff\xfe" * 10), 401, "unauthorized"),
    (request("GET", "/audit", token=SITE + ","), 401, "unauthorized"),
    (request("POST", CARD, b"{", token=""), 401, "unauthorized"),
    (request("POST", "/freeze", b"{" * 60_000, token=""), 401, "unauthorized"),
    (request("POST", "/chat", b"x", token="", Content_Length=10**15), 401, "unauthorized"),
    (request("POST", "/freeze", b'{"frozen": true}', token=SITE), 403, "forbidden"),
    # bodies
    (request("POST", CARD, b""), 400, "invalid_request"),
    (request("POST", CARD, b"{"), 400, "invalid_json"),
    (request("POST", CARD, b"[" * 10_000), 400, "invalid_json"),
    (request("POST", CARD, b'{"a":' * 3000), 400, "invalid_json"),
    (request("POST", CARD, b'{"decision": "deny", "fingerprint": ' + b"9" * 6000 + b"}"), 400, "invalid_json"),
    (request("POST", CARD, b"\xff\xfe\x00"), 400, "invalid_json"),
    (request("POST", CARD, DECISION % b"\\ud800"), 400, "invalid_request"),
    (request("POST", CARD, b'{"decision": "deny", "fingerprint": NaN}'), 400, "invalid_json"),
    (request("POST", CARD, b'{"decision": "approve", "fingerprint": 1e999}'), 400, "invalid_request"),
    (request("POST", CARD, b'{"decision": true, "fingerprint": "x"}'), 400, "invalid_request"),
    (request("POST", CARD, DECISION % b"x", Content_Type="text/plain"), 400, "invalid_request"),
    (request("POST", CARD, DECISION % b"x", Content_Type="application/x-www-form-urlencoded"), 400, "invalid_request"),
    (request("POST", CARD, DECISION % b"x", Content_Type="multipart/form-data; boundary=x"), 400, "invalid_request"),
    (request("POST", CARD, b"x" * 20_000), 413, "too_large"),
    (request("POST", "/chat", b"x" * 300_000), 413, "too_large"),
    (request("POST", "/chat", b"{}", Content_Length=10**15), 413, "too_large"),
    (request("POST", "/chat", b'{"user_id": "4\\ud8002", "message": "x"}'), 400, "invalid_json"),
    (request("POST", "/chat", b'{"user_id": "42", "message": "x", "message": 5}'), 400, "invalid_json"),
    (request("POST", "/chat", b'{"user_id": %s, "message": "x"}' % (b"9" * 6000)), 400, "invalid_json"),
    # queries
    (request("GET", "/confirmations?session=%ED%A0%80"), 400, "invalid_request"),
    (request("GET", "/confirmations?cursor=" + "A" * 900), 400, "invalid_cursor"),
    (request("GET", "/confirmations?limit=" + "9" * 6000), 400, "invalid_request"),
    (request("GET", "/audit?person=tg:%00"), 400, "invalid_request"),
    (request("GET", "/audit?from=0001-01-01T00:00:00Z"), 400, "invalid_request"),
    (request("GET", "/audit?from=2026-01-01T00:00:00%2B99:99"), 400, "invalid_request"),
    (request("GET", "/audit?%00=1"), 400, "invalid_request"),
    # what is no HTTP
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, "invalid_http"),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 404, "endpoint_not_found"),
    (b"GET /audit HTTP/1.1\r\n\r\n", 400, "invalid_http"),
    (b"GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", 400, "invalid_http"),
    (b"GET /\xd1\x84 HTTP/1.1\r\nHost: x\r\n\r\n", 400, "invalid_http"),
    (request("GET", "/audit", Idempotency_Key="a\x00b"), 400, "invalid_http"),
    (request("GET", "/audit", X_A="b\rX-API-Key: c"), 400, "invalid_http"),
    (request("GET", "/audit", Content_Length="-1"), 400, "invalid_http"),
    (request("GET", "/audit", Content_Length="1, 2"), 400, "invalid_http"),
    (request("GET", "/audit", Content_Length="9" * 30), 400, "invalid_http"),
    (request("GET", "/audit", Transfer_Encoding="gzip, chunked"), 400, "invalid_http"),
    (request("GET", "/audit", X_Long="y" * 600_000), 400, "invalid_http"),
]


async def test_what_is_wrong_is_refused_in_the_one_form(site: Site) -> None:
    """One by one over a socket; then a right request is answered as ever."""
    wrong = []
    for place, (sent, status, code) in enumerate(REFUSED):
        site.door.api.identity._lockout._failed._kept.clear()
        heard = await site.told(sent)
        if (heard.status, heard.code) != (status, code):
            wrong.append(f"{place}: {sent[:50]!r}…{sent[-60:]!r}: {heard.status} {heard.code}, not {status} {code}")
        assert "set-cookie" not in heard.headers
        assert "server" not in heard.headers
    assert not wrong, "\n".join(wrong)
    heard = await site.told(request("POST", "/chat", b'{"user_id": "42", "message": "/mode"}'))
    assert heard.status == 200


@pytest.mark.long
async def test_a_foreign_id_is_answered_byte_by_byte_as_one_that_does_not_exist(site: Site) -> None:
    """Status, headers and body; for a card, a decision about it and a conversation; with a token that holds none of it."""
    site.door.world.model.will(reply(raise_sum()))
    asked = await site.told(request("POST", "/chat", '{"user_id": "42", "message": "подними сумму, это секрет"}'.encode()))
    card = json.loads(asked.body)["waiting"][0]
    unknown = "0" * len(card["id"])
    for there, not_there in (
        (request("GET", f"/confirmations/{card['id']}", token=SHOP), request("GET", f"/confirmations/{unknown}", token=SHOP)),
        (_decision(card["id"], card["fingerprint"]), _decision(unknown, card["fingerprint"])),
        (request("GET", "/sessions/http:site:42/events", token=SHOP), request("GET", "/sessions/http:site:43/events", token=SHOP)),
        (request("GET", "/sessions/http:site:42/events", token=""), request("GET", "/sessions/http:none:4/events", token="")),
        (request("GET", "/confirmations?session=http:site:42", token=SHOP), request("GET", "/confirmations?session=http:no:1", token=SHOP)),
        (request("GET", "/audit?person=http:site", token=SHOP), request("GET", "/audit?person=http:nobody", token=SHOP)),
        (request("GET", "/freeze", token="wrong-0123456789abcdef"), request("GET", "/audit", token="wrong-0000000000000000")),
    ):
        assert (await site.told(there)).same == (await site.told(not_there)).same
    described = await site.told(request("GET", "/openapi.json", token=""))
    page = await site.told(request("GET", "/docs", token=""))
    for secret in ("http:shop", "portal.example", card["id"], str(site.door.world.logs)):
        assert secret.encode() not in described.body + page.body


def _decision(card: str, fingerprint: str) -> bytes:
    body = json.dumps({"decision": "approve", "fingerprint": fingerprint}).encode()
    return request("POST", f"/confirmations/{card}", body, token=SHOP)


async def test_an_address_names_all_that_can_be_done_with_it(site: Site) -> None:
    """`Allow` of a 405, also where two routes share the address."""
    assert (await site.told(request("PUT", CARD))).headers["allow"] == "GET, POST"
    assert (await site.told(request("OPTIONS", "/audit"))).headers["allow"] == "GET"
    assert (await site.told(request("HEAD", "/audit"), with_body=False)).status == 405


async def test_requests_in_one_piece_are_answered_in_their_order(site: Site) -> None:
    """Pipelining: a thousand at once, right and wrong ones."""
    async with site.wire() as wire:
        sent = [request("GET", path) for path in ("/audit", "/nothing", "/confirmations")]
        for _ in range(100):
            wire.send(*sent)
        assert [(await wire.answer()).status for _ in range(300)] == [200, 404, 200] * 100


async def test_a_body_that_is_not_what_was_said_of_it_keeps_nobody(site: Site) -> None:
    """Too short and hung up, chunks without end, chunks that are none, two lengths, a body where none belongs."""
    async with site.wire() as wire:
        wire.send(request("POST", "/chat", b"{", Content_Length=50))
        wire.writer.write_eof()
        assert await wire.ended() == b""
    chunked = request("POST", "/chat", Transfer_Encoding="chunked")
    async with site.wire() as wire:
        wire.send(chunked, b"10000\r\n" + b"x" * 65536 + b"\r\n")
        for _ in range(10):
            wire.send(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        assert (await wire.answer()).code == "too_large"
    for garbage in (b"zz\r\n", b"5\r\nabcdefgh\r\n", b"fffffffffffffffffffffffff\r\n"):
        async with site.wire() as wire:
            wire.send(chunked, garbage)
            assert (await wire.answer()).code in {"invalid_http", "too_slow"}
            await wire.ended()
    async with site.wire() as wire:  # the answer is out when the garbage comes
        wire.send(request("POST", "/nothing", Transfer_Encoding="chunked"))
        assert (await wire.answer()).code == "endpoint_not_found"
        wire.send(b"zz\r\n")
        assert await wire.ended() == b""
    heard = await site.told(request("GET", "/audit", b'{"a": 1}'))
    assert heard.status == 200
    smuggled = request("POST", "/nothing", b"0\r\n\r\nGET /audit HTTP/1.1\r\nHost: x\r\n\r\n", Transfer_Encoding="chunked")
    assert (await site.told(smuggled)).code in {"endpoint_not_found", "invalid_http"}


async def test_who_asks_before_sending_is_told_to_go_on_only_with_a_token(site: Site) -> None:
    """Expect: 100-continue; nobody is asked for a body whose sender is not known."""
    body = b'{"user_id": "42", "message": "/mode"}'
    async with site.wire() as wire:
        head = request("POST", "/chat", None, Expect="100-continue", Content_Length=len(body))
        wire.send(head)
        assert (await wire.answer()).status == 100
        wire.send(body)
        assert (await wire.answer()).status == 200
    heard = await site.told(request("POST", "/chat", None, token="", Expect="100-continue", Content_Length=len(body)))
    assert heard.status == 401
    upgrade = await site.told(
        request("GET", "/audit", Connection="Upgrade", Upgrade="websocket", Sec_WebSocket_Key="eA==", Sec_WebSocket_Version=13)
    )
    assert upgrade.status == 200


async def test_who_leaves_in_the_middle_of_a_stream_leaves_nothing_behind(site: Site) -> None:
    """Thirty hang up while the model thinks; the turns end, nobody is waited for, and the next one is answered."""
    world = site.door.world
    world.model.gate = asyncio.Event()
    world.model.will(*(reply(text="Готово.") for _ in range(30)))
    for number in range(30):
        async with site.wire() as wire:
            body = b'{"user_id": "%d", "message": "hello"}' % number
            wire.send(request("POST", "/chat", body, Accept="text/event-stream"))
            assert (await wire.answer(with_body=False)).status == 200
    await until(lambda: not site.door.api.mailbox._tickets)
    world.model.gate.set()
    await world.idle()
    assert (await site.told(request("POST", "/chat", b'{"user_id": "1", "message": "/mode"}'))).status == 200


@pytest.mark.long
async def test_floods_of_wrong_tokens_are_turned_away_at_the_door(site: Site) -> None:
    """Of one address without a proxy: the sixth is 429, and so is the right one; its log has one line, whatever is sent."""
    async with site.wire() as wire:
        for number in range(1000):
            wire.send(request("GET", "/audit", token=f"wrong-0{number:010}"))
        assert [(await wire.answer()).status for _ in range(1000)] == [401] * 5 + [429] * 995
        wire.send(request("GET", "/audit"))
        assert (await wire.answer()).status == 429
