"""Runs in the sandbox's Telegram: a person talks, decides and cancels beside runs that go on, over a restart as well."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import engines
from examples.engines.definitions import load_engines
from state.journal.run_index import PREFIX, RunFilter
from tests.e2e.e2e_kit import World, texts
from tests.e2e.e2e_people import Person, Shown

PETER = {"phone_number": "+7 900 123-45-67", "first_name": "Пётр", "last_name": "Ильин"}
HELD = 60.0
"""Seconds that the portal would let the write of the run wait; it is let go once the chat was answered."""


@pytest.fixture
async def open_world(world: World) -> AsyncIterator[World]:
    """A world whose bot has the example engines with their commands."""
    async with world.bot(engines=load_engines()):
        yield world


@pytest.mark.req("G1")
async def test_a_person_chats_approves_and_cancels_all_at_once(open_world: World) -> None:
    """One write; the chat is answered while the approved call is on its way; nothing comes from the cancelled run any more."""
    world, boris = open_world, open_world.boris
    card = await _ask_for_discount(boris)
    (asked,) = await boris.ask("/client")
    assert "контакт клиента" in asked.text
    await world.break_portal("delay", "crm.deal.update", seconds=HELD, times=1)

    _, said, cancelled = await asyncio.gather(
        boris.press(card.number, card.data("Выполнить")), boris.say("покажи мои сделки"), boris.say("/cancel Новый клиент")
    )
    answer, stopped = await asyncio.gather(boris.sees_words(said, "открытые сделки"), boris.sees_words(cancelled, "«Новый клиент» отменён"))
    assert await world.writes() == ["crm.deal.update"]
    assert "Выполнено" not in (await boris.message(card.number)).text
    await world.portal.delete("/sandbox/faults")
    done = await boris.sees(card.number, "Выполнено")
    ended = await boris.sees_words(card.number, "Отправьте клиенту предложение")
    assert max(answer.number, stopped.number) < ended.number
    assert "108 000 ₽" in done.text

    await boris.answered(await boris.send("contact", **PETER))
    assert await world.writes() == ["crm.deal.update"]
    assert (await world.record("deal", 481))["OPPORTUNITY"] == "108000.00"
    assert "подписанный договор" not in texts(await boris.seen())
    assert await _list_ends(world, boris) == {"Скидка": ("done", "RunFinished"), "Новый клиент": ("cancelled", "RunFinished")}


async def _ask_for_discount(person: Person) -> Shown:
    """Start the run that lowers the sum of a deal, choose ten per cent, and return the card of the call."""
    (question,) = await person.ask("/price")
    await person.press(question.number, question.data("10 %"))
    return await person.sees_words(question.number, "120 000 ₽ → 108 000 ₽")


async def _list_ends(world: World, person: Person) -> dict[str, tuple[str, str]]:
    """Definition → (status, last event) of the runs that are shown in the person's chat."""
    assert world.running is not None
    store = world.running.store
    found = await store.list_runs(RunFilter(home=person.session))
    return {row.definition: (row.status, (await store.read_events(f"{PREFIX}{row.run_id}"))[-1].type) for row in found}


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
