"""kill -9 of the bot between message and answer, then a restart: at most one write, no second question to the model, and words.

One conversation is walked from kill point to kill point. What is waited for is seen from outside: the model's requests, the
portal's ledger, the calls to Telegram. Each part ends with a kill and the next one begins with a restart over the same data.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sized
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

import pytest

from tests.e2e.e2e_kit import World, texts
from tests.e2e.e2e_people import Shown, until

pytestmark = pytest.mark.long  # processes of its own

READ, UPDATE, TASK = "crm.deal.get", "crm.deal.update", "tasks.task.add"
START = 90.0
"""Seconds within which a killed bot must be back and have done what is waited for."""
Life = Callable[[], AbstractAsyncContextManager[None]]
"""One start of the bot, killed at the end."""


@pytest.mark.req("S004-A2", "G2", "S004-36")
async def test_a_bot_killed_anywhere_between_message_and_answer(world: World) -> None:
    """The model is silent, the answer is being delivered, the press is being judged, the write is on its way, a free write is."""
    life = partial(_killed_at_the_end, world)
    card = await _killed_before_the_card_is_seen(world, life)
    await _killed_while_an_approved_write_is_judged_and_sent(world, card, life)
    await _killed_during_a_free_write(world, life)


@asynccontextmanager
async def _killed_at_the_end(world: World) -> AsyncIterator[None]:
    async with world.process("run") as process:
        yield
        assert process.returncode is None, (world.folder / "bot.log").read_text(encoding="utf-8")


async def _killed_before_the_card_is_seen(world: World, life: Life) -> int:
    """The message was stored: it is answered after the restart. The model's answer was stored: it is not asked for again."""
    boris = world.boris
    await world.break_model("stall", seconds=300)
    async with life():
        sent = await boris.say("подними сумму сделки Ромашка до 150 000")
        await until(lambda: _asked(world, 1), "the model's first request", START)

    await world.model.delete("/sandbox/faults")
    await _hold_telegram(world, "sendMessage", boris.number)
    async with life():
        await until(lambda: _delivering(world, boris.number), "the answer on its way", START)
        assert await _asked(world, 2)  # its first request got no answer, so asking once more is right

    await world.telegram.delete("/sandbox/faults")
    async with life():
        await until(lambda: _count(boris.seen(sent), 1), "the card", START)
        assert len(await world.prompts()) == 2
        return next(message.number for message in await boris.seen(sent) if message.is_card)


async def _killed_while_an_approved_write_is_judged_and_sent(world: World, number: int, life: Life) -> None:
    """An approval that never led to a call is gone on with; a call without an outcome is looked for, told, and not repeated."""
    boris = world.boris
    card = await boris.message(number)
    await world.break_portal("delay", READ, seconds=300)
    seen = len(await world.calls(READ))
    async with life():
        await boris.press(number, card.data("Выполнить"))
        await until(lambda: _count(world.calls(READ), seen + 1), "the last look before the call", START)
        assert await world.writes() == []

    await world.break_portal("delay", UPDATE, seconds=1)
    async with life():
        await until(lambda: _count(world.calls(UPDATE), 1), "the approved call", START)

    await until(lambda: _raised(world), "the write that was on its way")
    async with life():
        await until(lambda: _says(world, number, "Проверил: изменение сделки «Ромашка» (Сумма: "), "words", START)
        final = await until(lambda: _executed(world, number), "the card as it ended")
        assert list(final.buttons) == ["↩ Отменить"]
        assert (await boris.toast(await boris.press(number, card.data("Выполнить")))).startswith("Уже выполнено")
        assert await world.writes() == [UPDATE]


async def _executed(world: World, number: int) -> Shown | None:
    """The card, or the second one that a kill between its delivery and the note of it has left."""
    return next((message for message in await world.boris.seen(number - 1) if "✅ Выполнено" in message.text), None)


async def _killed_during_a_free_write(world: World, life: Life) -> None:
    """The turn goes on from the recorded plan: the step is named unknown, the turn ends there, and the model is not asked again."""
    boris = world.boris
    await world.break_portal("delay_answer", TASK, seconds=300)
    async with life():
        sent = await boris.say("создай задачу мне на завтра: позвонить клиенту")
        await until(lambda: _count(world.calls(TASK), 1), "the task's call", START)
    asked = len(await world.prompts())

    async with life():
        await until(lambda: _count(boris.seen(sent), 2), "what is known of the call, and the answer", START)
        assert "Исход неизвестен" in texts(await boris.seen(sent))
        later = (await world.prompts())[asked:]
        assert later == []
        assert await world.writes() == [UPDATE, TASK]


async def _hold_telegram(world: World, method: str, chat: int) -> None:
    fault = {"method": method, "kind": "timeout", "seconds": 300, "chat_id": chat}
    assert (await world.telegram.post("/sandbox/faults", json=fault)).is_success


async def _delivering(world: World, chat: int) -> bool:
    requests = (await world.telegram.get("/sandbox/requests")).json()["requests"]
    return any(item["method"] == "sendMessage" and str(item["params"].get("chat_id")) == str(chat) for item in requests)


async def _asked(world: World, times: int) -> bool:
    return len(await world.prompts()) >= times


async def _count(found: Awaitable[Sized], wanted: int) -> bool:
    return len(await found) >= wanted


async def _raised(world: World) -> bool:
    return bool((await world.record("deal", 481))["OPPORTUNITY"] == "150000.00")


async def _says(world: World, after: int, words: str) -> bool:
    return words in texts(await world.boris.seen(after))
