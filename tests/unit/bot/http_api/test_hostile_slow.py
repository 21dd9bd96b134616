"""Callers who are slow on purpose, or many: each has an end, and there is room for those who speak."""

import asyncio
import resource
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from bot.http_api.server import app, serving
from tests.unit.bot.http_api.hostile_kit import Site, Wire, a_site, request
from tests.unit.spine_kit import until

pytestmark = pytest.mark.req("S004-66", "S004-X10")

SOON = 1.0
MOST = 20


@pytest.fixture
async def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    """A door of little patience, with room for twenty."""
    monkeypatch.setattr(serving, "HEAD_WITHIN", SOON)
    monkeypatch.setattr(serving, "REST_WITHIN", SOON)
    monkeypatch.setattr(app, "READ_WITHIN", SOON)
    monkeypatch.setattr(serving, "_UNREAD_MS", 1000)
    monkeypatch.setattr(serving, "calculate_max_connections", lambda _: MOST)
    async with a_site(tmp_path) as made:
        yield made


async def test_a_request_that_is_begun_and_not_gone_on_with_is_ended(site: Site) -> None:
    """Nothing at all, half a head, a head byte by byte, half of the second one; a body that does not come is 408."""
    async with site.wire() as nothing, site.wire() as half, site.wire() as second, site.wire() as drops, site.wire() as slow:
        half.send(b"GET /audit HTTP/1.1\r\nHost:")
        second.send(request("GET", "/healthz"))
        assert (await second.answer()).status == 200
        second.send(b"GET /audit HTTP/1.1\r\n")
        slow.send(request("POST", "/freeze", b"{", Content_Length=100))
        dropping = asyncio.ensure_future(_drip(drops, b"GET /audit HTTP/1.1\r\nX-Long: " + b"x" * 1000))
        assert [await wire.ended() for wire in (nothing, half, second, drops)] == [b""] * 4
        assert (await slow.answer()).code == "too_slow"
        dropping.cancel()


async def test_a_body_that_goes_on_after_its_answer_is_cut_off(site: Site) -> None:
    """A byte now and then would keep the connection for ever; the answer is heard before."""
    async with site.wire() as wire:
        wire.send(request("GET", "/healthz", None, Content_Length=10**6))
        dropping = asyncio.ensure_future(_drip(wire, b"x" * 1000))
        assert (await wire.answer()).status == 200
        assert await wire.ended() == b""
        dropping.cancel()
    async with site.wire() as wire:
        body = b"y" * 50_000
        wire.send(request("GET", "/healthz", None, Content_Length=len(body)), body)
        assert (await wire.answer()).status == 200
        wire.send(request("GET", "/healthz"))
        assert (await wire.answer()).status == 200


async def test_where_there_are_too_many_the_silent_ones_go(site: Site) -> None:
    """A hundred that say nothing: who speaks is answered, and who is being answered stays."""
    async with AsyncExitStack() as stack:
        held = await stack.enter_async_context(site.wire())
        held.send(request("GET", "/held"))
        await asyncio.sleep(0)
        silent = [await stack.enter_async_context(site.wire()) for _ in range(100)]
        assert (await site.told(request("GET", "/healthz"))).status == 200
        assert [await wire.ended() for wire in silent[:70]] == [b""] * 70
        site.app.state.go.set()
        assert (await held.answer()).status == 200


async def test_where_all_are_being_answered_one_more_is_told_so(site: Site) -> None:
    """503 in the form of all refusals; afterwards there is room again."""
    async with AsyncExitStack() as stack:
        busy = [await stack.enter_async_context(site.wire()) for _ in range(MOST)]
        for wire in busy:
            wire.send(request("GET", "/held"))
        await until(lambda: site.app.state.waiting == MOST)
        async with site.wire() as one_more:
            assert (await one_more.answer()).code == "unavailable"
        site.app.state.go.set()
        assert [(await wire.answer()).status for wire in busy] == [200] * MOST
    assert (await site.told(request("GET", "/healthz"))).status == 200


@pytest.mark.long
async def test_who_takes_nothing_of_the_answers_is_let_go(site: Site) -> None:
    """Thousands of requests for the largest page there is, and not a byte of it read: the connection ends."""
    if not hasattr(socket, "TCP_USER_TIMEOUT"):
        pytest.skip("this system has no TCP_USER_TIMEOUT")
    with socket.socket() as greedy:
        greedy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        greedy.setblocking(False)
        await asyncio.get_running_loop().sock_connect(greedy, ("127.0.0.1", site.port))
        with pytest.raises(ConnectionError):
            await asyncio.wait_for(_ask_on(greedy), 20)


@pytest.mark.parametrize(("files", "most"), [(256, 128), (1024, 768), (4096, 2000), (resource.RLIM_INFINITY, 2000)])
def test_files_are_left_for_the_rest_of_the_program(files: int, most: int) -> None:
    """However few there are."""
    assert serving.calculate_max_connections(files) == most


async def _drip(wire: Wire, what: bytes) -> None:
    """A byte now and then."""
    for sign in what:
        wire.send(bytes([sign]))
        await asyncio.sleep(SOON / 10)


async def _ask_on(greedy: socket.socket) -> None:
    """Ask without end."""
    while True:
        await asyncio.get_running_loop().sock_sendall(greedy, request("GET", "/openapi.json") * 100)
