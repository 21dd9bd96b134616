"""Runs in the sandbox's Telegram: a person talks, decides and cancels beside runs that go on."""

import asyncio
import base64
from collections.abc import AsyncIterator

import pytest

from examples.engines.definitions import load_engines
from sandbox.telegram.images import draw_thumbnail
from state.journal.blobs import list_digests, unpack_file
from state.journal.run_index import PREFIX, RunFilter
from tests.e2e.e2e_kit import World, texts
from tests.e2e.e2e_people import Person, Shown

PETER = {"phone_number": "+7 900 123-45-67", "first_name": "Пётр", "last_name": "Ильин"}
MEGABYTE = 1024 * 1024
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


@pytest.mark.req("G1")
async def test_a_contact_and_a_document_go_into_a_run(open_world: World) -> None:
    """Somebody else's contact becomes a card, its approval one record, and the document a blob with the very bytes that were sent."""
    world, boris = open_world, open_world.boris
    contract = b"%PDF-1.7 the contract"
    await boris.ask("/client")
    card = await boris.sees_words(await boris.send("contact", **PETER), "Создать контакт")
    assert "Пётр Ильин" in card.text
    await boris.press(card.number, card.data("Выполнить"))
    asked = await boris.sees_words(card.number, "подписанный договор")
    sent = await boris.send("document", file_name="Договор №7.pdf", mime="application/pdf", base64=_encode(contract))
    await boris.sees_words(sent, "договор получен")
    await world.settled()

    assert "✓ Файл получен: Договор №7." in (await boris.message(asked.number)).text
    assert await world.writes() == ["crm.contact.add"]
    assert await _load_files(world, boris) == [contract]
    assert await _list_ends(world, boris) == {"Новый клиент": ("done", "RunFinished")}


@pytest.mark.req("G1")
async def test_a_file_that_is_not_given_is_asked_for_again(open_world: World) -> None:
    """A document over 20 MB and a link that expired each get one sentence; the run waits on, and the photo that comes next is taken."""
    world, boris = open_world, open_world.boris
    await boris.ask("/client")
    own = await boris.send("contact", of=boris.number)  # the person's own words: creating a record of them asks nobody
    await boris.sees_words(own, "подписанный договор")
    large = await boris.send("document", file_name="скан.tiff", base64=_encode(bytes(20 * MEGABYTE + 1)))
    await boris.sees_words(large, "Файл больше 20 МБ")
    fault = {"method": "download", "kind": "refuse", "code": 404, "description": "Not Found"}
    (await world.telegram.post("/sandbox/faults", json=fault)).raise_for_status()
    expired = await boris.send("document", file_name="договор.pdf", base64=_encode(b"x"))
    await boris.sees_words(expired, "Telegram не отдал файл")
    assert await _load_files(world, boris) == []

    photo = draw_thumbnail(1280, 720, mark="contract")
    sent = await boris.send("photo", file_name="договор.png", mime="image/png", base64=_encode(photo))
    await boris.sees_words(sent, "договор получен")
    await world.settled()
    assert await _load_files(world, boris) == [photo]
    assert await _list_ends(world, boris) == {"Новый клиент": ("done", "RunFinished")}


async def _load_files(world: World, person: Person) -> list[bytes]:
    """The contents of the files that the runs of the person's chat have taken."""
    assert world.running is not None
    store = world.running.store
    (run,) = await store.list_runs(RunFilter(home=person.session))
    woken = [one for one in await store.read_events(f"{PREFIX}{run.run_id}") if one.type == "RunWoken"]
    digests = [digest for one in woken for digest in list_digests(one.type, one.data)]
    return [unpack_file(text) for digest in digests if (text := await store.load_blob(digest)) is not None]


def _encode(content: bytes) -> str:
    return base64.b64encode(content).decode()


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
