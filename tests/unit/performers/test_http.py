"""The performer of http effects over a real wire: where it connects, what it sends, and what is known after each way to go wrong."""

import asyncio
import gzip
import ipaddress
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import SecretStr

from bitrix.catalogue.catalogue import Method
from orchestrator.domain.http_address import HttpCredential, IpAddress, Site
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.ports import Rejected, Succeeded, Unknown
from orchestrator.performers.http import MAX_ANSWER, HttpPerformer
from tests.http_kit import Answer, a_server, reply


def a_performer(*addresses: str, private: bool = True, seconds: float = 5.0, **credentials: HttpCredential) -> HttpPerformer:
    """A performer to which every name has these addresses."""

    async def resolve(_host: str, _port: int) -> Sequence[IpAddress]:
        return [ipaddress.ip_address(one) for one in addresses or ("127.0.0.1",)]

    def may_be_private(_site: Site) -> bool:
        return private

    return HttpPerformer(credentials=credentials, may_be_private=may_be_private, resolve=resolve, total_seconds=seconds)


def a_call(method: str, url: str, **params: Any) -> Call:
    """A call that the gate has allowed."""
    letter = "R" if method == "get" else "N"
    spec = Method(name=f"http.{method}", classes=(letter,), verb="action", idempotent=letter == "R")
    return Call(kind="http", method=spec.name, params={"url": url, **params}, spec=spec, classes=spec.classes, portal="")


async def do(answer: Answer, method: str = "post", path: str = "/x", performer: HttpPerformer | None = None, **params: Any) -> Any:
    """The result of one call, and what the host received."""
    async with a_server(answer) as server:
        used = performer or a_performer()
        try:
            result = await used.execute(a_call(method, f"http://api.example.com:{server.port}{path}", **params))
        finally:
            await used.aclose()
        return result, server.received


async def test_a_read_gives_what_the_host_answers() -> None:
    """JSON as data; the host is named, the address is the one that was resolved."""
    result, received = await do(reply('{"имя": [1, null]}'.encode()), "get", "/a?b=1", query={"q": "Ромашка & Ко", "n": [1, True]})
    assert result == Succeeded(result={"status": 200, "body": {"имя": [1, None]}}, foreign_text=True)
    head = received[0].decode()
    assert head.startswith("GET /a?b=1&q=%D0%A0%D0%BE%D0%BC%D0%B0%D1%88%D0%BA%D0%B0+%26+%D0%9A%D0%BE&n=1&n=true HTTP/1.1")
    assert "host: api.example.com:" in head.lower()


async def test_a_write_carries_its_body_and_a_key_against_repetition() -> None:
    """The key is that of the effect, so that the other side can tell a repetition."""
    result, received = await do(reply(b"", "204 No Content"), "post", json={"sum": 150000, "имя": "Ромашка"}, ORIGIN_ID="effect-1")
    assert isinstance(result, Succeeded)
    head, _, body = received[0].partition(b"\r\n\r\n")
    assert b"idempotency-key: effect-1" in head.lower()
    assert body == '{"sum": 150000, "имя": "Ромашка"}'.encode()


async def test_a_secret_goes_only_to_its_own_host() -> None:
    """It stands in the settings; an effect names it."""
    async with a_server(reply()) as server:
        mine = HttpCredential(host=f"http://api.example.com:{server.port}", value=SecretStr("Bearer s3cret"))
        other = HttpCredential(host="api.example.com", value=SecretStr("Bearer other"))
        performer = a_performer(mine=mine, other=other)
        url = f"http://api.example.com:{server.port}/"
        done = await performer.execute(a_call("get", url, credential="mine"))
        refused = [await performer.execute(a_call("get", url, credential=name)) for name in ("other", "unknown")]
        await performer.aclose()

    assert isinstance(done, Succeeded)
    assert b"authorization: bearer s3cret" in server.received[0].lower()
    assert [(one.code, one.sent) for one in refused if isinstance(one, Rejected)] == [("http-not-sent", False)] * 2
    assert len(server.received) == 1


@pytest.mark.parametrize(
    "addresses", [("127.0.0.1",), ("8.8.8.8", "127.0.0.1"), ("169.254.169.254",), ("::ffff:127.0.0.1",), ("10.0.0.1",), ()]
)
async def test_a_host_in_a_private_network_is_not_connected_to(addresses: tuple[str, ...]) -> None:
    """Whatever its name; one private address among public ones is enough."""
    performer = a_performer(*addresses, private=False)
    result, received = await do(reply(), "get", performer=performer)
    assert isinstance(result, Rejected)
    assert (result.code, result.sent, received) == ("http-not-sent", False, [])


@pytest.mark.parametrize("address", ["169.254.169.254", "fd00:ec2::254", "0.0.0.0", "224.0.0.1", "::ffff:10.0.0.1"])  # noqa: S104 - refused
async def test_the_keys_of_clouds_and_the_like_are_opened_by_no_policy(address: str) -> None:
    """A private network may be opened, not whatever else is no public address."""
    result, received = await do(reply(), "get", performer=a_performer(address))
    assert isinstance(result, Rejected)
    assert "no policy" in result.detail
    assert received == []


async def test_a_literal_private_address_is_not_connected_to() -> None:
    """The policy's list alone does not open a private network."""
    async with a_server(reply()) as server:
        performer = a_performer(private=False)
        result = await performer.execute(a_call("get", f"http://127.0.0.1:{server.port}/"))
        await performer.aclose()
    assert isinstance(result, Rejected)
    assert server.received == []


async def test_a_name_is_resolved_once() -> None:
    """A second answer of the name server, with another address, is never asked for."""
    asked = []

    async def resolve(host: str, _port: int) -> Sequence[IpAddress]:
        asked.append(host)
        return [ipaddress.ip_address("127.0.0.1" if len(asked) == 1 else "10.0.0.1")]

    performer = HttpPerformer(credentials={}, may_be_private=lambda _: True, resolve=resolve)
    result, _ = await do(reply(), "get", performer=performer)

    assert isinstance(result, Succeeded)
    assert asked == ["api.example.com"]


@pytest.mark.parametrize(
    ("status", "read", "write"),
    [
        ("200 OK", Succeeded, Succeeded),
        ("303 See Other", Succeeded, Succeeded),
        ("301 Moved", Rejected, Unknown),
        ("302 Found", Rejected, Unknown),
        ("307 Temporary Redirect", Rejected, Rejected),
        ("400 Bad Request", Rejected, Rejected),
        ("408 Request Timeout", Rejected, Unknown),
        ("429 Too Many Requests", Rejected, Rejected),
        ("500 Internal Server Error", Rejected, Unknown),
        ("503 Service Unavailable", Rejected, Unknown),
    ],
)
async def test_a_status_says_whether_a_write_happened(status: str, read: type, write: type) -> None:
    """Redirects are never followed; what is not certain is unknown."""
    answer = reply(b"{}", status, Location="http://127.0.0.1:1/secret")
    assert type((await do(answer, "get"))[0]) is read
    assert type((await do(answer, "post", text="x"))[0]) is write


async def hang(_request: bytes, _writer: asyncio.StreamWriter) -> None:
    """Never answer."""
    await asyncio.sleep(60)


async def drip(_request: bytes, writer: asyncio.StreamWriter) -> None:
    """Answer for ever, slowly."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.01)


async def flood(_request: bytes, writer: asyncio.StreamWriter) -> None:
    """Answer without end, quickly."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        writer.write(b"x" * 100_000)
        await writer.drain()


async def cut(_request: bytes, writer: asyncio.StreamWriter) -> None:
    """Hang up before answering."""
    writer.close()


async def talk_nonsense(_request: bytes, writer: asyncio.StreamWriter) -> None:
    """Answer in no known language."""
    writer.write(b"\x16\x03\x01 not http\r\n\r\n")
    await writer.drain()


@pytest.mark.parametrize("answer", [hang, cut, talk_nonsense])
async def test_a_lost_answer_of_a_write_is_an_unknown_outcome(answer: Answer) -> None:
    """It is never said that nothing happened, and nothing is sent again."""
    result, received = await do(answer, "post", performer=a_performer(seconds=0.2), text="x")
    assert isinstance(result, Unknown)
    assert len(received) == 1


@pytest.mark.parametrize("answer", [hang, drip, cut, talk_nonsense, flood])
async def test_a_read_that_fails_is_a_refusal(answer: Answer) -> None:
    """Bounded in time and memory."""
    result, _ = await do(answer, "get", performer=a_performer(seconds=0.2))
    assert isinstance(result, Rejected)


@pytest.mark.parametrize(
    "answer",
    [
        reply(b"x" * (MAX_ANSWER + 1), Content_Type="text/plain"),
        reply(gzip.compress(b"x" * 10_000_000), Content_Encoding="gzip", Content_Type="text/plain"),
        reply(b"{", Content_Type="application/json"),
        reply(b'{"a": 1e999}'),
        reply(b"[" * 100_000),
        reply(b"\xff\xfe", Content_Type="text/plain"),
        flood,
    ],
    ids=["long", "bomb", "broken", "infinite", "deep", "binary", "endless"],
)
async def test_an_answer_that_cannot_be_read_fails_a_read_and_not_a_write(answer: Answer) -> None:
    """The write has happened: it is told so, with the remark that the answer could not be read."""
    assert isinstance((await do(answer, "get"))[0], Rejected)
    result, _ = await do(answer, "post", text="x")
    assert isinstance(result, Succeeded)
    assert "could not be read" in result.note


async def test_nobody_there_means_that_nothing_was_sent() -> None:
    """No connection, no outcome to doubt."""
    performer = a_performer()
    async with a_server(reply()) as server:
        port = server.port
    result = await performer.execute(a_call("post", f"http://api.example.com:{port}/", text="x"))
    await performer.aclose()
    assert isinstance(result, Rejected)
    assert (result.code, result.sent) == ("http-not-reached", False)


async def test_whether_a_lost_request_arrived_stays_unclear() -> None:
    """There is no general way to ask another host."""
    performer = a_performer()
    found = await performer.reconcile(a_call("post", "https://api.example.com/x"), {})
    await performer.aclose()
    assert found.verdict == "unclear"


@pytest.mark.parametrize("method", ["get", "post"])
async def test_a_request_that_cannot_be_built_was_not_sent(method: str) -> None:
    """A write that never left has a known outcome."""
    result, received = await do(reply(), method, query={"q": "x" * 70_000})
    assert isinstance(result, Rejected)
    assert not result.sent
    assert not received


@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        ('{"error": "нет товара"}'.encode(), "http-refused", "нет товара"),
        ('{"error": {"code": 7, "message": "нет товара"}}'.encode(), "http-refused", "нет товара"),
        (b'{"errors": ["a", "b"]}', "http-refused", '{"errors": ["a", "b"]}'),
        (b"<html>no</html>", "http-refused", "<html>no</html>"),
        (b'{"message": "' + b"x" * 5000 + b'"}', "http-refused", '{"message": "' + "x" * 287),
        (b"[" * 5000, "http-refused", "[" * 300),
        (b"\xff\x00", "http-refused", "��"),
        (b"", "http-refused-silent", None),
    ],
    ids=["error", "nested", "list", "page", "long", "deep", "binary", "empty"],
)
async def test_a_refusal_is_told_with_its_status_and_the_sentence_of_the_site(body: bytes, code: str, text: str | None) -> None:
    """The person reads what the site says, not its JSON and not the words of this program."""
    result, _ = await do(reply(body, "422 Unprocessable Entity"), "post", text="x")
    assert isinstance(result, Rejected)
    assert (result.code, dict(result.args)) == (code, {"status": 422, **({"text": text} if text is not None else {})})
    assert result.foreign_text is (text is not None)
