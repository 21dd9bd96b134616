"""The door as one piece: stored before confirmed, nobody waits for Telegram, the Stop button, a stop that takes nothing more in."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from weakref import ref

import httpx
import pytest
from aiogram import Bot
from aiogram.exceptions import TelegramUnauthorizedError
from aiogram.methods import EditMessageText, Response, SendMessage
from pydantic import SecretStr

from bot.http_api.server.app import build_app
from bot.telegram.door import ANSWERED_OFTEN, TelegramDoor
from bot.telegram.intake.ingest import RawUpdates
from bot.telegram.intake.people import ChatPeople
from bot.telegram.intake.webhook import parse_webhook
from state.journal.store import InboxRow, StoreUnwritable
from tests.unit.bot.telegram.door_kit import ANNA, STRANGER, TOKEN, Wire, access, chat_of, person, raw_message, refused
from tests.unit.spine_kit import World, until


@asynccontextmanager
async def _opened(world: World, **more: Any) -> AsyncIterator[tuple[TelegramDoor, Wire]]:
    wire = Wire()
    idle = asyncio.Event()
    wire.gates.append((lambda name, _: name == "getUpdates" and not wire.script, idle))
    door = TelegramDoor(Bot(TOKEN, session=wire), world.store, ChatPeople(access()), world.clock, **more)
    task = asyncio.ensure_future(door.run(world.orchestrator))
    try:
        while door.delivery.progress._group is None and not task.done():  # noqa: ASYNC110 - before its parts have begun, it takes nothing
            await asyncio.sleep(0)
        yield door, wire
        assert not task.done() or task.exception() is None
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _waiting(world: World, session: str = f"tg:{ANNA}") -> list[InboxRow]:
    return [row for lane in ("express", "turn") for row in world.sql.list_waiting_inbox(session, lane)]  # type: ignore[arg-type]


async def _came(door: TelegramDoor, update: dict[str, Any]) -> None:
    await asyncio.wait_for(door._intake.take(update), 30)


async def test_a_message_is_stored_and_a_sign_of_life_follows(world: World) -> None:
    async with _opened(world) as (door, wire):
        await _came(door, {"update_id": 5, "message": raw_message("привет")})
        (row,) = _waiting(world)
        assert (row.source, row.body["text"]) == ("telegram:42:5", "привет")
        await until(lambda: len(wire.calls("sendChatAction")) == 1)
        await _came(door, {"update_id": 5, "message": raw_message("привет")})
        assert len(_waiting(world)) == 1, "a redelivered update is known by its number (LifeOS#57, openclaw#122886)"
        assert len(wire.calls("sendChatAction")) == 1


async def test_the_stop_button_of_a_draft_is_the_command_stop(world: World) -> None:
    """/cancel that really stops (father-bot#153): it overtakes the running turn, and strangers stop nothing."""
    async with _opened(world) as (door, _):
        for number, who in ((5, ANNA), (6, STRANGER)):
            stop = {"chat": {**chat_of(who), "first_name": "А"}, "draft_id": 7}
            await _came(door, {"update_id": number, "stopped_message_generation": stop})
        (row,) = _waiting(world)
        assert (row.kind, row.lane, row.body, row.actor["key"]) == ("command", "express", {"name": "stop"}, f"tg:{ANNA}")
        assert _waiting(world, f"tg:{STRANGER}") == []


async def test_who_takes_updates_in_does_not_wait_for_telegram(world: World) -> None:
    """Telegram hangs: presses and strangers' messages are taken all the same, one after the other."""
    async with _opened(world) as (door, wire):
        wire.gates.append((lambda name, _: name in {"answerCallbackQuery", "sendMessage"}, asyncio.Event()))
        under = raw_message("карточка", sender=42, chat=ANNA)
        for number in range(5, 8):
            query = {"id": f"cb{number}", "from": person(ANNA), "chat_instance": "1", "message": under, "data": "нечто старое"}
            await _came(door, {"update_id": number, "callback_query": query})
            await _came(door, {"update_id": number + 10, "message": raw_message("эй", sender=STRANGER)})
        await until(lambda: len(wire.calls("answerCallbackQuery")) == 3)


async def test_an_update_that_cannot_be_stored_is_not_taken_and_the_person_hears_of_it_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with _opened(world) as (door, wire):
        broken, real = [1, 1], world.sql.put_inbox

        def sometimes(*args: Any) -> Any:
            if broken:
                broken.pop()
                raise StoreUnwritable("disk full")
            return real(*args)

        monkeypatch.setattr(world.sql, "put_inbox", sometimes)
        for _ in range(2):
            with pytest.raises(StoreUnwritable):
                await _came(door, {"update_id": 5, "message": raw_message("привет")})
        await _came(door, {"update_id": 5, "message": raw_message("привет")})
        assert len(_waiting(world)) == 1
        await until(lambda: len(wire.calls("sendMessage")) == 1)


async def test_what_is_said_in_a_moved_group_belongs_to_its_session(world: World) -> None:
    """The service messages of the move are enough; the conversation and its cards stay one."""
    async with _opened(world) as (door, _):
        group = {"id": -5, "type": "group", "title": "Продажи"}
        await _came(door, {"update_id": 5, "message": raw_message(None, chat=-5, migrate_to_chat_id=-1009) | {"chat": group}})
        await _came(door, {"update_id": 6, "message": raw_message("/pending", chat=-1009)})
        (row,) = _waiting(world, "tg:-5")
        assert row.body["name"] == "pending"


async def test_a_stopping_door_takes_nothing_more_in_and_confirms_nothing_more(world: World) -> None:
    """What is not taken comes again after the start (nerve#171: a restart drops waiting messages)."""
    async with _opened(world) as (door, wire):
        await until(lambda: bool(wire.calls("getUpdates")))
        door.close()
        await until(lambda: door._intake_task is not None and door._intake_task.done())
        polls = len(wire.calls("getUpdates"))
        await world.orchestrator.receive([])
        assert len(wire.calls("getUpdates")) == polls


async def test_by_webhook_the_same_updates_come_and_nobody_polls(world: World) -> None:
    webhook = parse_webhook("https://bot.example.ru/hook", SecretStr("a-secret-of-16-letters"))
    async with _opened(world, webhook=webhook) as (door, wire):
        router = door.build_router()
        assert router is not None
        headers = {"X-Telegram-Bot-Api-Secret-Token": "a-secret-of-16-letters"}
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=build_app(router)), base_url="http://bot", headers=headers
        ) as client:
            await until(lambda: bool(wire.calls("setWebhook")))
            answers = [(await client.post("/hook", json={"update_id": n, "message": raw_message("привет")})).status_code for n in (5, 5)]
            assert answers == [200, 200]
            assert len(_waiting(world)) == 1
            door.close()
            assert (await client.post("/hook", json={"update_id": 6, "message": raw_message("ещё")})).status_code == 503
        assert wire.calls("getUpdates") == []


async def test_a_wrong_token_ends_the_door(world: World) -> None:
    wire = Wire()
    wire.will(refused(401, "Unauthorized"), when=lambda name, _: name == "getUpdates")
    door = TelegramDoor(Bot(TOKEN, session=wire), world.store, ChatPeople(access()), world.clock)
    with pytest.raises(BaseExceptionGroup) as raised:
        await asyncio.wait_for(door.run(world.orchestrator), 30)
    error: BaseException = raised.value
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, TelegramUnauthorizedError)


@pytest.mark.long
def test_types_of_frequent_answers_are_built_once() -> None:
    """A generic type that nobody keeps is built anew for each call, which takes milliseconds: a poll for every update."""
    kept = {method: ref(Response[method.__returning__]) for method in ANSWERED_OFTEN}  # type: ignore[name-defined]
    gc.collect()
    assert {method.__name__ for method, kind in kept.items() if kind() is None} == set()
    assert {RawUpdates, SendMessage, EditMessageText} <= set(ANSWERED_OFTEN)
