"""Thousands of callers who mean no good at the HTTP door of a bot with few open files: in Telegram it goes on answering, and its log says nothing."""

import asyncio
import re
import resource
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from typing import Self

import httpx
import pytest

from tests.e2e.e2e_kit import World
from tests.e2e.e2e_people import Person, until

pytestmark = [pytest.mark.long, pytest.mark.req("S004-66", "S004-X10")]

SITE = "site-0123456789abcdef"
FILES = 1024
IDLE = 2000
LATER = 6.0
"""Seconds; where connections may take all files, a turn takes 15 and more."""
SECRET_TEXT = "Синхрофазотрон"
_TROUBLE = re.compile(r"out of system resource|Too many open files|Traceback|Errno 24|Invalid HTTP", re.IGNORECASE)


@contextmanager
def few_files(number: int) -> Iterator[None]:
    """What is started in it may open so many files; this process as many as it needs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2 * IDLE:
        pytest.skip("this machine does not let one process open as many connections")
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * IDLE), hard))


@asynccontextmanager
async def served(world: World) -> AsyncIterator[httpx.AsyncClient]:
    """The bot as a process of its own, with Telegram and the API, where `ulimit -n` is 1,024."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    told = {"http_port": port, "http_api_tokens": f"site={SITE}:manager:full", "http_trusted_proxies": "127.0.0.1"}
    address = f"http://127.0.0.1:{port}"
    with ExitStack() as limited:
        limited.enter_context(few_files(FILES))
        async with world.process("run", **told) as process, httpx.AsyncClient(base_url=address, trust_env=False, timeout=20) as http:
            limited.close()

            async def lives() -> bool:
                assert process.returncode is None, (world.folder / "bot.log").read_text(encoding="utf-8")
                with suppress(httpx.TransportError):
                    return (await http.get("/healthz")).is_success
                return False

            await until(lives, "the API")
            yield http


class Crowd:
    """Connections that are opened and kept."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._port = int(http.base_url.port or 0)
        self._kept: list[socket.socket] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.gone()

    def come(self, sent: bytes = b"") -> None:
        """One more, which says this and no more."""
        made = socket.socket()
        made.setblocking(False)
        with suppress(BlockingIOError):
            made.connect(("127.0.0.1", self._port))
        self._kept.append(made)
        if sent:
            made.setblocking(True)
            with suppress(OSError):  # the other side may have had enough of us
                made.sendall(sent)

    async def many(self, number: int, sent: bytes = b"") -> None:
        """So many, as fast as it goes."""
        for done in range(number):
            self.come(sent)
            if done % 100 == 0:
                await asyncio.sleep(0)

    def gone(self) -> None:
        """All of them hang up."""
        for made in self._kept:
            made.close()
        self._kept.clear()


async def _turn(person: Person) -> float:
    """How long somebody in Telegram waits for an answer, in seconds."""
    began = time.monotonic()
    assert (await person.ask("/mode"))[0].text
    return time.monotonic() - began


async def test_the_bot_answers_in_telegram_whatever_comes_over_http(world: World) -> None:
    """2,000 idle connections with 1,024 files, half requests, slow bodies, streams that are left, 4,000 wrong tokens: a card is approved.

    A right token is heard too, and neither a token, nor a text, nor a line that a caller can repeat stands in the log.
    """
    async with served(world) as http, Crowd(http) as crowd:
        usual = await _turn(world.boris)
        await crowd.many(IDLE)
        assert await _turn(world.boris) < usual + LATER
        await crowd.many(300, b"POST /chat HTTP/1.1\r\nHost: x\r\nX-API-Key: " + SITE.encode())
        await crowd.many(100, b"POST /chat HTTP/1.1\r\nHost: x\r\nX-API-Key: " + SITE.encode() + b"\r\nContent-Length: 100\r\n\r\n{")
        await crowd.many(200, b"\x16\x03\x01\x02\x00 this is no HTTP\r\n\r\n")
        streamed = b'{"user_id": "left", "message": "/mode"}'
        head = b"POST /chat HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nX-API-Key: %s\r\nContent-Length: %d\r\n\r\n"
        await crowd.many(50, head % (SITE.encode(), len(streamed)) + streamed)
        seen = await world.boris.answered(await world.boris.say("подними сумму сделки Ромашка до 150 000"))
        card = next(message for message in seen if message.is_card)
        await world.boris.decide(card, "Выполнить")
        await world.boris.sees(card.number, "Выполнено")
        flooding = [asyncio.ensure_future(_flood(http, number)) for number in range(40)]
        assert await _turn(world.boris) < usual + LATER
        assert set().union(*await asyncio.gather(*flooding)) == {b"401", b"429"}
        right = await _said(http, SECRET_TEXT)
        assert (right.status_code, right.json()["state"]) == (200, "answered"), right.text
        in_query = await http.get("/audit", params={"X-API-Key": SITE, "api_key": SITE, "token": SITE}, headers=_from("8.8.8.8"))
        assert in_query.status_code == 401
        crowd.gone()
        assert await _turn(world.boris) < usual + LATER
        log = (world.folder / "bot.log").read_text(encoding="utf-8")
    assert _TROUBLE.findall(log) == []
    for secret in (SITE, "wrong-0", SECRET_TEXT):
        assert secret not in log
    assert len(log.splitlines()) < 400, log[-3000:]


async def _flood(http: httpx.AsyncClient, place: int) -> set[bytes]:
    """A hundred wrong tokens in one piece, from one address and from a hundred; the statuses of the answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(http.base_url.port or 0))
    for number in range(100):
        address = f"9.9.{place}.{number if place % 2 else 1}"
        writer.write(f"GET /audit HTTP/1.1\r\nHost: x\r\nX-API-Key: wrong-0{number:015}\r\nX-Forwarded-For: {address}\r\n\r\n".encode())
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    said = await reader.read(-1)
    writer.close()
    return set(re.findall(rb"HTTP/1\.1 (4\d\d)", said))


async def _said(http: httpx.AsyncClient, text: str) -> httpx.Response:
    return await http.post("/chat", json={"user_id": "42", "message": text}, headers={"X-API-Key": SITE, **_from("7.7.7.7")})


def _from(address: str) -> dict[str, str]:
    return {"X-Forwarded-For": address}
