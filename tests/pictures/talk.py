"""Scenes of talking, of people, and of a day."""

import asyncio
from collections.abc import Sequence
from datetime import time
from typing import Final

from tests.e2e.e2e_people import until
from tests.pictures.studio import Scene, Studio, more, next_at, says


async def today(studio: Studio) -> None:
    """/today, the digest, the evening summary, reminders."""
    boris, anna = studio.world.boris, studio.world.anna
    for number in range(427, 455, 3):  # half of the deals are enough for a picture
        await studio.world.edit("deal", number, ASSIGNED_BY_ID="8")
    await studio.later(next_at(studio.clock.now(), time(10, 20)))
    await boris.ask("/today")
    await studio.shoot("today", boris)
    await boris.ask("напомни завтра в 11 позвонить Ромашке")
    await studio.shoot("reminder", boris, last=2)
    await boris.ask("/reminders")
    await studio.shoot("reminders", boris, last=2)
    settings = (await boris.ask("/settings"))[-1]
    await studio.shoot("settings", boris, last=2)
    await boris.decide(settings, "сводка")
    settings = (await anna.ask("/settings"))[-1]
    await anna.decide(settings, "итог")
    found = await boris.card("подними сумму сделки Ромашка до 150 000")
    await boris.decide(found, "Выполнить")
    before = len(await boris.seen())
    evening = len(await anna.seen())
    await studio.later(next_at(studio.clock.now(), time(18, 1)))
    await until(more(anna, evening), "the evening summary")
    await studio.world.settled()
    await studio.shoot("evening", anna, last=1)
    await studio.later(next_at(studio.clock.now(), time(9, 1)))
    await until(more(boris, before), "the digest")
    await studio.world.settled()
    await studio.shoot("digest", boris, last=2)
    await studio.later(next_at(studio.clock.now(), time(11)))
    await until(lambda: says(boris, "Напоминание"), "the reminder")
    await studio.world.settled()
    await studio.shoot("reminder-due", boris, last=1)


async def stranger(studio: Studio) -> None:
    """Somebody who is not in the list, and what the administrator sees and decides."""
    guest, olga, world = studio.world.guest, studio.world.olga, studio.world
    await guest.ask("/start")
    await studio.shoot("stranger", guest)
    await until(olga.seen, "the administrator's card")
    await world.settled()
    await studio.shoot("stranger-admin", olga)
    await olga.decide((await olga.seen())[-1], "менеджера")
    await studio.shoot("stranger-who", olga)
    await olga.decide((await olga.seen())[-1], "Орлов")
    await world.settled()
    await studio.shoot("stranger-in", olga)
    await studio.shoot("welcome", guest)


async def invited(studio: Studio) -> None:
    """Somebody with a link."""
    guest, world = studio.world.guest, studio.world
    async with world.process("invite", "--bitrix-user", "9", "--role", "lead") as process:
        assert process.stdout is not None
        said = (await process.stdout.read()).decode()
        await process.wait()
    token = next(word for word in said.split() if "start=" in word).partition("start=")[2]
    await world.settled()
    await guest.ask(f"/start {token}")
    await studio.shoot("invited", guest)


async def lists(studio: Studio) -> None:
    """Lists, short and long, with counts, sums and a file."""
    boris, anna = studio.world.boris, studio.world.anna
    await boris.ask("покажи мои сделки")
    await studio.shoot("list", boris)
    await anna.ask("покажи все сделки")
    await studio.shoot("list-long", anna)


async def forwarded(studio: Studio) -> None:
    """A customer's message becomes a lead; somebody with this phone is there already."""
    boris, world = studio.world.boris, studio.world
    text = "Здравствуйте! Это Иван Кузнецов из «Ромашки», нужны ещё два станка. Телефон +7 495 555-10-00"
    await world.script("THOUGHT: письмо\nACTION: []\nASSISTANT: Клиенту нужны ещё два станка. Что сделать?")
    await world.telegram.post(f"/sandbox/users/{boris.number}/forward", json={"texts": [text], "forward_from": "Иван Кузнецов"})
    await until(boris.seen, "an answer to the forwarded message")
    await world.settled()
    await studio.shoot("forwarded", boris)
    offer = (await boris.seen())[-1]
    await boris.decide(offer, "лид")
    await studio.shoot("duplicates", boris)
    found = next((m for m in reversed(await boris.seen()) if any("Взять" in b for b in m.buttons)), None)
    if found is not None:
        await studio.world.script("THOUGHT: есть\nACTION: []\nASSISTANT: Клиент уже есть в CRM. Поставить задачу по станкам?")
        await boris.decide(found, "Взять")
        await studio.shoot("duplicate-taken", boris)


async def voice(studio: Studio) -> None:
    """A voice message where no endpoint for audio is set."""
    boris = studio.world.boris
    await studio.world.telegram.post(f"/sandbox/users/{boris.number}/voice", json={"words": "покажи мои сделки"})
    await until(boris.seen, "an answer to the voice message")
    await studio.world.settled()
    await studio.shoot("voice-off", boris)


async def stop(studio: Studio) -> None:
    """A turn that is stopped."""
    boris, world = studio.world.boris, studio.world
    await world.break_model("stall", seconds=30, times=1)
    await boris.say("покажи мои сделки")
    await asyncio.sleep(1.0)
    await boris.ask("/stop")
    await world.settled()
    await studio.shoot("stop", boris)


async def commands(studio: Studio) -> None:
    """The typed commands."""
    boris = studio.world.boris
    for text in ("/start", "/help", "/status", "/mode", "/new"):
        await boris.ask(text)
    await studio.shoot("commands", boris)


async def injection(studio: Studio) -> None:
    """A comment that gives orders."""
    boris = studio.world.boris
    await boris.ask("что в сделке Северный ветер? прочитай комментарий")
    await studio.shoot("injection", boris)


async def creating(studio: Studio) -> None:
    """New records: a task, a lead, a contact; and something that is refused."""
    boris = studio.world.boris
    await boris.ask("создай задачу Вере на пятницу: подготовить договор для Ромашки")
    await boris.ask("создай сделку «Поставка кабеля» на 300 000 для компании Ромашка")
    await boris.ask("удали сделку Ромашка")
    await studio.shoot("creating", boris)


SCENES: Final[Sequence[Scene]] = (today, stranger, invited, lists, forwarded, voice, stop, commands, injection, creating)
