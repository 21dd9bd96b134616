"""One run with every kind of effects in the sandbox: each has its card where one is due, and happens once at its party."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from state.journal.run_index import RunFilter
from tests.e2e.e2e_kit import World, texts
from tests.e2e.effects_kit import BEFORE, SECRET, Shipping, a_shipping
from tests.mongo_kit import LEAVES_SOCKETS

pytestmark = LEAVES_SOCKETS
CARDS = (
    ("Изменить сделку «Ромашка»", "Сумма: 120 000 ₽ → 108 000 ₽", "Меняется сумма"),
    ("Записать файл «отгрузки/Ромашка.", "Строка 3: Сумма: 86 400 ₽ → Сумма: 108 000 ₽", "заменится"),
    ("Отправить сообщение в Telegram", "Кому: Вера Лебедева", "Это увидят другие люди"),
    ("Отправить данные на сайт «Склад»", "Клиент: Ромашка", "Данные уйдут на другой сайт"),
    ("Изменить записи в базе «Остатки склада»", "В резерве: прибавить 100", "касается сразу 2 записей"),
)
"""Of each card that is due, in order: its heading, one of its lines, and why it asks."""

PARTIES = ("portal", "file", "chat", "site", "database")
"""In the order in which the run reaches those whose cards it waits for."""


@pytest.fixture
async def shipping(world: World) -> AsyncIterator[Shipping]:
    """The world with the site of the warehouse, the database and the file."""
    async with a_shipping(world) as made:
        yield made


@pytest.mark.req("G1", "S000-A13")
async def test_a_run_acts_once_at_every_party_after_its_card(shipping: Shipping) -> None:
    """Five cards, each pressed twice at once; the reminder and the new entry need none. Nothing happens before its card is approved."""
    world, boris = shipping.world, shipping.world.boris
    async with world.bot(engines=await shipping.build_engines(), **shipping.build_settings()):
        (question,) = await boris.ask("/ship")
        await boris.press(question.number, question.data("100 штук"))
        last = question.number
        for number, (heading, line, reason) in enumerate(CARDS):
            card = await boris.sees_words(last, heading)
            await world.settled()
            assert await _count_acts(shipping) == {name: int(place < number) for place, name in enumerate(PARTIES)}
            assert line in card.text
            assert reason in card.text
            await asyncio.gather(*(boris.press(card.number, card.data("Выполнить")) for _ in range(2)))
            last = card.number
        await boris.sees_words(last, "склад знает")
        await world.settled()

        assert await _count_acts(shipping) == dict.fromkeys(PARTIES, 1)
        reminders = [one for one in await world.events(boris) if one.type == "ReminderSet"]
        (run,) = await world.running.store.list_runs(RunFilter(home=boris.session)) if world.running else ()
        shown = texts(await boris.seen())
    assert len(reminders) == 1
    assert run.status == "done"
    assert sum(heading in shown for heading, *_ in CARDS) == len(CARDS)
    assert "Светильники: 100 шт.\nСумма: 108 000 ₽\n" in shipping.file.read_text(encoding="utf-8")
    (entry,) = shipping.database.data.shipments.find({}, {"_id": 0})
    assert entry == {"client": "Ромашка", "product": "Светильник", "count": 100, "status": "новая"}
    assert [(row["reserved"], row["status"]) for row in shipping.database.data.stock.find()] == [
        (180, "в отгрузке"),
        (100, "в отгрузке"),
        (0, "списан"),
    ]
    head, _, body = shipping.site.received[0].partition(b"\r\n\r\n")
    assert json.loads(body) == {"deal": 481, "client": "Ромашка", "product": "Светильник", "count": 100}
    assert b"idempotency-key: " in head.lower()
    assert f"bearer {SECRET}".encode() in head.lower()
    assert SECRET not in shown + json.dumps(world.audit())


async def _count_acts(shipping: Shipping) -> dict[str, int]:
    """Return how often each party was acted on."""
    world, database = shipping.world, shipping.database
    return {
        "portal": (await world.writes()).count("crm.deal.update"),
        "file": int(shipping.file.read_text(encoding="utf-8") != BEFORE),
        "chat": len(await world.vera.seen()),
        "site": len(shipping.site.received),
        "database": len(database.list_commands("update")),
    }
