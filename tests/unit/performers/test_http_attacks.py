"""Attacks on http effects over a real wire: names that resolve to odd places, and values that try to change the request they stand in."""

import asyncio
import ipaddress
import socket
import ssl
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchestrator.gate.call.kinds.base import KindRequest
from orchestrator.gate.call.kinds.http import HTTP
from orchestrator.gate.call.params import Refusal
from orchestrator.gate.call.ports import Rejected, Succeeded
from orchestrator.performers.http import HttpPerformer, resolve_host
from sandbox.model.authority import make_certificates
from tests.http_kit import Server, a_server, reply
from tests.unit.performers.test_http import a_call, a_performer

BEYOND_EVERY_POLICY = {
    "metadata behind a private address": ("10.0.0.1", "169.254.169.254"),
    "metadata before a private address": ("169.254.170.2", "10.0.0.1"),
    "keys of pods": ("fd00:ec2::23",),
    "keys of pods behind a private address": ("fd12::1", "fd00:ec2::254"),
    "time of a cloud": ("fd00:ec2::123",),
    "metadata of another cloud": ("fd20:ce::254",),
    "a cloud inside of a carrier's network": ("100.100.100.200",),
    "a service inside of a cloud": ("168.63.129.16", "127.0.0.1"),
    "this machine as a mapped address": ("127.0.0.1", "::ffff:127.0.0.1"),
    "this machine as a translated address": ("::ffff:0:127.0.0.1",),
    "this machine as a compatible address": ("::127.0.0.1",),
    "this machine through NAT64": ("64:ff9b::7f00:1",),
    "metadata through a local NAT64": ("64:ff9b:1::a9fe:a9fe",),
    "a private address through 6to4": ("2002:a00:1::1",),
    "a private address through Teredo": ("2001:0:a00:1::1",),
    "link-local": ("fe80::1", "10.0.0.1"),
    "no address at all": ("0.0.0.0", "::"),  # noqa: S104 - refused
    "everybody": ("255.255.255.255",),
    "a group": ("ff02::1",),
    "the future": ("240.0.0.1", "127.0.0.1"),
}


@pytest.mark.parametrize("addresses", BEYOND_EVERY_POLICY.values(), ids=BEYOND_EVERY_POLICY)
async def test_a_name_with_one_address_beyond_every_policy_is_not_connected_to(addresses: tuple[str, ...]) -> None:
    """Although the policy lets the host lie in a private network, and whatever other addresses it has."""
    async with a_server(reply()) as server:
        performer = a_performer(*addresses)
        result = await performer.execute(a_call("post", f"http://erp.local:{server.port}/x", text="x"))
        await performer.aclose()
    assert isinstance(result, Rejected)
    assert (result.code, result.sent, server.received) == ("http-not-sent", False, [])
    assert "no policy" in result.detail


@pytest.mark.parametrize(
    "addresses",
    [
        ("8.8.8.8", "::1"),
        ("2606:4700::1111", "192.168.0.1"),
        ("1.1.1.1", "64:ff9b::808:808"),
        ("8.8.8.8", "2002:808:808::1"),
        ("100.64.0.1",),
    ],
)
async def test_a_public_address_does_not_hide_one_that_is_not(addresses: tuple[str, ...]) -> None:
    """The policy does not open private networks to this host: an answer that mixes both is refused as a whole."""
    performer = a_performer(*addresses, private=False)
    result = await performer.execute(a_call("get", "https://api.example.com/"))
    await performer.aclose()
    assert isinstance(result, Rejected)
    assert (result.code, result.sent) == ("http-not-sent", False)


@pytest.mark.parametrize("error", [socket.gaierror(-2, "no such name"), UnicodeError("label too long"), OSError("no file for a socket")])
async def test_a_name_that_cannot_be_resolved_is_a_refusal(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Nothing was sent; a resolver that raises does not leave the outcome in doubt."""
    performer = a_performer()

    async def fail(_host: str, _port: int) -> list[Any]:
        raise error

    monkeypatch.setattr(performer, "_resolve", fail)
    result = await performer.execute(a_call("post", "https://api.example.com/", text="x"))
    await performer.aclose()
    assert isinstance(result, Rejected)
    assert (result.code, result.sent) == ("http-not-sent", False)


async def test_a_name_server_that_never_answers_is_waited_for_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing was sent."""
    performer = a_performer(seconds=0.05)

    async def hang(_host: str, _port: int) -> list[Any]:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(performer, "_resolve", hang)
    result = await performer.execute(a_call("post", "https://api.example.com/", text="x"))
    await performer.aclose()
    assert isinstance(result, Rejected)
    assert not result.sent


async def test_the_zone_of_an_address_is_no_way_around_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """fe80::1%eth0 is fe80::1."""

    async def answer(*_args: object, **_named: object) -> list[Any]:
        return [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("fe80::1%eth0", 443, 0, 2))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", answer)
    assert await resolve_host("api.example.com", 443) == [ipaddress.ip_address("fe80::1")]


@pytest.mark.parametrize(("host", "is_answered"), [("localhost", True), ("api.example.com", False)])
async def test_a_certificate_must_be_that_of_the_name_and_not_of_the_address(tmp_path: Path, host: str, is_answered: bool) -> None:  # noqa: FBT001
    """The connection goes to an address, for which the certificate here is good; who stands there must still prove the name."""
    made = make_certificates(tmp_path, "127.0.0.1")
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(made.server, made.key)
    trusting = ssl.create_default_context(cafile=str(made.authority))
    server = Server(reply())
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=serving)
    port = listening.sockets[0].getsockname()[1]

    async def resolve(_host: str, _port: int) -> list[Any]:
        return [ipaddress.ip_address("127.0.0.1")]

    transport = httpx.AsyncHTTPTransport(verify=trusting)
    performer = HttpPerformer(credentials={}, may_be_private=lambda _: True, resolve=resolve, transport=transport)
    async with listening:
        result = await performer.execute(a_call("post", f"https://{host}:{port}/x", text="x"))
        await performer.aclose()
    assert isinstance(result, Succeeded if is_answered else Rejected)
    assert len(server.received) == int(is_answered)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("//evil.com/x", b"GET //evil.com/x HTTP/1.1"),
        ("/http://evil.com/", b"GET /http://evil.com/ HTTP/1.1"),
        ("/a:b@c/", b"GET /a:b@c/ HTTP/1.1"),
        ("/*", b"GET /* HTTP/1.1"),
        ("?@evil.com", b"GET /?@evil.com HTTP/1.1"),
        ("/x?y=%0d%0aX-Admin:%201", b"GET /x?y=%0d%0aX-Admin:%201 HTTP/1.1"),
        ("/group%2Fproject", b"GET /group%2Fproject HTTP/1.1"),
    ],
)
async def test_a_path_is_sent_as_it_is_written_and_to_the_listed_host(path: str, line: bytes) -> None:
    """What looks like another address in it is a path all the same: the request line has the form of a path, the host is the one listed."""
    async with a_server(reply()) as server:
        performer = a_performer()
        params = normalize("get", url=f"http://api.example.com:{server.port}{path}")
        result = await performer.execute(a_call("get", **params))
        await performer.aclose()
    assert isinstance(result, Succeeded)
    head = server.received[0].split(b"\r\n")
    assert head[0] == line
    assert [one for one in head if one.lower().startswith(b"host:")] == [f"Host: api.example.com:{server.port}".encode()]
    assert not [one for one in head if one.lower().startswith(b"x-admin")]


async def test_no_value_of_an_effect_becomes_a_header_or_a_second_request() -> None:
    """Line ends stay inside of the value in which they stand."""
    evil = "1\r\nX-Admin: 1\r\n\r\nGET /admin HTTP/1.1\r\nHost: x\r\n\r\n"
    async with a_server(reply()) as server:
        performer = a_performer()
        url = f"http://api.example.com:{server.port}/x"
        params = normalize("post", url=url, query={evil: evil, "list": [evil, 1]}, json={evil: evil}, ORIGIN_ID=evil)
        assert isinstance(await performer.execute(a_call("post", **params)), Succeeded)
        text = normalize("post", url=url, text=evil)
        assert isinstance(await performer.execute(a_call("post", **text)), Succeeded)
        await performer.aclose()
    for request in server.received:
        head, _, _ = request.partition(b"\r\n\r\n")
        names = [line.partition(b":")[0].lower() for line in head.split(b"\r\n")[1:]]
        assert len(names) == len(set(names))
        assert b"x-admin" not in names
        assert b"\r\nidempotency-key: effect-1\r\n" in head.lower()
    assert len(server.received) == 2


@pytest.mark.parametrize(
    "headers",
    [
        {"Accept": "x\r\nX-Admin: 1"},
        {"Accept": "x\nX: 1"},
        {"Accept": "x\x00"},
        {"Accept": "xя"},
        {"Accept": "x" * 501},
        {"Accept\r\nX-Admin": "1"},
        {"Accept:": "1"},
        {"Accept ": "1"},
        {"Host": "evil.com"},
        {"hOST": "evil.com"},
        {"Transfer-Encoding": "chunked"},
        {"Content-Length": "0"},
        {"Content-Type": "text/html"},
        {"Connection": "upgrade"},
        {"Upgrade": "h2c"},
        {"Cookie": "a=b"},
        {"Authorization": "Bearer x"},
        {"Proxy-Authorization": "x"},
        {"X-Forwarded-For": "127.0.0.1"},
        {"X-HTTP-Method-Override": "DELETE"},
        {"Idempotency-Key": "x"},
        {"Forwarded": "for=127.0.0.1"},
        {"Metadata-Flavor": "Google"},
        {"X-aws-ec2-metadata-token": "x"},
        {"": "x"},
    ],
    ids=str,
)
def test_a_definition_sets_no_header_that_says_who_calls_where_or_how_long(headers: dict[str, str]) -> None:
    """Only the few that ask for a form of the answer, each a line of plain signs."""
    with pytest.raises(Refusal):
        normalize("get", url="https://api.example.com/", headers=headers)


@pytest.mark.parametrize(
    "params",
    [
        {"query": {"a": {"b": 1}}},
        {"query": {"a": [[1]]}},
        {"query": {"a": "\ud800"}},
        {"query": {"a": float("inf")}},
        {"query": {"a": float("nan")}},
        {"query": [["a", "b"]]},
        {"json": "\ud800"},
        {"json": {"a": float("nan")}},
        {"json": 2**70},
        {"text": "\udc00"},
        {"json": {"a": 1}, "text": "x"},
        {"credential": "../erp"},
        {"credential": "erp\r\nX: 1"},
        {"method": "DELETE"},
        {"proxy": "http://evil.com"},
        {"verify": False},
        {"follow_redirects": True},
        {"timeout": 1e9},
        {"cookies": {}},
        {"auth": ["a", "b"]},
    ],
    ids=str,
)
def test_nothing_but_the_named_parameters_in_their_forms_is_taken(params: dict[str, Any]) -> None:
    """Options of the client are no parameters, and what no request can carry is refused before any card."""
    with pytest.raises(Refusal):
        normalize("post", url="https://api.example.com/", **params)


def normalize(name: str, **params: Any) -> dict[str, Any]:
    """The parameters as the gate hands them on."""
    method = HTTP.methods[f"http.{name}"]
    return HTTP.normalize(KindRequest(method=method, effect_id="effect-1", person="tg:1"), params)
