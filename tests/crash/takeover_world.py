"""The outside of two bot processes: a Bot API, a portal and a model on one loopback port. What is counted here is what really happened."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from tests.crash.lab_wire import Asked, serving
from tests.unit.spine_portal import Portal

BOT = 77
TOKEN = f"{BOT}:AAtakeover-takeover-takeover-takeover"
POLL = 1.0
SLOW = 0.03
"""Seconds that the portal and the model take: time enough to die in the middle of a call."""
DONE, UNKNOWN, NOT_DONE = "Сделано", "Неясно", "Не вышло"


@dataclass
class Outside:
    """One messenger with its chats, one portal, one model."""

    portal: Portal = field(default_factory=Portal)
    port: int = 0
    updates: list[dict[str, Any]] = field(default_factory=list)
    confirmed: int = 0
    """Updates below this number were acknowledged by the bot: they will not come again."""
    polls: int = 0
    conflicts: int = 0
    """Times that a poll was ended by that of another process, as Telegram does it."""
    shown: list[tuple[int, str]] = field(default_factory=list)
    """(chat, text) of every message and every edit."""
    made: Counter[str] = field(default_factory=Counter)
    _newest_poll: int = 0
    _messages: int = 0

    def say(self, chat: int, text: str) -> None:
        """Somebody writes."""
        self._messages += 1
        person = {"id": chat, "is_bot": False, "first_name": f"Имя{chat}"}
        place = {"id": chat, "type": "private", "first_name": f"Имя{chat}"}
        message = {"message_id": self._messages, "date": 1_790_000_000 + 60 * self._messages, "chat": place, "from": person, "text": text}
        self.updates.append({"update_id": len(self.updates) + 1, "message": message})

    def written(self, mark: str) -> int:
        """How often the change with that mark took effect."""
        return sum(params["fields"]["TITLE"] == mark for _, params in self.portal.ledger)

    async def answering(self, asked: Asked) -> tuple[int, bytes]:
        """What comes of one request."""
        form = "json" not in asked.headers.get("content-type", "")
        payload = dict(parse_qsl(asked.body.decode())) if form else json.loads(asked.body or b"{}")
        status, answer = await self._answer(asked, payload)
        return status, json.dumps(answer).encode()

    async def _answer(self, asked: Asked, payload: dict[str, Any]) -> tuple[int, Any]:
        name = asked.name
        if asked.path.startswith("/bot"):
            return await self._telegram(name, payload, asked.gone)
        await asyncio.sleep(SLOW)
        if name == "completions":
            choice = {"index": 0, "message": {"role": "assistant", "content": spoken(payload["messages"])}, "finish_reason": "stop"}
            return 200, {"model": "lab", "choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
        response = self.portal.answer(name, payload)
        await asyncio.sleep(SLOW)
        return response.status_code, json.loads(response.content)

    async def _telegram(self, name: str, payload: dict[str, Any], gone: Callable[[], bool]) -> tuple[int, Any]:
        match name:
            case "getMe":
                return _ok({"id": BOT, "is_bot": True, "first_name": "Бот", "username": "lab_bot"})
            case "getWebhookInfo":
                return _ok({"url": "", "has_custom_certificate": False, "pending_update_count": 0})
            case "getUpdates":
                return await self._updates(int(payload.get("offset", 0)), gone)
            case "sendMessage" | "editMessageText":
                self._messages += 1
                chat, number = int(payload["chat_id"]), int(payload.get("message_id", 10**6 + self._messages))
                self.shown.append((chat, payload["text"]))
                return _ok(
                    {
                        "message_id": number,
                        "date": 1_790_000_000 + 60 * self._messages,
                        "chat": {"id": chat, "type": "private"},
                        "text": payload["text"],
                    }
                )
            case _:
                return _ok(result=True)

    async def _updates(self, offset: int, gone: Callable[[], bool]) -> tuple[int, Any]:
        self.polls += 1
        self._newest_poll = mine = self.polls
        self.confirmed = max(self.confirmed, offset)
        end = asyncio.get_running_loop().time() + POLL
        while asyncio.get_running_loop().time() < end and not gone():
            if self._newest_poll != mine:
                self.conflicts += 1
                return 409, {"ok": False, "error_code": 409, "description": "Conflict: terminated by other getUpdates request"}
            waiting = self.updates[max(0, self.confirmed - 1) :][:100]
            if waiting:
                return _ok(waiting)
            await asyncio.sleep(0.01)
        return _ok([])


def _ok(result: Any) -> tuple[int, Any]:
    return 200, {"ok": True, "result": result}


def spoken(messages: list[dict[str, str]]) -> str:
    """The model: it makes the deal that was asked for, then reports what it observed."""
    said = [item["content"] for item in messages if item["role"] == "user"]
    seen = [text for text in said if text.startswith("OBSERVATION ")]
    mark = next(text for text in reversed(said) if not text.startswith("OBSERVATION ")).split()[-1]
    steps = [] if seen else [{"method": "crm.deal.add", "params": {"fields": {"TITLE": mark}}, "comment": "так попросили"}]
    words = {"ok": DONE, "unknown": UNKNOWN}
    lines = [json.loads(line) for line in seen[-1].splitlines() if line.startswith("{")] if seen else []
    report = " ".join(f"{words.get(line['status'], NOT_DONE)}:{mark}" for line in lines) or "Сейчас."
    return f"THOUGHT:\nдумаю\nACTION:\n{json.dumps(steps, ensure_ascii=False)}\nASSISTANT:\n{report}"


@asynccontextmanager
async def opened_outside() -> AsyncIterator[Outside]:
    """All of it on a loopback port."""
    outside = Outside()
    async with serving(outside.answering) as outside.port:
        yield outside
