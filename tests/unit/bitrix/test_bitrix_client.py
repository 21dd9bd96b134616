import asyncio
import json
import traceback
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from bitrix.client.client import MAX_ANSWER_BYTES, Answer, BitrixClient
from bitrix.errors import BitrixError, NotSent, OutcomeUnknown, Refused, Unreadable
from bitrix.limits.limiter import Limiter

CODE = "topsecretcode"
WEBHOOK = f"https://Portal.Example/rest/1/{CODE}/"
LIMITED = (503, {"error": "QUERY_LIMIT_EXCEEDED", "error_description": "Too many requests"})
SPENT = (429, {"error": "OPERATION_TIME_LIMIT", "error_description": "Method is blocked"})
OK = (200, {"result": True, "time": {}})
Connect = Callable[..., BitrixClient]


class Script:
    """A portal that gives its answers one after another, the last for ever, and keeps what it was sent."""

    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        if isinstance(step, Exception):
            raise step
        status, content, *headers = step
        if isinstance(content, str | bytes):
            return httpx.Response(status, content=content, headers=headers[0] if headers else None)
        return httpx.Response(status, json=content, headers=headers[0] if headers else None)


@pytest.fixture
async def connect(fake_time: Any) -> AsyncIterator[Connect]:
    """Make a client over a script; time flows by itself."""
    fake_time.flows = True
    made: list[BitrixClient] = []

    def make(script: Any, limiter: Limiter | None = None, webhook: Any = WEBHOOK) -> BitrixClient:
        limiter = limiter or Limiter.create_unlimited(clock=fake_time.clock, sleep=fake_time.sleep)
        made.append(BitrixClient(webhook, limiter=limiter, transport=httpx.MockTransport(script)))
        return made[-1]

    yield make
    for client in made:
        await client.aclose()


def leaks(error: BaseException) -> bool:
    """Everything a careless log line could print of an error, its causes and contexts."""
    chain: BaseException | None = error
    texts: list[str] = []
    while chain is not None:
        texts += [str(chain), repr(chain), str(chain.__dict__), *traceback.format_exception(chain)]
        chain = chain.__cause__ or chain.__context__
    return CODE in "".join(texts)


@pytest.mark.req("S004-40", "S004-41", "S004-X8")
async def test_one_webhook(connect: Connect) -> None:
    """Every call is a JSON post to the configured webhook."""
    script = Script(OK)
    client = connect(script, webhook=SecretStr(WEBHOOK))
    for method in ("crm.deal.update", "batch", "event.get"):
        await client.call(method, {"id": 1})
    assert [str(r.url) for r in script.requests] == [
        f"https://portal.example/rest/1/{CODE}/{method}" for method in ("crm.deal.update", "batch", "event.get")
    ]
    assert {(r.method, r.headers["content-type"], r.content) for r in script.requests} == {("POST", "application/json", b'{"id":1}')}
    assert "Sdelka" in script.requests[0].headers["user-agent"]


async def test_key_order(connect: Connect) -> None:
    """The order of keys is kept since commands run in it."""
    script = Script(OK)
    await connect(script).call("batch", {"halt": 1, "cmd": {"z": "server.time", "a": "profile", "c10": "x", "c2": "y"}})
    assert list(json.loads(script.requests[0].content)["cmd"]) == ["z", "a", "c10", "c2"]


async def test_no_cookies(connect: Connect) -> None:
    """A session cookie of the portal is never sent back."""
    script = Script((200, {"result": 1}, {"set-cookie": "PHPSESSID=abc; path=/"}))
    client = connect(script)
    for _ in range(2):
        await client.call("profile", {})
    assert "cookie" not in script.requests[1].headers


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({"result": 394}, Answer(394)),
        ({"result": None}, Answer(None)),
        ({"result": [], "total": 60, "next": 50, "time": {"operating": 0.1}}, Answer([], 60, 50, {"operating": 0.1})),
        ({"result": [], "total": "60", "next": True, "time": []}, Answer([], 60, None, {})),
    ],
)
async def test_envelope(connect: Connect, body: Any, answer: Any) -> None:
    """The success envelope is read."""
    assert await connect(Script((200, body))).call("crm.lead.list", {}) == answer


_lost = partial(httpx.ReadError, "reset")
FAILURES = {
    # name: (what the portal does, the error, its code, sends of a write, sends of a read)
    "refused by the portal": ((400, {"error": "", "error_description": "Not found"}), Refused, "", 1, 1),
    "wrong rights": ((403, {"error": "insufficient_scope"}), Refused, "insufficient_scope", 1, 1),
    "wrong code": ((401, {"error": "INVALID_CREDENTIALS"}), Refused, "INVALID_CREDENTIALS", 1, 1),
    "no such method": ((404, {"error": "ERROR_METHOD_NOT_FOUND"}), Refused, "ERROR_METHOD_NOT_FOUND", 1, 1),
    "number as code": ((400, {"error": 0, "error_description": "No<br>"}), Refused, "0", 1, 1),
    "nested error": ((422, {"error": {"code": "X", "message": "m"}}), Refused, "X", 1, 1),
    "rate limit": (LIMITED, NotSent, "QUERY_LIMIT_EXCEEDED", 6, 6),
    "time limit": (SPENT, NotSent, "OPERATION_TIME_LIMIT", 1, 1),
    "limit code on a 500": ((500, LIMITED[1]), OutcomeUnknown, "QUERY_LIMIT_EXCEEDED", 1, 3),
    "other 503": ((503, {"error": "OVERLOAD_LIMIT"}), Refused, "OVERLOAD_LIMIT", 1, 1),
    "503 page": ((503, "<html>busy</html>"), OutcomeUnknown, "", 1, 3),
    "500": ((500, {"error": "INTERNAL_SERVER_ERROR"}), OutcomeUnknown, "INTERNAL_SERVER_ERROR", 1, 3),
    "408": ((408, {"error": "timeout"}), OutcomeUnknown, "timeout", 1, 3),
    "error with 200": ((200, {"error": "X", "result": 1}), OutcomeUnknown, "X", 1, 3),
    "403 page": ((403, "<html>no</html>"), Unreadable, "", 1, 3),
    "page with 200": ((200, "<html>hello</html>"), Unreadable, "", 1, 3),
    "nothing with 200": ((200, b""), Unreadable, "", 1, 3),
    "half a JSON": ((200, '{"result": tr'), Unreadable, "", 1, 3),
    "a list": ((200, [1]), Unreadable, "", 1, 3),
    "no result": ((200, {"time": {}}), Unreadable, "", 1, 3),
    "result with 500": ((500, {"result": True}), OutcomeUnknown, "", 1, 3),
    "bad compression": ((200, b"x", {"content-encoding": "gzip"}), Unreadable, "", 1, 3),
    "redirect": ((302, "", {"location": f"https://new.example/rest/1/{CODE}/"}), OutcomeUnknown, "", 1, 1),
    "redirect nowhere": ((307, "", {"location": "http://[broken"}), OutcomeUnknown, "", 1, 1),
    "no connection": (httpx.ConnectError(f"https://x/rest/1/{CODE}/"), NotSent, "", 3, 3),
    "connect timeout": (httpx.ConnectTimeout(""), NotSent, "", 3, 3),
    "no free connection": (httpx.PoolTimeout(""), NotSent, "", 3, 3),
    "proxy refuses": (httpx.ProxyError("407"), NotSent, "", 3, 3),
    "read timeout": (httpx.ReadTimeout(""), OutcomeUnknown, "", 1, 3),
    "reset": (httpx.ReadError(f"reset of /rest/1/{CODE}/"), OutcomeUnknown, "", 1, 3),
    "write timeout": (httpx.WriteTimeout(""), OutcomeUnknown, "", 1, 3),
    "write error": (httpx.WriteError(""), OutcomeUnknown, "", 1, 3),
    "protocol": (httpx.RemoteProtocolError("closed"), OutcomeUnknown, "", 1, 3),
    "raw socket error": (ConnectionResetError("reset"), OutcomeUnknown, "", 1, 3),
}


@pytest.mark.req("S004-X8", "S004-42", "S004-A12")
@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("kind", ["write", "read"])
async def test_failures(connect: Connect, name: str, kind: str) -> None:
    """A failure says what is proven and only what is safe is repeated."""
    step, expected, code, writes, reads = FAILURES[name]
    script = Script(step)
    with pytest.raises(BitrixError) as caught:
        await connect(script).call("crm.deal.add", {"fields": {}}, repeatable=kind == "read")

    assert type(caught.value) is expected
    assert caught.value.code == code
    assert len(script.requests) == (writes if kind == "write" else reads)
    assert str(caught.value)
    assert "<" not in str(caught.value)
    assert "://" not in str(caught.value)
    assert not leaks(caught.value)


WARNING = b"<br />\n<b>Warning</b>: Undefined array key {0} in <b>/home/bitrix/init.php</b> on line <b>12</b><br />\n"


@pytest.mark.parametrize(
    "before", [b"\xef\xbb\xbf", b"\xef\xbb\xbf\xef\xbb\xbf\r\n", WARNING, b"\xef\xbb\xbf" + WARNING, b"<!-- debug -->", b'{"debug": 1}\n']
)
@pytest.mark.parametrize("code", ["", "ERROR_CORE"])
async def test_what_stands_before_the_data_is_passed_over(connect: Connect, before: bytes, code: str) -> None:
    """A BOM, warnings of PHP or HTML before the answer do not hide the result of a write or its refusal."""
    body = b'{"error":"ERROR_CORE"}' if code else b'{"result":394,"time":{}}'
    client = connect(Script((400 if code else 200, before + body)))
    if code:
        with pytest.raises(Refused, match=code):
            await client.call("crm.deal.add", {"fields": {}})
    else:
        assert (await client.call("crm.deal.add", {"fields": {}})).result == 394


@pytest.mark.parametrize(
    "body",
    [
        b'<html><script>x = {"result": 1}</script></html>',
        b'<html>{"result":1}</html>',
        b'x{"result":1}{"result":2}',
        b'<p>{"result":1',
        b"\xef\xbb\xbf",
    ],
)
async def test_a_page_is_no_data(connect: Connect, body: bytes) -> None:
    """Only data with which the answer ends counts: what stands inside of a page proves nothing of a write."""
    with pytest.raises(Unreadable):
        await connect(Script((200, body))).call("crm.deal.add", {"fields": {}})


async def test_limits_are_waited_out(connect: Connect, fake_time: Any) -> None:
    """A write refused by a limit is sent again with growing delay."""
    script = Script(LIMITED, LIMITED, OK)
    answer = await connect(script).call("crm.deal.add", {"fields": {}})
    assert answer.result is True
    assert fake_time.slept == [1.0, 2.0]
    assert len({request.content for request in script.requests}) == 1


async def test_refusal_fills_bucket(connect: Connect, fake_time: Any) -> None:
    """A refusal fills the bucket for the next call."""
    limiter = Limiter(clock=fake_time.clock, sleep=fake_time.sleep, rate=0.1)
    client = connect(Script(LIMITED, OK), limiter)
    await client.call("profile", {})
    assert fake_time.slept == [1.0, pytest.approx(19.0)]


async def test_read_retries(connect: Connect) -> None:
    """A read survives two lost answers."""
    script = Script(_lost(), (502, "<html>"), OK)
    assert (await connect(script).call("crm.deal.get", {"id": 1}, repeatable=True)).result is True
    assert len(script.requests) == 3


async def test_lost_retry(connect: Connect) -> None:
    """A write is not sent again when its retry is lost."""
    script = Script(LIMITED, _lost(), OK)
    with pytest.raises(OutcomeUnknown):
        await connect(script).call("crm.deal.add", {})
    assert len(script.requests) == 2


async def test_send_within(connect: Connect, fake_time: Any) -> None:
    """No send begins after the given time."""
    script = Script(LIMITED)
    with pytest.raises(NotSent):
        await connect(script).call("crm.deal.add", {}, send_within=5.0)
    assert len(script.requests) == 3
    assert fake_time.now - 1_000 < 5


async def test_send_within_limiter(connect: Connect, fake_time: Any) -> None:
    """A call that waits too long for the limiter is not sent and leaves no trace."""
    script = Script(OK)
    limiter = Limiter(burst=1)
    client = connect(script, limiter)
    await client.call("profile", {})
    with pytest.raises(NotSent, match="in time") as caught:
        await client.call("crm.deal.add", {}, send_within=0.02)
    assert len(script.requests) == 1
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "method",
    [
        *("", ".", "crm..deal", ".crm", "crm.", "crm.deal.get.json", "crm.deal.get.XML", "crm/deal", "../batch"),
        *("crm.deal.get?id=1", "crm deal", "crm.deal.get\n", "сделка", "crm.deal.get#", "%2e", "a" * 101, "1.a", "$x"),
    ],
)
async def test_method_names(connect: Connect, method: str) -> None:
    """A second spelling of a method never leaves."""
    script = Script(OK)
    with pytest.raises(NotSent, match="method name"):
        await connect(script).call(method, {}, repeatable=True)
    assert script.requests == []


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), [{"a": (float("nan"),)}], 2**53, "\ud800", {1: 2}, {1, 2}, object(), b"x"],
    ids=[f"case{number}" for number in range(9)],
)
async def test_plain_json_only(connect: Connect, value: Any) -> None:
    """Parameters that are not plain JSON never leave."""
    script = Script(OK)
    with pytest.raises(NotSent, match="not plain JSON"):
        await connect(script).call("crm.deal.add", {"fields": value})
    assert script.requests == []


async def test_answer_size(connect: Connect) -> None:
    """An endless answer is cut and not asked for again."""
    script = Script((200, b'{"result": "' + b"x" * MAX_ANSWER_BYTES + b'"}'))
    with pytest.raises(OutcomeUnknown, match=f"longer than {MAX_ANSWER_BYTES} bytes"):
        await connect(script).call("crm.deal.list", {}, repeatable=True)
    assert len(script.requests) == 1


@pytest.mark.req("S004-41", "S004-A12")
@pytest.mark.parametrize(
    "webhook",
    [
        "",
        f"portal.example/rest/1/{CODE}/",
        f"http://portal.example/rest/1/{CODE}/",
        f"ftp://portal.example/rest/1/{CODE}/",
        f"https:///rest/1/{CODE}/",
        f"https://portal.example:port/rest/1/{CODE}/",
        f"https://u:p@portal.example/rest/1/{CODE}/",
        f"https://portal.example/rest/1/{CODE}/?a=1",
        f"https://portal.example/rest/1/{CODE}/#a",
        f"https://portal.example/rest/1/{CODE}/profile.json",
        f"https://portal.example/rest/x/{CODE}/",
        f"https://portal.example/rest/api/1/{CODE}/",
        f"https://portal.example/{CODE}/",
        f"https://portal.example/rest/1/{CODE}/ /",
    ],
)
def test_wrong_webhooks(webhook: str) -> None:
    """A wrong webhook is refused without being named."""
    with pytest.raises(ValueError, match="must look like") as caught:
        BitrixClient(webhook, limiter=Limiter.create_unlimited())
    assert not leaks(caught.value)


@pytest.mark.parametrize(
    ("webhook", "portal", "base_url"),
    [
        (WEBHOOK, "portal.example", "https://portal.example"),
        (WEBHOOK.rstrip("/"), "portal.example", "https://portal.example"),
        (f" https://portal.example:443/rest/1/{CODE}/\n", "portal.example", "https://portal.example"),
        (f"https://PORTAL.example:8443/rest/1/{CODE}/", "portal.example:8443", "https://portal.example:8443"),
        ("http://127.0.0.1:8100/rest/1/sandbox/", "127.0.0.1:8100", "http://127.0.0.1:8100"),
        ("http://[::1]:8100/rest/1/sandbox/", "[::1]:8100", "http://[::1]:8100"),
    ],
)
async def test_portal_name(connect: Connect, webhook: str, portal: str, base_url: str) -> None:
    """The portal is known by its host only."""
    client = connect(Script(OK), webhook=webhook)
    assert (client.portal, client.base_url) == (portal, base_url)
    assert repr(client) == f"<BitrixClient {portal}>"
    assert CODE not in repr(vars(client))


async def test_closed_client(connect: Connect) -> None:
    """A closed client says that nothing was sent."""
    client = connect(Script(OK))
    await client.aclose()
    with pytest.raises(NotSent, match="closed"):
        await client.call("crm.deal.add", {})


@pytest.mark.parametrize("waits_for", ["a pause", "a place"])
async def test_closed_while_a_call_waits(connect: Connect, fake_time: Any, waits_for: str) -> None:
    """A client closed while a call pauses or waits for its place says that nothing was sent, and sends nothing."""
    client = connect(script := Script(LIMITED), Limiter(burst=1, clock=fake_time.clock, sleep=fake_time.sleep))
    fake_time.flows = False
    if waits_for == "a place":
        with pytest.raises(NotSent):
            await client.call("profile", {}, send_within=0.1)
    call = asyncio.ensure_future(client.call("crm.deal.add", {}))
    await fake_time.settle()
    sent = len(script.requests)
    await client.aclose()
    await fake_time.advance(60)
    with pytest.raises(NotSent, match="closed"):
        await call
    assert len(script.requests) == sent == 1


async def test_closed_under_a_request(connect: Connect) -> None:
    """A connection that is closed under a request leaves its outcome unknown."""
    with pytest.raises(OutcomeUnknown, match="unable to perform operation"):
        await connect(Script(RuntimeError("unable to perform operation"))).call("crm.deal.add", {})


async def test_cancelled_wait(connect: Connect, fake_time: Any) -> None:
    """A cancelled wait for the limiter sends nothing."""
    fake_time.flows = False
    script = Script(OK)
    client = connect(script, Limiter(burst=1, clock=fake_time.clock, sleep=fake_time.sleep))
    await client.call("profile", {})
    waiting = asyncio.ensure_future(client.call("crm.deal.add", {}))
    await fake_time.settle()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert len(script.requests) == 1


async def test_a_place_that_came_after_a_suspend(connect: Connect, fake_time: Any) -> None:
    """The machine slept while a write waited for its place: no timer of the loop rang, and yet it is too late to send it."""
    fake_time.flows, asleep = False, [0.0]
    script = Script(OK, OK)
    client = connect(script, Limiter(burst=1, clock=lambda: fake_time.clock() + sum(asleep), sleep=fake_time.sleep))
    await client.call("profile", {})
    waiting = asyncio.ensure_future(client.call("crm.deal.add", {}, send_within=5))
    await fake_time.settle()
    asleep.append(3600.0)
    await fake_time.advance(1)
    with pytest.raises(NotSent, match="in time"):
        await waiting

    assert len(script.requests) == 1
