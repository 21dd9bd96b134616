"""A stranger who calls themselves like the head of sales: what the administrator, the head and everybody else read in Telegram."""

import pytest

from tests.e2e.e2e_kit import World
from tests.e2e.e2e_people import Person

RAISE = "подними сумму сделки Ромашка до 150 000"


async def _stranger(world: World, name: str) -> Person:
    number = world.first_id * 100 + 66
    answer = await world.telegram.post("/sandbox/users", json={"id": number, "first_name": name, "role": "lead"})
    assert answer.is_success, answer.text
    return Person(number, number, name, world.telegram, world.settled)


@pytest.mark.req("S004-20")
async def test_nobody_becomes_the_head_of_sales_by_their_name(world: World) -> None:
    """The card warns, the employee is marked, one question more names both numbers; the head is told; one button takes it back."""
    async with world.bot():
        anna, olga = world.anna, world.olga
        await anna.ask("/status")
        told = await anna.say("/status")
        await anna.answered(told)
        last = await olga.say("/status")
        await olga.answered(last)
        false = await _stranger(world, "Анна Ковалёва")
        await false.ask("привет")

        card = (await olga.answered(last, 2))[-1]
        assert f"Просит доступ: Анна Ковалёва, ID {false.number}." in card.text
        assert "Имя в Telegram каждый выбирает сам, оно ничего не доказывает" in card.text
        await olga.decide(card, "Пустить как руководителя")
        which = await olga.sees(card.number, "Кто это в Битрикс24?")
        while not (mine := [text for text in which.buttons if "Анна Ковалёва" in text]):
            await olga.decide(which, "Ещё")
            which = await olga.message(card.number)
        assert mine == [f"Анна Ковалёва · №6 · уже есть доступ: Telegram {anna.number}"]
        await olga.decide(which, mine[0])
        asked = await olga.sees(card.number, f"уже есть доступ: Telegram {anna.number}. Пустить ещё один")
        assert "Вас пока нет в списке" in (await false.seen())[-1].text

        await olga.decide(asked, "Да, это второй Telegram")
        let_in = await olga.sees(card.number, "теперь работает со мной: руководитель")
        warning = (await anna.answered(told, 2))[-1].text
        assert f"подключён второй Telegram: Анна Ковалёва, ID {false.number}. Если это не вы" in warning
        assert (await false.ask("/status"))[-1].text.startswith("Режим")

        await olga.decide(let_in, "Забрать доступ")
        await olga.decide(await olga.sees(card.number, "Забрать доступ? "), "Да, забрать доступ")
        await olga.sees(card.number, "Доступ забран: Анна Ковалёва")
        assert "Ваш доступ закрыт администратором" in (await false.seen())[-1].text
