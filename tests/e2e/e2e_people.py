"""People who write and press in the sandbox's Telegram, and what they see. Everything is waited for with a deadline."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx

PATIENCE = 45.0


async def until(look: Callable[[], Awaitable[Any]], what: str, seconds: float = PATIENCE) -> Any:
    """Look again until something true is seen; fail, naming what was waited for. Each look costs two processes 3 ms: less often with time."""
    deadline = asyncio.get_running_loop().time() + seconds
    pause = 0.01
    while True:
        if found := await look():
            return found
        if asyncio.get_running_loop().time() > deadline:
            raise AssertionError(f"this did not come within {seconds:g} s: {what}")
        await asyncio.sleep(pause)
        pause = min(pause * 1.3, 0.06)


@dataclass(frozen=True)
class Shown:
    """A message as the person sees it."""

    raw: Mapping[str, Any]

    @property
    def number(self) -> int:
        return int(self.raw["message_id"])

    @property
    def text(self) -> str:
        """The words, with plain spaces."""
        return str(self.raw["text"]).replace("\xa0", " ").replace(" ", " ")

    @property
    def buttons(self) -> dict[str, str]:
        """What each button says → what it sends."""
        return {button["text"]: button["data"] for row in self.raw["buttons"] for button in row}

    @property
    def links(self) -> list[str]:
        return [entity["url"] for entity in self.raw["entities"] if entity["type"] == "text_link"]

    @property
    def is_card(self) -> bool:
        """Whether it waits for a decision: it has a button that approves."""
        return any(data.startswith("c1:") for data in self.buttons.values())

    def data(self, words: str) -> str:
        """What the button with these words sends."""
        found = [data for text, data in self.buttons.items() if words.lower() in text.lower()]
        assert len(found) == 1, (words, self.buttons)
        return found[0]


@dataclass(frozen=True)
class Person:
    """Somebody with a Telegram account, in one chat; the private chat with the bot has the person's own number."""

    number: int
    chat: int
    name: str
    http: httpx.AsyncClient
    settled: Callable[[], Awaitable[None]]

    @property
    def session(self) -> str:
        return f"tg:{self.chat}"

    def within(self, chat: int) -> "Person":
        """The same person in a group."""
        return replace(self, chat=chat)

    async def say(self, text: str, **more: Any) -> int:
        """Write; the number of the (last) message."""
        answer = await self.http.post(f"/sandbox/users/{self.number}/send", json={"text": text, "chat_id": self.chat, **more})
        assert answer.is_success, answer.text
        return int(answer.json()["message_id"])

    async def send(self, kind: str, **body: Any) -> int:
        """Send a contact, photo or document; the number of the message."""
        answer = await self.http.post(f"/sandbox/users/{self.number}/{kind}", json={"chat_id": self.chat, **body})
        assert answer.is_success, answer.text
        return int(answer.json()["message_id"])

    async def sees_words(self, after: int, words: str) -> Shown:
        """The first message of the bot after that one in which these words stand."""

        async def look() -> Shown | None:
            return next((one for one in await self.seen(after) if words in one.text), None)

        found: Shown = await until(look, f"{words!r} to {self.name} after {after}")
        return found

    async def seen(self, after: int = 0) -> list[Shown]:
        """What the bot wrote after that message."""
        answer = (await self.http.get(f"/sandbox/chats/{self.chat}/messages", params={"after": after})).json()
        return [Shown(raw) for raw in answer["messages"] if raw["from"] == "bot" and raw["message_id"] > after]

    async def message(self, number: int) -> Shown:
        """One message of the bot as it stands now."""
        return next(found for found in await self.seen(number - 1) if found.number == number)

    async def answered(self, after: int, count: int = 1) -> list[Shown]:
        """The bot's messages after that one, once there are so many and the bot is at rest."""

        async def enough() -> bool:
            return len(await self.seen(after)) >= count

        await until(enough, f"{count} message(s) to {self.name} after {after}; seen: {[m.text for m in await self.seen(after)]}")
        await self.settled()
        return await self.seen(after)

    async def ask(self, text: str, **more: Any) -> list[Shown]:
        """Write, and what the bot had written when the turn was over."""
        return await self.answered(await self.say(text, **more))

    async def card(self, text: str) -> Shown:
        """Write something that must lead to exactly one card."""
        seen = await self.ask(text)
        cards = [message for message in seen if message.is_card]
        assert len(cards) == 1, [message.text for message in seen]
        return cards[0]

    async def sees(self, number: int, words: str) -> Shown:
        """That message, once it holds these words."""

        async def holds() -> Shown | None:
            found = await self.message(number)
            return found if words in found.text else None

        found: Shown = await until(holds, f"{words!r} in message {number}: {(await self.message(number)).text!r}")
        return found

    async def press(self, number: int, data: str) -> str:
        """Press, even where no button has that data (any more); the id of the press."""
        body = {"message_id": number, "data": data, "chat_id": self.chat, "force": True}
        answer = await self.http.post(f"/sandbox/users/{self.number}/press", json=body)
        assert answer.is_success, answer.text
        return str(answer.json()["callback_id"])

    async def toast(self, callback_id: str) -> str:
        """What the press was answered with, once it was; "" for an answer without words."""

        async def answer() -> str | None:
            found = (await self.http.get(f"/sandbox/callbacks/{callback_id}")).json()
            return json.dumps(found["answer"]) if found["answered"] else None

        answered = json.loads(await until(answer, f"an answer to the press of {self.name}"))
        return str(answered.get("text") or "").replace("\xa0", " ")

    async def decide(self, card: Shown, words: str) -> str:
        """Press a button of a card and wait until all is over; the toast."""
        toast = await self.toast(await self.press(card.number, card.data(words)))
        await self.settled()
        return toast
