"""A scenario in the sandbox's Telegram, with the bot restarted in the middle."""

from pathlib import Path

import pytest

import engines
from tests.e2e.e2e_kit import World
from tests.e2e.e2e_people import Person, Shown

LEAD = 101
FILE = Path(engines.__file__).parent / "scenarios" / "examples" / "lead_qualification.yaml"


async def publish(world: World, path: Path) -> None:
    """Save and publish an example in the terminal, as an administrator does."""
    for words in (("save", "scenario", path.stem, str(path)), ("publish", "scenario", path.stem, "1", "--revision", "1")):
        code, told = await world.command("definitions", *words)
        assert code == 0, told


async def press(person: Person, question: Shown, label: str, words: str) -> Shown:
    """Press a button of a question, and return what the scenario says next, in which these words stand."""
    await person.press(question.number, question.data(label))
    return await person.sees_words(question.number, words)


@pytest.mark.req("S000-26", "S000-28", "S000-X9")
async def test_a_person_qualifies_a_lead_while_the_bot_is_restarted(world: World) -> None:
    """Twice: at a question, whose old buttons still work, and at the card. No question comes twice, and one write each is made."""
    boris = world.boris
    async with world.bot():
        await publish(world, FILE)
        asked = await boris.sees_words(await boris.say("/run lead_qualification"), "Какой лид квалифицируем?")
        start = await boris.sees_words(await boris.say(str(LEAD)), "Начнём?")
        await press(boris, start, "Да", "Что нужно клиенту?")
        await boris.sees_words(await boris.say("Насосы для котельной"), "Какой бюджет")
        when = await boris.sees_words(await boris.say("450 000"), "Когда клиенту это нужно?")
        await world.settled()
    async with world.bot():
        who = await press(boris, when, "В этом месяце", "Кто принимает решение?")
        card = await press(boris, who, "Мой собеседник", "Сумма: 0 ₽ → 450 000 ₽")
        await world.settled()
        assert await world.writes() == []
    async with world.bot():
        await boris.press(card.number, card.data("Выполнить"))
        await boris.sees_words(card.number, f"Записал ответы в лид {LEAD}: готов к работе.")
        await world.settled()

    lead = await world.record("lead", LEAD)
    seen = [message.text for message in await boris.seen(asked.number - 1)]
    assert (lead["STATUS_ID"], lead["OPPORTUNITY"]) == ("PROCESSED", "450000.00")
    assert await world.writes() == ["crm.lead.update", "crm.timeline.comment.add"]
    assert sum("Кто принимает решение?" in text for text in seen) == 1
    assert len(seen) == len(set(seen))
