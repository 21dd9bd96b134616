"""Runs in the sandbox's Telegram: a person talks, decides and cancels beside runs that go on."""

import asyncio
from collections.abc import AsyncIterator

import pytest

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
