"""An administrator stops all writing, in Telegram or in a terminal, and lets it start again; everybody is told in one sentence."""

import asyncio

import pytest

from tests.e2e.e2e_kit import World

RAISE = "подними сумму сделки Ромашка до 150 000"
TASK = "создай задачу мне на завтра: позвонить клиенту"


@pytest.mark.req("S004-28", "S004-31")
async def test_frozen_writes_wait_and_run_once_after_the_release(world: World) -> None:
    """Nothing is written meanwhile, the waiting card stays, reads go on; after the release one press makes one call."""
    async with world.bot():
        card = await world.boris.card(RAISE)
        assert "только администратор" in (await world.boris.ask("/freeze хочу"))[-1].text

        assert "остановлена для всех" in (await world.olga.ask("/freeze сверка с бухгалтерией"))[-1].text
        told = (await world.boris.ask(TASK))[-1].text
        assert "Запись в Битрикс24 остановлена (Ольга Романова, в " in told
        assert "сверка с бухгалтерией" in told
        assert "Ромашка" in str([message.text for message in await world.boris.ask("покажи мои сделки")])
        toast = await world.boris.decide(card, "Выполнить")
        assert toast.startswith("⛔ Запись остановлена (Ольга Романова, в ")
        assert toast.endswith("Карточка ждёт")
        assert (await world.boris.message(card.number)).is_card
        assert "остановлена" in (await world.boris.ask("/status"))[-1].text
        assert await world.writes() == []

    async with world.bot():  # a restart changes nothing
        assert "остановлена" in await world.boris.decide(card, "Выполнить")
        asked = (await world.olga.ask("/unfreeze"))[-1]
        await world.olga.press(asked.number, asked.data("Разрешить запись"))
        await world.olga.answered(asked.number)
        for _ in range(2):
            await world.boris.toast(await world.boris.press(card.number, card.data("Выполнить")))
        await world.boris.sees(card.number, "Выполнено")
        assert await world.writes() == ["crm.deal.update"]


@pytest.mark.long
@pytest.mark.req("S004-28")
async def test_a_command_freezes_beside_the_running_bot(world: World) -> None:
    """`sdelka freeze` counts from the moment it returns; the administrator reads of it once, also of its end."""
    async with world.bot():
        await world.boris.ask("/status")
        before = await world.olga.say("/status")
        await world.olga.answered(before)
        async with world.process("freeze", "--reason", "учение") as other, asyncio.timeout(30):
            assert await other.wait() == 0
        assert "Запись в Битрикс24 остановлена" in (await world.boris.ask(TASK))[-1].text
        await world.olga.answered(before, 2)
        assert (await world.command("freeze", "--status"))[0] == 1
        assert (await world.command("freeze", "--off"))[0] == 0
        assert (await world.command("freeze", "--status"))[0] == 0
        news = [message.text for message in (await world.olga.answered(before, 3))[1:]]
        assert ["остановлена для всех" in news[0], "снова разрешена" in news[1], len(news)] == [True, True, 2]
        assert "учение" in news[0]
        await world.boris.ask(TASK)
        assert len(await world.writes()) == 1
