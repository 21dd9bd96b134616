"""Sockets of open pages: whose they are, and from which page they may come."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bot.console.app import ROOT
from bot.console.login import COOKIE
from tests.unit.bot.console.console_kit import ANNA, OLGA, PUBLIC, ConsoleWorld, a_console


async def _connect(made: ConsoleWorld, page_id: str, *, cookie: str, origin: str) -> dict[str, Any]:
    """Ask for the socket of a page, and return the first answer."""
    headers = [
        (b"host", b"console.test"),
        (b"upgrade", b"websocket"),
        (b"connection", b"Upgrade"),
        (b"origin", origin.encode()),
        (b"cookie", f"{COOKIE}={cookie}".encode()),
    ]
    path = f"{ROOT}/_nicegui_ws/socket.io/"
    scope = {
        "type": "websocket",
        "path": path,
        "root_path": ROOT,
        "raw_path": path.encode(),
        "headers": headers,
        "query_string": f"EIO=4&transport=websocket&client_id={page_id}&implicit_handshake=false".encode(),
        "scheme": "ws",
        "server": ("console.test", 80),
        "client": ("127.0.0.1", 5),
        "subprotocols": [],
        "state": {},
    }
    sent: list[dict[str, Any]] = []
    answered = asyncio.Event()
    told = [{"type": "websocket.connect"}]

    async def receive() -> dict[str, Any]:
        if told:
            return told.pop()
        await answered.wait()
        return {"type": "websocket.disconnect", "code": 1000}

    async def send(message: Any) -> None:
        sent.append(dict(message))
        answered.set()

    await asyncio.wait_for(made.console(scope, receive, send), 10)
    return sent[0]


@pytest.mark.req("C-9")
async def test_a_page_of_this_host_gets_its_socket(tmp_path: Path) -> None:
    """The browser that opened the page may connect."""
    async with a_console(tmp_path) as made:
        page = await made.open("/", OLGA)

        answer = await _connect(made, page.visit.page.id, cookie=made.cookies[1001], origin=PUBLIC)

        assert answer["type"] == "websocket.accept"


@pytest.mark.req("C-9", "C-41")
@pytest.mark.parametrize(("whose", "origin"), [("own", "http://evil.test"), ("own", ""), ("other", PUBLIC), ("none", PUBLIC)])
async def test_other_sockets_are_refused(tmp_path: Path, whose: str, origin: str) -> None:
    """A socket from another site, of another login, or without one is closed before it is accepted."""
    async with a_console(tmp_path) as made:
        page = await made.open("/", OLGA)
        cookie = {"own": made.cookies[1001], "other": await made.log_in(ANNA), "none": "x"}[whose]

        answer = await _connect(made, page.visit.page.id, cookie=cookie, origin=origin)

        assert answer == {"type": "websocket.close", "code": 4403}
