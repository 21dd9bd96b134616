"""Limits of the API: wrong tokens lock an address out, requests are counted, proxies are believed only when they are ours (X10)."""

import random
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


STRONG = "9f2c41d07ab3e85561c0ffee7d3492be18a6f05c3b7d9e24"


@pytest.mark.req("S004-X10", "S004-63")
def test_a_token_that_nobody_can_guess_is_never_locked_out_by_others() -> None:
    """Behind a proxy all callers have one address: their wrong tokens and their crowd do not keep out the right one, which has a rate."""
    watch = Watch()
    who = Authenticator(Tokens(read_tokens(SecretStr(f"site={STRONG},weak={SITE}"), "full")), clock=watch, per_minute=6)
    assert [status(who, f"wrong-{number}", request())[0] for number in range(8)] == [401] * 5 + [429] * 3
    assert [status(who, STRONG, request())[0] for _ in range(7)] == [200] * 6 + [429]
    assert [status(who, token, request())[0] for token in (SITE, STRONG[:-1], STRONG.upper(), "")] == [429] * 4
    watch.at += 10
    assert status(who, STRONG, request()) == (200, "")


@pytest.mark.req("S004-X10")
@pytest.mark.parametrize(
    ("token", "guessable"),
    [
        (STRONG, False),
        ("bXl-8tq2Zk_vR3xW0sLd5A", False),
        ("1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed", False),
        ("0123456789abcdef0123456789abcdef0123456789abcdef", True),
        ("a1b2a1b2a1b2a1b2a1b2a1b2a1b2a1b2a1b2a1b2", True),
        ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", True),
        ("company-bitrix-sdelka-token-of-the-site", True),
        ("k7Q2m9ZsW4xB8vTa", False),
        ("sitetoken1234567", True),
    ],
)
def test_which_tokens_need_the_lock_out(token: str, *, guessable: bool) -> None:
    """Long and random ones do not; words, runs and repetitions do, however long."""
    assert read_tokens(SecretStr(f"site={token}"), "full")[0].is_guessable == guessable


def test_random_tokens_are_taken_for_such() -> None:
    """Of those that the documents tell to make hardly any keeps the lock-out."""
    generator = random.Random(16)  # noqa: S311 - the same tokens in each run
    made = [f"site={generator.randbytes(24).hex()}" for _ in range(500)]
    assert sum(read_tokens(SecretStr(entry), "full")[0].is_guessable for entry in made) <= 2


def test_a_proxy_that_nobody_named_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """The header shows that it is there; where proxies are named, nothing is said."""
    who, behind = identity(Watch()), identity(Watch(), proxies=parse_networks("10.0.0.0/8"))
    for _ in range(3):
        status(who, SITE, request(forwarded="9.9.9.9"))
        status(behind, SITE, request(forwarded="9.9.9.9"))
    assert [record.action for record in caplog.records] == ["api_unknown_proxy"]


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
