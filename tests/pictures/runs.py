"""Scenes of runs: what is sent into one, its card, what a lead denies, and the list. Played by name: their pictures have a folder of their own."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from bot.plugins.building import load_installed_engines
from examples.engines.definitions import load_engines
from orchestrator.runs.registry import StaticDefinitions
from tests.e2e.e2e_people import Person, Shown, until
from tests.pictures.studio import RULES, Scene, Studio

LEAD_DECIDES: Final = """rules:
  - {entity: deal, field: OPPORTUNITY, above: 100000, role: manager, then: lead, why: Скидки подтверждает руководитель}
"""
QUALIFICATION: Final[dict[str, Any]] = {
    "name": "Квалификация лида",
    "description": "Имя, бюджет и срок нового клиента",
    "show_progress": True,
    "allow_back": True,
    "allow_cancel": True,
    "steps": [
        {"type": "input", "params": {"prompt": "Как зовут клиента?", "input_variable": "client"}},
        {"type": "input", "params": {"prompt": "Какой у клиента бюджет?", "input_variable": "sum", "buttons": ["До миллиона", "Больше"]}},
        {"type": "input", "params": {"prompt": "Когда начинаем?", "input_variable": "when"}},
    ],
}
BRIEF: Final[dict[str, Any]] = {
    "name": "Бриф",
    "steps": [{"type": "input", "params": {"prompt": "Что нужно клиенту?", "input_variable": "need"}}],
}
PETER: Final = {"phone_number": "+7 900 123-45-67", "first_name": "Пётр", "last_name": "Ильин"}


async def runs(studio: Studio) -> None:
    """A client out of a contact and a document, then a discount; two runs wait and are listed."""
    await _begin(studio, RULES)
    boris = studio.world.boris
    await boris.ask("/client")
    record = await boris.sees_words(await boris.send("contact", **PETER), "Создать контакт")
    await boris.decide(record, "Выполнить")
    contract = b64encode(bytes(184_320)).decode()
    await boris.answered(await boris.send("document", file_name="Договор с Ильиным.pdf", mime="application/pdf", base64=contract), 2)
    await studio.shoot("sent", boris)
    card = await _ask_for_discount(boris)
    await studio.shoot("card", boris, last=len(await boris.seen(card.number - 2)) + 1)
    await boris.ask("/client")
    await boris.ask("/runs")
    await studio.shoot("list", boris, last=2)


async def runs_denied(studio: Studio) -> None:
    """A card of a run that the lead denies with a reason; the run can be repeated."""
    await _begin(studio, LEAD_DECIDES)
    boris, anna = studio.world.boris, studio.world.anna
    await _ask_for_discount(boris)
    await until(anna.seen, "the lead's copy")
    await studio.world.settled()
    await anna.decide((await anna.seen())[-1], "причиной")
    await anna.ask("Ромашка уже согласилась на полную цену")
    await boris.sees_words(0, "не выполнен")
    await studio.world.settled()
    await studio.shoot("lead-denied", anna)
    await studio.shoot("denied", boris)


async def schedules(studio: Studio) -> None:
    """What starts by itself is listed; after days without the bot it starts once, late, and says so."""
    await _begin(studio, RULES)
    boris, world = studio.world.boris, studio.world
    for definition, *when in (
        ("Новый клиент", "--cron", "0 9 * * 1-5", "--note", "заявки с сайта"),
        ("Скидка", "--cron", "30 18 L * *"),
        ("Скидка", "--at", (studio.clock.now() + timedelta(days=40)).isoformat(timespec="seconds")),
    ):
        code, told = await world.command("schedules", "add", "steps", definition, "--for", boris.session, *when)
        assert code == 0, told
    await world.settled()
    await boris.ask("/schedules")
    await studio.shoot("list", boris)
    await studio.bot.aclose()
    studio.clock.ahead += timedelta(days=5)
    (await world.telegram.post("/sandbox/clock", json={"seconds": timedelta(days=5).total_seconds()})).raise_for_status()
    count = len(await boris.seen())
    await _begin(studio, RULES)
    await boris.sees_words(count, "должен был запуститься")
    await world.settled()
    await studio.shoot("late", boris, last=len(await boris.seen()) - count)


async def scenarios(studio: Studio) -> None:
    """A scenario from the list: how far it is, a step back, a second one beside it that gets the words, and the end by a button."""
    definitions = StaticDefinitions({("scenario", "lead"): QUALIFICATION, ("scenario", "brief"): BRIEF})
    await studio.bot.aclose()
    await studio.begin(RULES, replace(load_installed_engines(), definitions=definitions))
    boris = studio.world.boris
    (listed,) = await boris.ask("/run")
    await boris.decide(listed, "Квалификация")
    await boris.sees_words(listed.number, "Как зовут")
    await boris.ask("Пётр Ильин")
    question = await boris.sees_words(listed.number, "бюджет")
    await studio.shoot("steps", boris)
    await boris.decide(question, "Шаг назад")
    await boris.sees_words(question.number, "Как зовут")
    await boris.ask("Пётр Ильич Ильин")
    again = await boris.sees_words(question.number, "бюджет")
    await boris.ask("/run brief")
    await boris.ask("Сайт на две страницы")
    await boris.decide(again, "Отменить")
    await boris.sees_words(again.number, "отменили")
    await studio.world.settled()
    await studio.shoot("chosen", boris, last=len(await boris.seen(again.number)) + 1)


async def _begin(studio: Studio, policy: str) -> None:
    await studio.bot.aclose()
    await studio.begin(policy, load_engines())


async def _ask_for_discount(person: Person) -> Shown:
    """Start the run that lowers the sum of a deal, choose ten per cent, and return the card of the call."""
    question = (await person.ask("/price"))[-1]
    await person.decide(question, "10 %")
    return await person.sees_words(question.number, "120 000 ₽ → 108 000 ₽")


SCENES: Final[Sequence[Scene]] = (runs, runs_denied, schedules, scenarios)
