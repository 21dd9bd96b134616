"""The door and presses: a second message of a card, buttons of another version, «Stop» under a stand-in for an answer."""

import asyncio

import pytest

from bot.telegram.door import TelegramDoor
from orchestrator.domain.outputs import Notice
from state.journal.store import InboxRow
from tests.unit.bot.telegram.door_kit import ANNA, STRANGER, Wire, opened_door, person, raw_message
from tests.unit.spine_kit import World, message, raise_sum, reply, until

GROUP = -100123


async def _pressed(door: TelegramDoor, number: int, data: str, under: int, *, who: int = ANNA, chat: int = ANNA) -> None:
    shown = raw_message("карточка", sender=42, chat=chat, message_id=under)
    query = {"id": f"cb{number}", "from": person(who), "chat_instance": "1", "message": shown, "data": data}
    await asyncio.wait_for(door._intake.take({"update_id": number, "callback_query": query}), 30)


def _waiting(world: World, session: str) -> list[InboxRow]:
    return [row for lane in ("express", "turn") for row in world.sql.list_waiting_inbox(session, lane)]  # type: ignore[arg-type]


def _toasts(wire: Wire) -> dict[str, str]:
    return {call["callback_query_id"]: call.get("text", "") for call in wire.calls("answerCallbackQuery")}


async def test_a_card_that_stands_twice_decides_once_and_the_upper_one_points_down(world: World) -> None:
    """Killed between a delivery and its note, the card is sent again: a press of either is the same decision, the other refuses politely."""
    world.model.will(reply(raise_sum()))
    async with world.working(), opened_door(world) as (door, wire):
        await world.orchestrator.receive([message("подними сумму сделки 481 до 1 200 000")])
        await until(lambda: any(call.get("reply_markup") for call in wire.calls("sendMessage")))
        await asyncio.wait_for(door.delivery.wait_until_empty(), 30)
        card = wire.last_id
        button = wire.calls("sendMessage")[-1]["reply_markup"]["inline_keyboard"][0][0]["callback_data"]
        await _pressed(door, 5, button, card - 1)
        await until(lambda: "cb5" in _toasts(wire))
        await world.idle()
        await until(lambda: any(edit["message_id"] == card - 1 for edit in wire.calls("editMessageText")))
        (moved,) = (edit for edit in wire.calls("editMessageText") if edit["message_id"] == card - 1)
        assert (moved["text"], "reply_markup" in moved) == ("↓ Эта карточка теперь ниже", False)
        await _pressed(door, 6, button, card - 1)
        await until(lambda: "cb6" in _toasts(wire))
        assert "уже" in _toasts(wire)["cb6"].lower()
        await _pressed(door, 7, button, card)
        await until(lambda: "cb7" in _toasts(wire))
        assert [name for name in world.types() if name == "CallStarted"] == ["CallStarted"]
        assert not any(edit["message_id"] == card and "теперь ниже" in edit["text"] for edit in wire.calls("editMessageText"))


async def test_a_button_that_nobody_works_is_answered_at_once(world: World) -> None:
    """Every press is answered, also of a button that an earlier version made."""
    async with opened_door(world) as (door, wire):
        await _pressed(door, 5, "a1:gone:0123456789", 501)
        await until(lambda: "cb5" in _toasts(wire))
        assert "устарела" in _toasts(wire)["cb5"]
        assert _waiting(world, f"tg:{ANNA}") == []


@pytest.mark.parametrize(("under", "stops"), [(501, True), (400, False)], ids=["of this turn", "left by an earlier turn"])
async def test_a_turn_in_a_group_is_stopped_from_the_message_that_stands_for_its_answer(world: World, under: int, *, stops: bool) -> None:
    """Drafts have their own Stop button, a placeholder has one of ours: the command /stop of whoever presses; strangers stop nothing."""
    session = f"tg:{GROUP}"
    async with opened_door(world) as (door, wire):
        await until(lambda: door.delivery.progress._group is not None)
        await door.delivery.report_partial(session, Notice(code="turn-begun", args={"turn": "t1"}))
        show = door.delivery.progress._views[session]
        show.began -= 10
        door.delivery.progress.show_due()
        await until(lambda: show.message == 501)
        await _pressed(door, 5, "s1", under, who=STRANGER, chat=GROUP)
        await _pressed(door, 6, "s1", under, chat=GROUP)
        await until(lambda: {"cb5", "cb6"} <= set(_toasts(wire)))
        rows = _waiting(world, session)
        assert [(row.kind, row.lane, row.body, row.actor["key"]) for row in rows] == (
            [("command", "express", {"name": "stop"}, f"tg:{ANNA}")] if stops else []
        )
        assert (_toasts(wire)["cb6"] == "") is stops
        assert str(STRANGER) in _toasts(wire)["cb5"]
