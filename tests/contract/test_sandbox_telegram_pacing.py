"""The Telegram sandbox counts what the bot does, brings updates again, and fails on demand as Telegram and networks do."""

import asyncio
import math
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiogram.exceptions import (
    ClientDecodeError,
    TelegramAPIError,
    TelegramBadRequest,
    TelegramForbiddenError,
    TelegramNetworkError,
    TelegramRetryAfter,
    TelegramServerError,
)
from aiogram.methods import SendMessageDraft

from tests.contract.sandbox_telegram_kit import BORIS, VERA, Kit, keyboard, opened

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


async def test_the_limits_of_telegram_let_short_bursts_pass(tmp_path: Path) -> None:
    """The preset holds 1/s with a burst of 5 in a chat, 20 a minute in a group, 30/s in all; edits count, drafts have their own."""
    async with opened(tmp_path, lambda: NOW) as kit:
        limits = await kit.control("/sandbox/limits", {"preset": "telegram", "drafts_per_second": 2})
        first = await kit.bot.send_message(BORIS, "0")
        for number in range(1, 5):
            await first.edit_text(str(number))
        with pytest.raises(TelegramRetryAfter) as chat:
            await first.edit_text("5")
        await kit.bot(SendMessageDraft(chat_id=BORIS, draft_id=1, text="x"))
        with pytest.raises(TelegramRetryAfter):
            await kit.bot(SendMessageDraft(chat_id=BORIS, draft_id=1, text="xy"))
        await kit.later(1)
        await first.edit_text("5")
        group = (await kit.control("/sandbox/chats", {"title": "Отдел", "members": [BORIS]}))["chat_id"]
        for _ in range(20):
            await kit.bot.send_message(group, "x")
        with pytest.raises(TelegramRetryAfter) as minute:
            await kit.bot.send_message(group, "x")
        await kit.later(1)
        for person in range(30):
            await kit.control("/sandbox/users", {"id": 3000 + person, "first_name": "Кто-то"})
            await kit.bot.send_message(3000 + person, "x")
        with pytest.raises(TelegramRetryAfter):
            await kit.bot.send_message(VERA, "x")

    assert (limits["chat_burst"], limits["group_per_minute"], limits["total_per_second"]) == (5, 20, 30)
    assert (chat.value.retry_after, minute.value.retry_after) == (1, 60)


async def test_a_flood_wait_can_close_the_chat_and_coming_early_is_seen(tmp_path: Path) -> None:
    """`hold` refuses all until the wait is over with the seconds left; calls before it are counted as early; others pass."""
    async with opened(tmp_path, lambda: NOW) as kit:
        await kit.control("/sandbox/faults", {"kind": "429", "method": "editMessageText", "skip": 1, "retry_after": 7, "hold": True})
        sent = await kit.bot.send_message(BORIS, "0")
        await sent.edit_text("1")
        with pytest.raises(TelegramRetryAfter):
            await sent.edit_text("2")
        await kit.later(3)
        with pytest.raises(TelegramRetryAfter) as early:
            await kit.bot.send_message(BORIS, "итог")
        await kit.bot.send_message(VERA, "другой чат")
        await kit.later(4)
        await kit.bot.send_message(BORIS, "итог")
        counters = await kit.control("/sandbox/counters")

    assert early.value.retry_after == 4
    assert (counters["early"], counters["ordered"], counters["refused"]) == (1, {"429": 1}, 1)


async def test_refusals_are_counted_by_reason_and_orders_apart(tmp_path: Path) -> None:
    """A test can ask for 0 refused: what a fault caused is not the bot's doing; pace and documented limits are told per chat."""
    async with opened(tmp_path, lambda: NOW) as kit:
        sent = await kit.bot.send_message(BORIS, "раз")
        clean = await kit.control("/sandbox/counters")
        for _ in range(2):
            with pytest.raises(TelegramBadRequest, match="not modified"):
                await sent.edit_text("раз")
        await kit.control(
            "/sandbox/faults", {"kind": "refuse", "description": "Bad Request: can't parse entities", "method": "sendMessage"}
        )
        with pytest.raises(TelegramBadRequest, match="can't parse entities"):
            await kit.bot.send_message(BORIS, "два")
        for number in range(6):
            await sent.edit_text(str(number))
        full = await kit.control("/sandbox/counters")
        after = (await kit.http.delete("/sandbox/counters")).json()

    assert (clean["refused"], clean["refusals"], clean["over_limits"]) == (0, [], {"chat": 0, "group": 0, "all": 0})
    assert [(item["method"], item["code"], item["count"]) for item in full["refusals"]] == [("editMessageText", 400, 2)]
    assert full["refusals"][0]["reason"].startswith("Bad Request: message is not modified")
    assert (full["refused"], full["ordered"], full["over_limits"]["chat"]) == (2, {"refuse": 1}, 2)
    assert full["rates"]["chats"][str(BORIS)] == {"sends": 1, "edits": 6, "drafts": 0, "peak_second": 7, "peak_minute": 7}
    assert (after["refused"], after["calls"]) == (0, 0)


AFTER_STORING: list[tuple[dict[str, Any], type[Exception], int]] = [
    ({"kind": "html_after"}, ClientDecodeError, 1),
    ({"kind": "lost_answer"}, TelegramNetworkError, 1),
    ({"kind": "html"}, ClientDecodeError, 0),
    ({"kind": "429", "retry_after": None}, TelegramAPIError, 0),
    ({"kind": "refuse", "code": 403, "description": "Forbidden: user is deactivated"}, TelegramAPIError, 0),
]


async def test_a_failed_answer_tells_nothing_of_what_was_stored(kit: Kit) -> None:
    """A 502 and a cut connection may come after the message was stored; a 429 without a number has no number; slow is only slow."""
    for fault, error, stored in AFTER_STORING:
        before = len(await kit.seen())
        await kit.control("/sandbox/faults", {"method": "sendMessage", **fault})
        with pytest.raises(error) as caught:
            await kit.bot.send_message(BORIS, "x")
        assert not isinstance(caught.value, TelegramRetryAfter)
        assert len(await kit.seen()) - before == stored, fault
    await kit.control("/sandbox/faults", {"kind": "slow", "seconds": 0.2})
    began = asyncio.get_running_loop().time()
    await kit.bot.send_message(BORIS, "медленно")

    assert asyncio.get_running_loop().time() - began >= 0.2


async def test_updates_come_again_and_old_presses_cannot_be_answered(kit: Kit) -> None:
    """Confirmed updates return once as they were or under new ids, an old press is delivered and too old to answer."""
    card = await kit.bot.send_message(BORIS, "?", reply_markup=keyboard([("Да", "y")]))
    await kit.say("раз")
    await kit.say("два")
    taken = await kit.bot.get_updates()
    await kit.bot.get_updates(offset=taken[-1].update_id + 1)
    await kit.control("/sandbox/updates/again", {"last": 1})
    waiting = await kit.bot.get_updates(offset=taken[-1].update_id + 1)
    none = await kit.bot.get_updates(offset=taken[-1].update_id + 1)
    await kit.control("/sandbox/updates/again", {"last": 2, "new_ids": True})
    renewed = await kit.bot.get_updates(offset=taken[-1].update_id + 1)
    press = {"message_id": card.message_id, "data": "y", "age": 100}
    await kit.control(f"/sandbox/users/{BORIS}/press", press)
    query = (await kit.bot.get_updates(offset=renewed[-1].update_id + 1))[0].callback_query
    assert query is not None
    with pytest.raises(TelegramBadRequest, match="query is too old"):
        await kit.bot.answer_callback_query(query.id)

    assert [update.update_id for update in waiting] == [taken[-1].update_id]
    assert none == []
    assert [update.message.text for update in renewed if update.message] == ["раз", "два"]
    assert renewed[0].update_id > taken[-1].update_id


FAULTS: list[tuple[str, type[Exception], int]] = [
    ("429", TelegramRetryAfter, 0),
    ("500", TelegramServerError, 0),
    ("html", ClientDecodeError, 0),
    ("403_blocked", TelegramForbiddenError, 0),
    ("timeout", TelegramNetworkError, 0),
    ("lost_answer", TelegramNetworkError, 1),
]


async def test_each_fault_reaches_the_bot_as_the_error_it_is(kit: Kit) -> None:
    """Every kind raises aiogram's own error; only a lost answer has sent the message; afterwards all is well again."""
    delivered = 0
    for kind, error, sent in FAULTS:
        fault = {"method": "sendMessage", "kind": kind, "times": 1, "retry_after": 7, "seconds": 0.05}
        await kit.control("/sandbox/faults", fault)
        with pytest.raises(error) as caught:
            await kit.bot.send_message(BORIS, kind)
        if isinstance(caught.value, TelegramRetryAfter):
            assert caught.value.retry_after == 7
        delivered += sent
        assert len(await kit.seen()) == delivered, kind
    await kit.bot.send_message(BORIS, "снова хорошо")
    log = (await kit.control("/sandbox/requests"))["requests"]

    assert [entry.get("fault") for entry in log] == [*[kind for kind, _, _ in FAULTS], None]


async def test_a_fault_meets_only_the_calls_it_was_armed_for(kit: Kit) -> None:
    """Method, chat and number of times are respected; disarming ends it."""
    await kit.control("/sandbox/faults", {"method": "sendmessage", "kind": "500", "times": 2, "chat_id": VERA})
    await kit.bot.get_me()
    await kit.bot.send_message(BORIS, "мимо")
    with pytest.raises(TelegramServerError):
        await kit.bot.send_message(VERA, "раз")
    left = await kit.control("/sandbox/faults")
    await kit.http.delete("/sandbox/faults")
    await kit.bot.send_message(VERA, "прошло")
    wrong = await kit.http.post("/sandbox/faults", json={"kind": "earthquake"})

    assert [fault["times"] for fault in left["faults"]] == [1]
    assert wrong.status_code == 400


async def test_flood_limits_hold_when_they_are_switched_on(kit: Kit) -> None:
    """A chat takes its message in so many seconds, a group its number a minute; the seconds to wait are told truly."""
    group = (await kit.control("/sandbox/chats", {"title": "Отдел", "members": [BORIS]}))["chat_id"]
    await kit.control("/sandbox/limits", {"chat_per_second": 1 / 30, "group_per_minute": 2})
    begun = time.monotonic()
    card = await kit.bot.send_message(BORIS, "раз", reply_markup=keyboard([("Да", "y")]))
    with pytest.raises(TelegramRetryAfter) as edit:
        await card.edit_text("два")
    since = time.monotonic() - begun
    await kit.later(30.1)
    await card.edit_text("два")
    begun = time.monotonic()
    await kit.bot.send_message(group, "1")
    await kit.bot.send_message(group, "2")
    await kit.later(20)
    with pytest.raises(TelegramRetryAfter) as third:
        await kit.bot.send_message(group, "3")
    meanwhile = time.monotonic() - begun
    await kit.later(third.value.retry_after)
    await kit.bot.send_message(group, "3")

    assert math.ceil(30 - since) <= edit.value.retry_after <= 30
    assert math.ceil(40 - meanwhile) <= third.value.retry_after <= 40
