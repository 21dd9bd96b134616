"""Sockets of open pages: whose they are, and from which page they may come."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from nicegui import ui

from bot.console.app import COOKIE, ROOT
from tests.unit.bot.console.console_kit import ANNA, OLGA, PUBLIC, ConsoleWorld, OpenPage


def _build_scope(query: str, cookie: str, origin: str) -> dict[str, Any]:
    headers = [
        (b"host", b"console.test"),
        (b"upgrade", b"websocket"),
        (b"connection", b"Upgrade"),
        (b"origin", origin.encode()),
        (b"cookie", f"{COOKIE}={cookie}".encode()),
    ]
    path = f"{ROOT}/_nicegui_ws/socket.io/"
    return {
        "type": "websocket",
        "path": path,
        "root_path": ROOT,
        "raw_path": path.encode(),
        "headers": headers,
        "query_string": query.encode(),
        "scheme": "ws",
        "server": ("console.test", 80),
        "client": ("127.0.0.1", 5),
        "subprotocols": [],
        "state": {},
    }


async def _connect(made: ConsoleWorld, page_id: str, *, cookie: str, origin: str) -> dict[str, Any]:
    """Ask for the socket of a page, and return the first answer."""
    scope = _build_scope(f"EIO=4&transport=websocket&client_id={page_id}&implicit_handshake=false", cookie, origin)
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
async def test_a_page_of_this_host_gets_its_socket(made: ConsoleWorld) -> None:
    """The browser that opened the page may connect."""
    page = await made.open("/", OLGA)

    answer = await _connect(made, page.visit.page.id, cookie=made.cookies[1001], origin=PUBLIC)

    assert answer["type"] == "websocket.accept"


@pytest.mark.req("C-9", "C-41")
@pytest.mark.parametrize(("whose", "origin"), [("own", "http://evil.test"), ("own", ""), ("other", PUBLIC), ("none", PUBLIC)])
async def test_other_sockets_are_refused(made: ConsoleWorld, whose: str, origin: str) -> None:
    """A socket from another site, of another login, or without one is closed before it is accepted."""
    page = await made.open("/", OLGA)
    cookie = {"own": made.cookies[1001], "other": await made.log_in(ANNA), "none": "x"}[whose]

    answer = await _connect(made, page.visit.page.id, cookie=cookie, origin=origin)

    assert answer == {"type": "websocket.close", "code": 4403}


class _Browser:
    """The socket of one browser, in the words of Socket.IO."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.said: asyncio.Queue[str] = asyncio.Queue()
        self.told.put_nowait({"type": "websocket.connect"})

    async def send(self, message: Any) -> None:
        if message["type"] == "websocket.send":
            self.said.put_nowait(message.get("text") or "")

    def say(self, text: str) -> None:
        self.told.put_nowait({"type": "websocket.receive", "text": text})

    async def wait_for(self, beginning: str) -> str:
        while True:
            if (said := await asyncio.wait_for(self.said.get(), 10)).startswith(beginning):
                return said


@asynccontextmanager
async def _a_socket(made: ConsoleWorld, page_id: str, cookie: str) -> AsyncIterator[_Browser]:
    """An open socket of the page, with its handshake done."""
    browser = _Browser()
    asked = f"EIO=4&transport=websocket&client_id={page_id}&implicit_handshake=true&tab_id=t&document_id=d&next_message_id=0"
    task = asyncio.create_task(made.console(_build_scope(asked, cookie, PUBLIC), browser.told.get, browser.send))
    await browser.wait_for("0")
    browser.say("40")
    await browser.wait_for("40")
    try:
        yield browser
    finally:
        browser.told.put_nowait({"type": "websocket.disconnect", "code": 1000})
        await asyncio.wait_for(task, 10)


def _press(page: OpenPage, button: ui.button) -> str:
    [listener] = [one.id for one in button._event_listeners.values() if one.type == "click"]
    return "42" + json.dumps(["event", {"client_id": page.visit.page.id, "id": button.id, "listener_id": listener, "args": []}])


async def _settle(pressed: list[str], count: int) -> list[str]:
    """Wait until so many presses arrived; give one that must not arrive the time of one that does."""
    for _ in range(200):
        if len(pressed) >= count:
            break
        await asyncio.sleep(0.01)
    return pressed


@pytest.mark.req("C-6", "C-9")
async def test_a_socket_acts_on_pages_of_its_own_login_alone(made: ConsoleWorld) -> None:
    """Who knows the id of somebody else's page cannot press a button there through the socket of a page of their own."""
    page, own = await made.open("/", OLGA), await made.open("/", ANNA)
    pressed: list[str] = []
    with page.visit.page:
        button = ui.button("x", on_click=lambda: pressed.append("by olga"))
    with own.visit.page:
        other = ui.button("y", on_click=lambda: pressed.append("by anna"))

    async with (
        _a_socket(made, page.visit.page.id, made.cookies[1001]) as hers,
        _a_socket(made, own.visit.page.id, made.cookies[1007]) as foreign,
    ):
        foreign.say(_press(page, button))
        foreign.say(_press(own, other))
        assert await _settle(pressed, 1) == ["by anna"]
        hers.say(_press(page, button))
        assert await _settle(pressed, 2) == ["by anna", "by olga"]


@pytest.mark.req("C-8")
async def test_a_page_takes_nothing_of_somebody_whose_rights_have_changed(made: ConsoleWorld) -> None:
    """What is pressed between the loss of rights and the end of the page is dropped; then nothing is left of the page."""
    page = await made.open("/", OLGA)
    pressed: list[str] = []
    with page.visit.page:
        button = ui.button("x", on_click=lambda: pressed.append("late"))

    async with _a_socket(made, page.visit.page.id, made.cookies[1001]) as hers:
        page.visit.opened_as = page.visit.opened_as.model_copy(update={"role": "lead"})
        hers.say(_press(page, button))
        made.console.pages.close_ended()
        assert "location.reload()" in await hers.wait_for('42["run_javascript"')
        made.console.pages.close_ended()

    assert not pressed
    assert page.visit.page.is_deleted
    assert not made.console.pages.visits


@pytest.mark.req("C-9")
async def test_a_socket_that_names_no_page_is_refused(made: ConsoleWorld) -> None:
    """NiceGUI would let it connect to any page afterwards."""
    await made.open("/", OLGA)

    assert (await _connect(made, "", cookie=made.cookies[1001], origin=PUBLIC))["type"] == "websocket.close"
