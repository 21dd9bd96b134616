"""kill -9 of the bot between message and answer, then a restart: at most one write, no second question to the model, and words.

One conversation is walked from kill point to kill point; what is waited for is seen from outside: the model's requests, the
portal's ledger, the chat.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from e2e_kit import World, texts
from e2e_people import Shown, until

pytestmark = pytest.mark.xdist_group("e2e-kill")

UPDATE = "crm.deal.update"


@pytest.mark.req("S004-A2", "G2")
async def test_a_bot_killed_anywhere_between_message_and_answer(world: World) -> None:
    """Walk the kill points: stored but unanswered, waiting for the model, in a free write, card shown, in an approved write."""
    boris = world.boris
    async with _killed_after(world) as killed:
        await world.break_model("stall", seconds=60)
        sent = await boris.say("подними сумму сделки Ромашка до 150 000")
        await killed(lambda: _asked(world, 1))

    await world.model.delete("/sandbox/faults")
    async with _killed_after(world) as killed:
        await boris.answered(sent, 2)
        card = next(message for message in await boris.seen(sent) if message.is_card)
        assert await _asked(world, 2)  # the answer of the first request never came, so asking again is right
        await killed(lambda: _shown(boris.message(card.number)))

    async with _killed_after(world) as killed:
        await world.break_portal("delay", UPDATE, seconds=1)
        await boris.press(card.number, card.data("Выполнить"))
        await killed(lambda: _arrived(world, UPDATE))

    async with _killed_after(world) as killed:
        told = await boris.answered(card.number)
        assert "Проверил" in texts(told) or "исход пока неизвестен" in texts(told)
        await until(lambda: _carried_out(world), "the write that was on its way")
        seen = await boris.message(card.number)
        if "Проверить" in str(seen.buttons):
            await boris.press(card.number, seen.data("Проверить"))
        await boris.sees(card.number, "✅ Выполнено")
        assert await world.writes() == [UPDATE]

        await world.break_portal("delay_answer", "tasks.task.add", seconds=60)
        sent = await boris.say("создай задачу мне на завтра: позвонить клиенту")
        await killed(lambda: _arrived(world, "tasks.task.add"))
        prompts = len(await world.prompts())

    async with _killed_after(world):
        told = await boris.answered(sent)
        assert "известен" in texts(told)
        assert await world.writes() == [UPDATE, "tasks.task.add"]
        await boris.answered(sent, 2)
        answers = [item for item in (await world.prompts())[prompts:] if not _goes_on(item)]
        assert answers == []
        assert "Режим: полный" in texts(await boris.ask("/mode"))
        assert await world.writes() == [UPDATE, "tasks.task.add"]


@asynccontextmanager
async def _killed_after(world: World) -> AsyncIterator[Callable[[Callable[[], Awaitable[object]]], Awaitable[None]]]:
    """A bot process; call what is given with what must be seen before it is killed. It dies at the end in any case."""
    async with world.process("run") as process:

        async def kill(look: Callable[[], Awaitable[object]]) -> None:
            await until(look, "the kill point", 30)
            process.kill()
            await process.wait()

        yield kill


def _goes_on(prompt: dict[str, list[dict[str, str]]]) -> bool:
    return "OBSERVATION" in prompt["messages"][-1]["content"]


async def _asked(world: World, times: int) -> bool:
    return len(await world.prompts()) >= times


async def _arrived(world: World, method: str) -> bool:
    return bool(await world.calls(method))


async def _carried_out(world: World) -> bool:
    return (await world.record("deal", 481))["OPPORTUNITY"] == "150000.00"


async def _shown(message: Awaitable[Shown]) -> bool:
    return (await message).is_card
