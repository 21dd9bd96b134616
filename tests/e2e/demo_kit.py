"""Runs the whole demo as `sdelka demo` does, and lets its people write, speak and press."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.e2e_people import PATIENCE, Person, Shown, until
from tests.forker import forked

ROOT = Path(__file__).resolve().parents[2]
NAMES = {1001: "Ольга", 1006: "Анна", 1007: "Борис", 1008: "Вера"}


@dataclass(frozen=True)
class Demo:
    """The running demo: its chat page, its portal and its model."""

    page: httpx.AsyncClient
    portal: httpx.AsyncClient
    model: httpx.AsyncClient
    console: str = ""
    """The address of the console."""

    def person(self, number: int) -> Person:
        """One of the people of the demo, in the private chat."""
        return Person(number=number, chat=number, name=NAMES[number], http=self.page, settled=_at_once)

    async def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Ask the page's server for something that must succeed."""
        answer = await self.page.post(path, json=body or {})
        assert answer.is_success, answer.text
        return answer.json()

    async def hold(self) -> None:
        """Stop each text that the model begins from now on half way; one that is stopped already goes on."""
        assert (await self.model.post("/sandbox/hold")).is_success

    async def prompts(self) -> int:
        """Return how many prompts the model got so far."""
        return int((await self.model.get("/sandbox/requests")).json()["last"])

    async def go_on(self) -> None:
        """Let every text come to its end."""
        assert (await self.model.delete("/sandbox/hold")).is_success

    async def deal(self, number: int) -> dict[str, Any] | None:
        """A deal as the portal has it, None if there is none."""
        answer = await self.portal.get(f"/sandbox/records/deal/{number}")
        return dict(answer.json()) if answer.is_success else None

    async def told(self, person: Person, after: int, words: str) -> Shown:
        """The first message of the bot after that one in which the words stand."""

        async def look() -> Shown | None:
            return next((message for message in await person.seen(after) if words in message.text), None)

        found: Shown = await until(look, f"{words!r} to {person.name}; seen: {[message.text for message in await person.seen(after)]}")
        return found

    async def ask(self, person: Person, text: str, words: str) -> Shown:
        """Let a person write, and give the message in which the words stand."""
        return await self.told(person, await person.say(text), words)

    async def approve(self, person: Person, card: Shown, words: str, *, done: str = "Выполнено") -> Shown:
        """Press a button of a card and give the card once it says that it ran, or asks again."""
        await person.press(card.number, card.data(words))
        return await person.sees(card.number, done)


async def _at_once() -> None:
    """Nothing to wait for: each test waits for the words that it means."""


@asynccontextmanager
async def running_demo(folder: Path, *options: str) -> AsyncIterator[Demo]:
    """Start the demo over an empty folder and stop it at the end."""
    command = forked("-m", "tests.e2e.demo_child", "--json", "--data", str(folder), *options)
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        line = json.loads(await asyncio.wait_for(process.stdout.readline(), 2 * PATIENCE))
        async with (
            httpx.AsyncClient(base_url=line["telegram"], trust_env=False, timeout=PATIENCE) as page,
            httpx.AsyncClient(base_url=line["portal"], trust_env=False, timeout=PATIENCE) as portal,
            httpx.AsyncClient(base_url=line["model"].removesuffix("/v1"), trust_env=False, timeout=PATIENCE) as model,
        ):
            yield Demo(page, portal, model, line["console"])
    finally:
        process.terminate()
        await process.wait()
