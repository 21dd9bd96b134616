"""A named currency from the words to the portal, and a forward with its comment, over real HTTP."""

import pytest

from tests.e2e.e2e_kit import World
from tests.e2e.e2e_people import Shown

UPDATE = "crm.deal.update"


def plain(text: str) -> str:
    """Without the spaces that do not break."""
    return text.replace("\u00a0", " ")


async def approved(world: World, card: Shown) -> None:
    """A sum of another currency takes two presses."""
    await world.boris.decide(card, "Выполнить")
    again = await world.boris.message(card.number)
    sure = next(words for words in again.buttons if "Точно" in words)
    await world.boris.decide(again, sure.removeprefix("⚠️ "))


@pytest.mark.req("S004-29")
async def test_dollars_are_never_written_as_roubles(world: World) -> None:
    """The sum is refused with the words that work; these change both, shown as both, and both are taken back."""
    async with world.bot():
        first = (await world.boris.ask("поставь сделке 481 сумму 5000 долларов"))[-1]
        assert "Сделка №481 в рублях, а сумма названа в долларах" in first.text
        wish = plain(first.text).partition("напишите: «")[2].partition("»")[0]
        assert wish == "смени валюту сделки 481 на доллары и сумму на 5 000"
        assert await world.writes() == []

        card = await world.boris.card(wish)
        assert "Сумма: 120 000 ₽ → 5 000 $" in plain(card.text)
        assert "Валюта" in card.text
        await approved(world, card)
        deal = await world.record("deal", 481)
        assert (deal["OPPORTUNITY"], deal["CURRENCY_ID"]) == ("5000.00", "USD")

        other = (await world.boris.ask("подними сумму сделки 481 до 9000 рублей"))[-1]
        assert "Сделка №481 в долларах, а сумма названа в рублях" in other.text
        assert await world.writes() == [UPDATE]

        done = await world.boris.sees(card.number, "Выполнено")
        await world.boris.press(card.number, done.data("Отменить"))
        undo = (await world.boris.answered(other.number))[-1]
        assert "5 000 $ → 120 000 ₽" in plain(undo.text)
        await approved(world, undo)
        deal = await world.record("deal", 481)
        assert (deal["OPPORTUNITY"], deal["CURRENCY_ID"]) == ("120000.00", "RUB")


@pytest.mark.req("S004-29")
async def test_a_new_deal_is_in_the_currency_that_was_named(world: World) -> None:
    """Three thousand euros stay euros."""
    async with world.bot():
        card = await world.boris.card("создай сделку Экспорт на 3000 евро")
        assert "3 000 €" in plain(card.text)
        await world.boris.decide(card, "Выполнить")
        (made,) = await world.calls("crm.deal.add")
        assert "EUR" in str(made)
