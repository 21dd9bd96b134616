"""The Telegram sandbox fails on demand as Telegram and networks do."""

import math
import time

import pytest
from aiogram.exceptions import ClientDecodeError, TelegramForbiddenError, TelegramNetworkError, TelegramRetryAfter, TelegramServerError

from tests.contract.sandbox_telegram_kit import BORIS, VERA, Kit, keyboard

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
