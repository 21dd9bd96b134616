"""Updates as Telegram sends them, and a bot whose wire is a script."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from aiogram import Bot
from aiogram.client.default import Default
from aiogram.client.session.base import BaseSession
from aiogram.methods import TelegramMethod
from aiogram.types import InputFile, Update, User
from pydantic import BaseModel

from bot.access.access import Access, Person
from bot.telegram.door import TelegramDoor
from bot.telegram.intake.people import ChatPeople
from bot.telegram.intake.routed_updates import read_update
from bot.telegram.intake.router import NO_FEATURES, OpenCard, ParsedUpdate
from bot.telegram.intake.router import parse_update as parse_incoming
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.inputs import DirectAnswer
from orchestrator.domain.outputs import Notice
from orchestrator.features.people.feature import build_feature
from orchestrator.features.people.people_context import PeopleContext
from orchestrator.features.people.staff import Employees
from orchestrator.turns.feature import Feature, merge_features
from tests.unit.spine_kit import World

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
ANNA, VERA, STRANGER = 1007, 1006, 666
TOKEN = "42:TEST-TOKEN"
BOT = {"id": 42, "is_bot": True, "first_name": "Сделка", "username": "Sdelka_Bot"}
ME = User.model_validate(BOT)
Answer = dict[str, Any] | Exception
"""What the wire answers: `{"ok": …}` with an optional "status", or an exception of the network."""


def access() -> Access:
    """Anna writes Russian, Vera English."""
    return Access(
        [
            Person(telegram_id=ANNA, name="Анна", bitrix_user_id=7),
            Person(telegram_id=VERA, name="Vera", role="lead", locale="en", time_zone="Asia/Vladivostok"),
        ]
    )


def chat_of(chat_id: int) -> dict[str, Any]:
    """A private chat for people, a group for negative ids."""
    return (
        {"id": chat_id, "type": "private", "first_name": "А"} if chat_id > 0 else {"id": chat_id, "type": "supergroup", "title": "Продажи"}
    )


def person(user_id: int, *, bot: bool = False) -> dict[str, Any]:
    return {"id": user_id, "is_bot": bot, "first_name": "Имя"}


def raw_message(
    text: str | None = "привет", *, sender: int | None = ANNA, chat: int | None = None, message_id: int = 100, via: Any = None, **more: Any
) -> dict[str, Any]:
    """A message on the wire; `via` stands in "from" instead of the person."""
    made: dict[str, Any] = {"message_id": message_id, "date": 1_795_000_000, "chat": chat_of(chat or sender or ANNA), **more}
    if sender is not None:
        made["from"] = via or person(sender)
    return made if text is None else made | {"text": text}


def message(text: str | None = "привет", *, update_id: int = 5, **more: Any) -> Update:
    return Update.model_validate({"update_id": update_id, "message": raw_message(text, **more)})


def parse_update(
    update: Update,
    access: Access,
    me: User,
    cards: tuple[OpenCard, ...],
    now: datetime,
    features: Feature = NO_FEATURES,
    *,
    may_answer_run: bool = False,
) -> ParsedUpdate:
    """What the door makes of an update."""
    return parse_incoming(read_update(update, me), access, me, cards, now, features, may_answer_run=may_answer_run)


def answer_in(routed: ParsedUpdate) -> Notice | None:
    """What the update is answered at once; None if it is not. An answer is an input of its own and has no other beside it."""
    row = next((row for row in routed.rows if row.kind == "answer"), None)
    if row is None:
        return None
    assert (len(routed.rows), row.lane) == (1, "express")
    return DirectAnswer.model_validate(row.body).notice


def forwarded() -> dict[str, Any]:
    return {"type": "user", "date": 1_795_000_000, "sender_user": person(STRANGER)}


def pressed(data: str | None, *, sender: int = ANNA, chat: int | None = None, **shown: Any) -> Update:
    """A press of a button under a message of the bot."""
    under = raw_message("карточка", sender=42, chat=chat or sender, **shown)
    query = {"id": "cb1", "from": person(sender), "chat_instance": "1", "message": under, "data": data}
    return Update.model_validate({"update_id": 6, "callback_query": {key: value for key, value in query.items() if value is not None}})


def _as_sent(value: Any, bot: Bot) -> Any:
    """The arguments as the real session would send them: defaults of the bot put in, what is not set left out."""
    if isinstance(value, Default):
        return _as_sent(bot.default[value.name], bot)
    if isinstance(value, InputFile):
        return value
    if isinstance(value, BaseModel):
        return _as_sent(value.model_dump(exclude_none=True, warnings=False), bot)
    if isinstance(value, dict):
        made = {key: _as_sent(item, bot) for key, item in value.items()}
        return {key: item for key, item in made.items() if item is not None}
    return [_as_sent(item, bot) for item in value] if isinstance(value, list) else value


class Wire(BaseSession):
    """Records what the bot sends and answers from `script` (first come, first served) or with success."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.script: list[tuple[Callable[[str, dict[str, Any]], bool], Answer]] = []
        self.last_id = 500
        self.gates: list[tuple[Callable[[str, dict[str, Any]], bool], asyncio.Event]] = []
        """Requests that fit wait until their event is set: Telegram is slow."""
        self.files: dict[str, bytes | Exception] = {}
        """What stands under the paths that getFile names."""
        self.downloads: list[str] = []

    def will(self, answer: Answer, *, when: Callable[[str, dict[str, Any]], bool] = lambda name, _: name != "getMe") -> None:
        """The next request that fits is answered so; by default any but getMe, which is always answered."""
        self.script.append((when, answer))

    def calls(self, name: str) -> list[dict[str, Any]]:
        """The arguments of every request of a method."""
        return [body for method, body in self.sent if method == name]

    async def make_request(self, bot: Bot, method: TelegramMethod[Any], timeout: int | None = None) -> Any:  # noqa: ASYNC109 - the interface of aiogram
        body = _as_sent(method.model_dump(exclude_none=True, warnings=False), bot)
        name = method.__api_method__
        self.sent.append((name, body))
        for when, gate in self.gates:
            if when(name, body):
                await gate.wait()
        answer = self._answer(name, body)
        if isinstance(answer, Exception):
            raise answer
        content = json.dumps({key: value for key, value in answer.items() if key != "status"})
        return self.check_response(bot, method, answer.get("status", 200), content).result

    def _answer(self, name: str, body: dict[str, Any]) -> Answer:
        for index, (when, answer) in enumerate(self.script):
            if when(name, body):
                del self.script[index]
                return answer
        if name == "getMe":
            return {"ok": True, "result": BOT}
        if name == "getFile":
            path = str(body["file_id"])
            known = self.files.get(path)
            size = {"file_size": len(known)} if isinstance(known, bytes) else {}
            return {"ok": True, "result": {"file_id": path, "file_unique_id": path, "file_path": path, **size}}
        if name in {"sendMessage", "editMessageText", "sendDocument", "sendPhoto"}:
            self.last_id += name != "editMessageText"
            return {
                "ok": True,
                "result": raw_message("да", sender=None, chat=int(body["chat_id"]), message_id=body.get("message_id", self.last_id)),
            }
        if name == "getWebhookInfo":
            return {"ok": True, "result": {"url": "", "has_custom_certificate": False, "pending_update_count": 0}}
        return {"ok": True, "result": True}

    async def close(self) -> None:
        """Nothing is open."""

    async def stream_content(self, url: str, *args: Any, chunk_size: int = 65536, **kwargs: Any) -> AsyncGenerator[bytes, None]:
        """The file under the path at the end of the address, in pieces."""
        path = url.rpartition(f"{TOKEN}/")[2]
        self.downloads.append(path)
        held = self.files[path]
        if isinstance(held, Exception):
            raise held
        for start in range(0, len(held), chunk_size):
            yield held[start : start + chunk_size]


def refused(status: int, description: str, **parameters: Any) -> Answer:
    """An error of Telegram."""
    more = {"parameters": parameters} if parameters else {}
    return {"status": status, "ok": False, "error_code": status, "description": description, **more}


def add_registry(world: World) -> None:
    """Let the world answer strangers, as the product does: with the registry of people, in which `access()` is."""
    reads = PortalReader(world.client, world.gate.deps.catalogue, world.clock)
    desk = PeopleContext(staff=access(), employees=Employees(reads.reference, Naming(reads)))
    features = merge_features(world.tools.features, build_feature(desk))
    world.orchestrator.tools = replace(world.tools, features=features)


@asynccontextmanager
async def opened_door(world: World) -> AsyncIterator[tuple[TelegramDoor, Wire]]:
    """The door at work over `world`, whose updates are handed in by the test; the wire beside it."""
    wire = Wire()
    wire.gates.append((lambda name, _: name == "getUpdates" and not wire.script, asyncio.Event()))
    door = TelegramDoor(Bot(TOKEN, session=wire), world.store, ChatPeople(access()), world.clock)
    task = asyncio.ensure_future(door.run(world.orchestrator))
    try:
        while not wire.calls("getUpdates"):  # noqa: ASYNC110 - before it polls, it takes nothing
            await asyncio.sleep(0)
        yield door, wire
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
