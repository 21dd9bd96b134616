"""The Telegram sandbox hands updates out as Telegram does: by polling or by webhook, once confirmed gone, kept for their time."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import ClientDecodeError, TelegramConflictError, TelegramUnauthorizedError
from aiohttp import web

from tests.contract.sandbox_telegram_kit import BORIS, Kit, keyboard, opened, until


async def test_the_bot_learns_who_it_is_and_a_wrong_token_learns_nothing(kit: Kit) -> None:
    """The known token is answered, any other gets 401; an unknown method is 404; names have no case."""
    me = await kit.bot.get_me()
    unknown = await kit.call("getNothing")
    bare = await kit.call("GETME")
    base = TelegramAPIServer.from_base(str(kit.http.base_url))
    async with AiohttpSession(api=base) as session:
        with pytest.raises(TelegramUnauthorizedError):
            await Bot("2:sandbox", session=session).get_me()

    assert (me.id, me.is_bot) == (1, True)
    assert unknown == {"ok": False, "error_code": 404, "description": "Not Found: method not found"}
    assert bare["result"]["username"] == me.username


async def test_a_long_poll_wakes_for_a_message_and_the_offset_confirms(kit: Kit) -> None:
    """A waiting poll returns at once, unconfirmed updates come again, confirmed ones never; ids grow by one."""
    waiting = asyncio.create_task(kit.bot.get_updates(timeout=30))
    await until(lambda: _asked(kit, 1))
    sent = await kit.say("/start привет")
    first = await asyncio.wait_for(waiting, 25)
    await kit.say("ещё")
    again = await kit.bot.get_updates()
    rest = await kit.bot.get_updates(offset=again[0].update_id + 1)
    none = await kit.bot.get_updates(offset=again[1].update_id + 1)
    afterwards = await kit.bot.get_updates()

    message = first[0].message
    assert message is not None
    assert message.from_user is not None
    assert (message.text, message.from_user.id, message.chat.id) == ("/start привет", BORIS, BORIS)
    assert [entity.type for entity in message.entities or []] == ["bot_command"]
    assert first[0].update_id == sent["update_id"]
    assert [item.update_id for item in again] == [sent["update_id"], sent["update_id"] + 1]
    assert [item.update_id for item in rest] == [sent["update_id"] + 1]
    assert none == afterwards == []


async def test_a_second_poller_sends_the_first_away(kit: Kit) -> None:
    """Two pollers at once: the one that waits gets 409, the newcomer gets the updates."""
    first = asyncio.create_task(kit.bot.get_updates(timeout=30))
    await until(lambda: _asked(kit, 1))
    second = asyncio.create_task(kit.bot.get_updates(timeout=30))
    with pytest.raises(TelegramConflictError, match="terminated by other getUpdates request"):
        await asyncio.wait_for(first, 25)
    await kit.say("кому?")
    updates = await asyncio.wait_for(second, 25)

    assert len(updates) == 1


async def test_presses_fade_after_150_seconds_and_messages_after_a_day(kit: Kit) -> None:
    """What waits too long is dropped, each kind after its own time."""
    card = await kit.bot.send_message(BORIS, "карточка", reply_markup=keyboard([("Да", "y")]))
    await kit.say("сообщение")
    await kit.control(f"/sandbox/users/{BORIS}/press", {"message_id": card.message_id, "data": "y"})
    await kit.later(149)
    both = await kit.bot.get_updates()
    await kit.later(2)
    message_only = await kit.bot.get_updates()
    await kit.later(24 * 60 * 60)
    nothing = await kit.bot.get_updates()

    kinds = [[update.event_type for update in batch] for batch in (both, message_only, nothing)]
    assert kinds == [["message", "callback_query"], ["message"], []]


async def test_kinds_that_were_not_asked_for_never_come(kit: Kit) -> None:
    """allowed_updates is remembered until another list is sent."""
    await kit.bot.get_updates(allowed_updates=["callback_query"])
    dropped = await kit.say("не услышат")
    await kit.bot.get_updates()
    still = await kit.say("тоже")
    await kit.bot.get_updates(allowed_updates=["message"])
    heard = await kit.say("слышно")
    updates = await kit.bot.get_updates()

    assert (dropped["update_id"], still["update_id"]) == (None, None)
    assert [update.update_id for update in updates] == [heard["update_id"]]


async def test_one_unreadable_update_stops_a_careless_client_until_it_is_confirmed(kit: Kit) -> None:
    """`bad_update` puts an update in the queue that aiogram cannot decode; a raw reader can step over it."""
    await kit.control("/sandbox/faults", {"method": "getUpdates", "kind": "bad_update"})
    with pytest.raises(ClientDecodeError):
        await kit.bot.get_updates()
    after = await kit.say("после плохого")
    with pytest.raises(ClientDecodeError):
        await kit.bot.get_updates()
    raw = (await kit.call("getUpdates"))["result"]
    good = await kit.bot.get_updates(offset=raw[0]["update_id"] + 1)

    assert [update["message"]["message_id"] for update in raw] == ["not a number", after["message_id"]]
    assert [update.update_id for update in good] == [after["update_id"]]


async def test_a_webhook_gets_updates_in_order_and_again_until_it_answers_2xx(tmp_path: Path) -> None:
    """The secret is in the header, a 500 is repeated, the order holds, and polling is refused meanwhile."""
    got: list[tuple[str, str]] = []

    async def receive(request: web.Request) -> web.Response:
        update: dict[str, Any] = await request.json()
        got.append((request.headers.get("X-Telegram-Bot-Api-Secret-Token", ""), update["message"]["text"]))
        return web.Response(status=500 if len(got) == 1 else 200)

    app = web.Application()
    app.router.add_post("/hook", receive)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    async with opened(tmp_path, webhook_retry_seconds=0.02) as kit:
        await kit.bot.set_webhook(f"http://127.0.0.1:{runner.addresses[0][1]}/hook", secret_token="s3cret")
        await kit.say("раз")
        await kit.say("два")
        await until(lambda: _reached(got, 3))
        with pytest.raises(TelegramConflictError, match="webhook is active"):
            await kit.bot.get_updates()
        info = await until(lambda: _delivered(kit))
        await kit.bot.delete_webhook()
        assert await kit.bot.get_updates() == []
    await runner.cleanup()

    assert got == [("s3cret", "раз"), ("s3cret", "раз"), ("s3cret", "два")]
    assert "500" in (info.last_error_message or "")


async def _asked(kit: Kit, times: int) -> bool:
    calls = (await kit.control("/sandbox/requests"))["requests"]
    return len([call for call in calls if call["method"] == "getUpdates"]) >= times


async def _reached(got: list[Any], count: int) -> bool:
    return len(got) >= count


async def _delivered(kit: Kit) -> Any:
    info = await kit.bot.get_webhook_info()
    return info if info.pending_update_count == 0 else None
