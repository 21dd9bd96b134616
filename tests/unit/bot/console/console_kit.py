"""The console over the spine's world: real ASGI app, real pages of NiceGUI, no browser. Pages are opened over HTTP and pressed by their words.

A page is what the server has made of it: its texts, its buttons and fields. What a browser makes of that is a matter of tests/e2e.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
from fastapi import FastAPI
from nicegui import background_tasks, ui_run_with
from nicegui.element import Element
from pydantic import SecretStr

from bot.access.access import Access, Person
from bot.console.app import COOKIE, ROOT, Console
from bot.console.keys import ConsoleKeys
from bot.console.services import ConsoleServices
from bot.console.visit import Visit
from bot.plugins.building import load_installed_engines
from bot.settings.settings import Settings
from orchestrator.runs.registry import Engines
from tests.unit.spine_kit import World, a_world

ui_run_with.gc = SimpleNamespace(get_objects=list)  # type: ignore[assignment]  # it looks for a server among all objects; there is none
KEYS = ConsoleKeys(SecretStr("a secret of the console for tests, long enough"))
PUBLIC = "http://console.test"
OLGA = Person(telegram_id=1001, name="Ольга", role="admin", bitrix_user_id=1)
VERA = Person(telegram_id=1006, name="Вера", role="lead", bitrix_user_id=6)
ANNA = Person(telegram_id=1007, name="Анна", bitrix_user_id=7)
BORIS = Person(telegram_id=1008, name="Борис", bitrix_user_id=8)
EVERYBODY = (OLGA, VERA, ANNA, BORIS)


@dataclass
class OpenPage:
    """One open page, as the server has it."""

    visit: Visit
    html: str

    @property
    def elements(self) -> list[Element]:
        """All elements, in the order in which they were made."""
        return list(self.visit.page.elements.values())

    def read_texts(self) -> list[str]:
        """Every text on the page: labels, buttons, values of fields."""
        found = []
        for one in self.elements:
            texts = (getattr(one, "text", ""), one.props.get("label", ""), one.props.get("model-value", ""), getattr(one, "value", ""))
            found += [text for text in dict.fromkeys(str(text) for text in texts if isinstance(text, str)) if text]
        return found

    def has(self, text: str) -> bool:
        """Whether the text stands anywhere on the page."""
        return any(text in one for one in self.read_texts())

    def find(self, text: str, kind: str = "") -> Element:
        """Return the last element with this text or label that something can be done with; `kind` is part of its class's name."""
        found = [one for one in self.elements if text in (getattr(one, "text", None), one.props.get("label"), one.props.get("aria-label"))]
        found = [one for one in found if kind.lower() in type(one).__name__.lower()]
        able = [one for one in found if one._event_listeners]
        assert found, f"nothing is called {text!r}; there is: {self.read_texts()}"
        return (able or found)[-1]

    async def press(self, text: str) -> None:
        """Click what is called `text`, and wait until what this does is done."""
        await self.act(self.find(text), "click")

    async def enter(self, label: str, value: Any) -> None:
        """Set the value of the field with this label."""
        self.find(label).set_value(value)  # type: ignore[attr-defined]
        await self.settle()

    async def connect(self) -> None:
        """Let the page be one whose browser has connected, and wait until what this begins is done."""
        before, page_id = set(background_tasks.running_tasks), self.visit.page.id
        await self.visit.page.handle_handshake(f"socket {page_id}", f"tab {page_id}", None, f"document {page_id}", None)
        begun = {task for task in set(background_tasks.running_tasks) - before if "func with client" in task.get_name()}
        if begun:
            await asyncio.wait(begun, timeout=15)
        await self.settle()

    async def leave(self) -> None:
        """Let the browser that has connected go away."""
        self.visit.page.handle_disconnect(f"socket {self.visit.page.id}")
        await self.settle()

    async def act(self, element: Element, event: str, args: Any = None) -> None:
        """Let the element have an event, as a browser would send it, and wait until what this does is done."""
        before = set(background_tasks.running_tasks)
        with self.visit.page:
            for one in [one for one in element._event_listeners.values() if one.type.split(".")[0] == event and one.handler is not None]:
                element._handle_event({"listener_id": one.id, "args": args or {}})
        begun = set(background_tasks.running_tasks) - before
        if begun:
            await asyncio.wait(begun, timeout=15)
        await self.settle()

    async def settle(self) -> None:
        """Wait until nothing that was begun on the page is under way."""
        while running := [task for task in background_tasks.running_tasks if _is_handler(task)]:
            await asyncio.wait(running, timeout=5)
        await asyncio.sleep(0)


def _is_handler(task: asyncio.Task[Any]) -> bool:
    """Whether a task does what a button or field has begun; NiceGUI names it by its function, and its own loops and timers too."""
    name = task.get_name()
    if getattr(task.get_coro(), "__name__", "") == "_run_in_loop":
        return False
    return any(word in name for word in ("handle", "await", "bound method", "<function ")) and "prune" not in name


@dataclass
class ConsoleWorld:
    """The product with a console in front; people log in with `enter`."""

    world: World
    console: Console
    access: Access
    http: httpx.AsyncClient
    cookies: dict[int, str] = field(default_factory=dict)

    async def log_in(self, person: Person = OLGA) -> str:
        """Return the cookie of a browser that has used a link of this person."""
        link = KEYS.sign_link(f"tg:{person.telegram_id}", self.world.clock.now())
        answer = await self.http.post(f"{ROOT}/login", data={"link": link}, headers={"Origin": PUBLIC})
        assert answer.status_code == 303, answer.text
        cookie = answer.cookies[COOKIE]
        self.http.cookies.clear()
        return cookie

    async def get(self, path: str, person: Person | None = OLGA, **headers: str) -> httpx.Response:
        """Ask for a page as this person; as a stranger without one."""
        if person is not None and person.telegram_id not in self.cookies:
            self.cookies[person.telegram_id] = await self.log_in(person)
        cookie = {"Cookie": f"{COOKIE}={self.cookies[person.telegram_id]}"} if person is not None else {}
        return await self.http.get(f"{ROOT}{path}", headers={**cookie, **headers})

    async def open(self, path: str, person: Person = OLGA) -> OpenPage:
        """Open a page as this person."""
        before = set(self.console.pages.visits) if self.console.is_loaded else set()
        answer = await self.get(path, person)
        assert answer.status_code == 200, answer.text
        [made] = set(self.console.pages.visits) - before
        return OpenPage(self.console.pages.visits[made], answer.text)

    async def tell_change(self) -> None:
        """Let all pages read again what they show, as after a change, and wait for it."""
        await self.console.feed.refresh_all()


@asynccontextmanager
async def a_console(
    folder: Path, *, people: Sequence[Person] = EVERYBODY, engines: Engines | None = None, **more: Any
) -> AsyncIterator[ConsoleWorld]:
    """The product with these people and their console; `more` goes to the spine's world."""
    access = Access(people)
    engines = load_installed_engines() if engines is None else engines
    async with a_world(folder, people=[person.to_actor() for person in people], engines=engines, **more) as world:
        settings = Settings(_env_file=None, log_dir=folder / "logs", state_dir=folder)  # type: ignore[call-arg]
        services = ConsoleServices(settings=settings, orchestrator=world.orchestrator, access=access, engines=engines, clock=world.clock)
        console = Console(services, KEYS, f"{PUBLIC}{ROOT}")
        app = FastAPI()
        app.mount(ROOT, console)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=PUBLIC) as http:
            try:
                yield ConsoleWorld(world, console, access, http)
            finally:
                await console.aclose()


@asynccontextmanager
async def working(world: World) -> AsyncIterator[None]:
    """Let the orchestrator work its inputs within the block."""
    task = asyncio.create_task(world.orchestrator.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def find_nonces(html: str) -> Mapping[str, int]:
    """Return how many scripts of the page carry each nonce; "" counts those without one."""
    found: dict[str, int] = {}
    for tag in re.findall(r"<script[^>]*>", html):
        nonce = re.search(r'nonce="([^"]*)"', tag)
        found[nonce[1] if nonce else ""] = found.get(nonce[1] if nonce else "", 0) + 1
    return found
