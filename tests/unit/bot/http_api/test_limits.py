"""Limits of the API: wrong tokens lock an address out, requests are counted, proxies are believed only when they are ours (X10)."""

from typing import Any

import pytest
from fastapi import Request
from pydantic import SecretStr

from bot.http_api.server.authentication import Authenticator, parse_networks
from bot.http_api.server.errors import ApiError
from bot.http_api.server.limits import MAX_REMEMBERED, Lockout, RequestRate
from bot.http_api.server.tokens import Tokens, read_tokens
from tests.unit.bot.http_api.chat_kit import SITE


class Watch:
    """A clock that is put forward."""

    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


def request(address: str = "10.9.9.9", forwarded: str = "") -> Request:
    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    return Request({"type": "http", "client": (address, 1), "headers": headers})


def identity(watch: Watch, **more: Any) -> Authenticator:
    return Authenticator(Tokens(read_tokens(SecretStr(f"site={SITE}:manager:full"), "full")), clock=watch, **more)


def status(who: Authenticator, presented: str | None, asking: Request) -> tuple[int, str]:
    """200, or the refusal with its Retry-After."""
    try:
        who.check(asking, presented)
    except ApiError as error:
        return error.status, (error.headers or {}).get("Retry-After", "")
    return 200, ""


@pytest.mark.req("S004-X10", "S004-63")
def test_five_wrong_tokens_lock_the_address_out_for_fifteen_minutes() -> None:
    """Even the right token is not heard then, from there; from elsewhere it is; a missing token is no guess."""
    watch = Watch()
    who = identity(watch)
    assert [status(who, None, request())[0] for _ in range(20)] == [401] * 20
    assert [status(who, f"wrong-{number}", request()) for number in range(5)] == [(401, "")] * 5
    assert status(who, SITE, request()) == (429, "900")
    assert status(who, SITE, request("10.1.1.1")) == (200, "")
    watch.at += 899
    assert status(who, SITE, request()) == (429, "1")
    watch.at += 1
    assert status(who, SITE, request()) == (200, "")


@pytest.mark.req("S004-X10")
def test_four_wrong_tokens_in_fifteen_minutes_do_not() -> None:
    watch = Watch()
    who = identity(watch)
    for _ in range(12):
        assert status(who, "wrong", request()) == (401, "")
        watch.at += 226
    assert status(who, SITE, request()) == (200, "")


@pytest.mark.req("S004-X10")
def test_thousands_of_addresses_fill_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """Ten lines a minute say where wrong tokens come from; all of them are locked out."""
    watch = Watch()
    who = identity(watch)
    for number in range(5000):
        status(who, "wrong", request(f"10.1.{number % 1000 >> 8}.{number % 1000 & 255}"))
    assert len(caplog.records) == 10
    assert status(who, SITE, request("10.1.3.231"))[0] == 429
    watch.at += 60
    for _ in range(5):
        status(who, "wrong", request("10.2.2.2"))
    assert caplog.records[-1].address == "10.2.2.2"


@pytest.mark.req("S004-X10")
def test_thousands_of_addresses_fill_no_memory() -> None:
    """Who was seen longest ago is forgotten; a site of IPv6 is one address."""
    watch = Watch()
    lockout, rate = Lockout(watch), RequestRate(10, watch)
    for number in range(3 * MAX_REMEMBERED):
        lockout.record_failure(f"10.0.{number >> 8}.{number & 255}")
        rate.wait(f"a{number}")
    assert len(lockout) <= 2 * MAX_REMEMBERED
    assert len(rate._buckets) <= MAX_REMEMBERED
    who = identity(watch)
    for number in range(5):
        status(who, "wrong", request(f"2001:db8:1:2::{number}"))
    assert status(who, SITE, request("2001:db8:1:2:ffff::1"))[0] == 429
    assert status(who, SITE, request("2001:db8:1:3::1"))[0] == 200
    assert status(who, SITE, request("::ffff:10.0.0.1"))[0] == 200


def test_so_many_requests_a_minute_and_then_429_with_the_time_to_wait() -> None:
    """Of one address as of one token, whoever comes from elsewhere with it."""
    watch = Watch()
    who = identity(watch, per_minute=6)
    assert [status(who, SITE, request(f"10.0.0.{number}"))[0] for number in range(6)] == [200] * 6
    assert status(who, SITE, request("10.0.0.99")) == (429, "10")
    watch.at += 10
    assert status(who, SITE, request("10.0.0.98")) == (200, "")
    assert [status(who, None, request("10.5.5.5"))[0] for _ in range(7)] == [401] * 6 + [429]


def test_only_our_own_proxies_say_whom_they_speak_for() -> None:
    """The nearest address that is no proxy of ours counts: what a caller writes in front of it is worth nothing."""
    plain, behind = identity(Watch()), identity(Watch(), proxies=parse_networks("127.0.0.1, 10.0.0.0/8"))
    told = "6.6.6.6, 9.9.9.9, 10.0.0.7"
    assert plain.find_address(request("127.0.0.1", told)) == "127.0.0.1"
    assert behind.find_address(request("127.0.0.1", told)) == "9.9.9.9"
    assert behind.find_address(request("8.8.8.8", told)) == "8.8.8.8"
    assert behind.find_address(request("127.0.0.1", "garbage")) == "127.0.0.1"
    assert behind.find_address(request("127.0.0.1")) == "127.0.0.1"
