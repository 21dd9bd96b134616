"""The door and talking: «да» to the bot's last message, strangers heard once, the place in the queue, what an update is stored as."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bot.telegram.door import QueueNotices, TelegramDoor
from state.journal.store import InboxRow
from tests.unit.bot.telegram.door_kit import ANNA, BOT, STRANGER, add_registry, opened_door, raw_message
from tests.unit.spine_kit import World, message, raise_sum, reply, until


def _waiting(world: World, session: str) -> list[InboxRow]:
    return [row for lane in ("express", "turn") for row in world.sql.list_waiting_inbox(session, lane)]  # type: ignore[arg-type]


@asynccontextmanager
async def _card_shown(world: World) -> AsyncIterator[Any]:
    """The open door, its wire, and the number of the message in which a card waits."""
    world.model.will(reply(raise_sum()))
    async with world.working():
        await world.orchestrator.receive([message("подними сумму сделки 481 до 1 200 000")])
        await world.idle()
    async with opened_door(world) as (door, wire):
        await until(lambda: len(wire.calls("sendMessage")) == 1)
        card = wire.last_id
        await door.delivery.wait_until_empty()
        yield door, wire, card


async def _came(door: TelegramDoor, number: int, said: dict[str, Any]) -> None:
    await asyncio.wait_for(door._intake.take({"update_id": number, "message": said}), 30)


async def test_a_yes_counts_right_after_the_card_however_many_others_the_bot_talks_to(world: World) -> None:
    """Message numbers run through all chats of a bot: what counts is its last message in this one."""
    async with _card_shown(world) as (door, wire, card):
        await _came(door, 5, raw_message("да", message_id=card + 40))
        assert [row.kind for row in _waiting(world, f"tg:{ANNA}")] == ["decision"]
        await _came(door, 6, raw_message(None, message_id=card + 41, sticker=_STICKER))
        world.sql.finish_inbox(_waiting(world, f"tg:{ANNA}")[0].id, "done", "")
        async with world.working():
            await until(lambda: len(wire.calls("sendMessage")) == 2)
        await _came(door, 7, raw_message("да", message_id=card + 42))
        assert [row.kind for row in _waiting(world, f"tg:{ANNA}")] == ["message"]


_STICKER = {"file_id": "1", "file_unique_id": "1", "type": "regular", "width": 1, "height": 1, "is_animated": False, "is_video": False}


async def test_a_long_no_with_its_reason_is_looked_up_too(world: World) -> None:
    async with _card_shown(world) as (door, _, card):
        answered = {"reply_to_message": raw_message("карточка", via=BOT, message_id=card)}
        await _came(door, 5, raw_message("Нет, клиент передумал и просит вернуться к этому весной", message_id=card + 2, **answered))
        (row,) = _waiting(world, f"tg:{ANNA}")
        assert (row.kind, row.body["reason"]) == ("decision", "клиент передумал и просит вернуться к этому весной")


async def test_a_stranger_is_answered_once_a_minute_and_asks_once_a_day(world: World) -> None:
    """A flood of a stranger's messages is one row and one sentence."""
    add_registry(world)
    async with opened_door(world) as (door, wire):
        for number in range(5, 15):
            await _came(door, number, raw_message("пустите", sender=STRANGER))
        rows = _waiting(world, "access")
        assert [(row.kind, row.actor["key"]) for row in rows] == [("knock", f"tg:{STRANGER}")]
        async with world.working():
            await until(lambda: len(wire.calls("sendMessage")) == 1)
        assert wire.calls("sendMessage")[0]["text"] == f"Вас нет в списке. Ваш ID {STRANGER} — передайте администратору."


@pytest.mark.slow
async def test_a_request_behind_a_long_turn_hears_its_place(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """ "A new message during a turn: queue with «в очереди, 2-й»", and not before it has waited a moment."""
    gate = asyncio.Event()
    stream = world.model.stream_chat

    async def slow(payload: Any, on_delta: Any) -> Any:
        await gate.wait()
        return await stream(payload, on_delta)

    monkeypatch.setattr(world.model, "stream_chat", slow)
    world.model.will(reply(), reply())
    async with world.working(), opened_door(world) as (door, wire):
        door._queue = QueueNotices(world.store, door.delivery.report_trouble, after=0.05)
        await _came(door, 5, raw_message("покажи сделки"))
        await until(lambda: f"tg:{ANNA}" in world.tools.running)
        await _came(door, 6, raw_message("покажи задачи", message_id=101))
        await until(lambda: "В очереди, 2-й." in [call["text"] for call in wire.calls("sendMessage")])
        gate.set()
        await world.idle()
