"""Pictures of the chat for docs/: the real bot against the sandboxes, photographed on the sandbox's chat page.

Run by hand: `python -m tests.pictures OUT [scene …]`. It proves nothing; no test imports it.
"""

import argparse
import asyncio
import calendar
import itertools
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import httpx
from playwright.async_api import Browser, async_playwright

sys.path.insert(0, str(Path(__file__).parent / "e2e"))

from e2e_kit import UNPACED, MovedClock, Running, World, opened_world, plan, step
from e2e_people import Person, Shown, until
from e2e_servers import TOKEN, Servers, running_servers

from bot.access import load_access
from bot.bootstrap import build_orchestrator, opened_store
from bot.settings import Settings
from bot.telegram.door import TelegramDoor, make_bot
from bot.telegram.files import TelegramFiles
from bot.telegram.pacing import Pacer
from bot.telegram.people import People

CHROMIUM: Final = "/usr/bin/chromium"
WIDTH: Final = 460
ZONE: Final = "Europe/Moscow"
RULES: Final = """rules:
  - {entity: deal, field: OPPORTUNITY, above: 2000000, role: manager, then: lead, why: Сделки дороже 2 млн подтверждает руководитель}
"""


@dataclass(frozen=True)
class Studio:
    """One scene's world, its clock, and where its pictures go."""

    world: World
    clock: MovedClock
    browser: Browser
    folder: Path
    bot: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def shoot(self, name: str, person: Person, *, last: int = 0) -> None:
        """The chat of that person as it stands; of a long one only the last messages."""
        page = await self.browser.new_page(viewport={"width": WIDTH, "height": 300}, locale="ru-RU", timezone_id=ZONE)
        await page.goto(f"{self.world.servers.telegram}/?solo#{person.chat}")
        await page.wait_for_selector('html[data-ready="yes"]')
        style = ".composer, .day, .chat::before { display: none !important } .chat { background: #dfe6ee } .message { animation: none !important }"
        if last:
            style += f" .messages > .message:not(:nth-last-child(-n + {last})) {{ display: none }}"
        await page.evaluate("style => { const e = new CSSStyleSheet(); e.replaceSync(style); document.adoptedStyleSheets = [e]; }", style)
        height = await page.evaluate("document.querySelector('.chat-head').offsetHeight + document.querySelector('#messages').scrollHeight")
        await page.set_viewport_size({"width": WIDTH, "height": max(200, min(height, 2000))})
        await page.screenshot(path=self.folder / f"{name}.png")
        await page.close()

    async def begin(self) -> None:
        """Start the bot, as `sdelka run` does."""
        rules = self.world.folder / "policy.yaml"
        rules.write_text(RULES, encoding="utf-8")
        self.world.running = await self.bot.enter_async_context(_bot(self.world, self.clock, rules))

    async def later(self, moment: datetime) -> None:
        """Put the clocks of the bot and of Telegram to a later moment; the bot was not running meanwhile."""
        await self.world.settled()
        await self.bot.aclose()
        ahead = moment - self.clock.now()
        self.clock.ahead += ahead
        answer = await self.world.telegram.post("/sandbox/clock", json={"seconds": ahead.total_seconds()})
        answer.raise_for_status()
        await self.begin()


Scene = Callable[[Studio], Awaitable[None]]


async def card(studio: Studio) -> None:
    """A change: asked, carried out, taken back."""
    boris = studio.world.boris
    found = await boris.card("подними сумму сделки Ромашка до 150 000")
    await studio.shoot("card", boris)
    await boris.decide(found, "Выполнить")
    await studio.shoot("card-done", boris)
    seen = await boris.message(found.number)
    await boris.decide(seen, "Отменить")
    await studio.shoot("undo-asked", boris)
    undo = (await boris.seen())[-1]
    await boris.decide(undo, "Выполнить")
    await studio.shoot("undo-done", boris)
    await boris.ask("/history 481")
    await studio.shoot("history", boris, last=2)


async def undo_refused(studio: Studio) -> None:
    """Somebody changed the field since."""
    boris = studio.world.boris
    found = await boris.card("подними сумму сделки Ромашка до 150 000")
    await boris.decide(found, "Выполнить")
    await studio.world.edit("deal", 481, OPPORTUNITY="175000", MODIFY_BY_ID="8")
    await boris.decide(await boris.message(found.number), "Отменить")
    await studio.shoot("undo-refused", boris)


async def drift(studio: Studio) -> None:
    """The record changed while the card waited."""
    boris = studio.world.boris
    found = await boris.card("подними сумму сделки Ромашка до 150 000")
    await studio.world.edit("deal", 481, OPPORTUNITY="140000")
    await boris.decide(found, "Выполнить")
    await studio.shoot("drift", boris)


async def edit(studio: Studio) -> None:
    """A value changed on the card."""
    boris = studio.world.boris
    found = await boris.card("подними сумму сделки Ромашка до 150 000")
    await boris.decide(found, "Изменить")
    await studio.shoot("edit-asked", boris)
    question = (await boris.seen())[-1]
    await boris.ask("165 тысяч", reply_to=question.number)
    await studio.shoot("edit-done", boris)


async def stage(studio: Studio) -> None:
    """Several fields of one deal, and an ambiguous name."""
    boris = studio.world.boris
    fields = {"STAGE_ID": "@stage:Финальный счёт", "CLOSEDATE": "@date:пятница", "ASSIGNED_BY_ID": "@user:Вера Лебедева"}
    await studio.world.script(plan(step("crm.deal.update", {"id": "@deal:Ромашка", "fields": fields})))
    await boris.ask("Ромашку на финальный счёт, закрытие в пятницу, отдай Вере")
    await studio.shoot("card-fields", boris)
    await boris.ask("перенеси сделку Вектор на стадию Финальный счёт")
    await studio.shoot("which-deal", boris, last=2)


async def danger(studio: Studio) -> None:
    """A sum ten times as large, which asks twice."""
    boris = studio.world.boris
    found = await boris.card("подними сумму сделки Ромашка до 1 500 000")
    await studio.shoot("danger", boris)
    await boris.decide(found, "выполнить")
    await studio.shoot("danger-second", boris)


def _batch(changes: Mapping[int, Mapping[str, Any]]) -> str:
    commands = {
        f"c{number}": f"crm.deal.update?id={number}&" + "&".join(f"fields[{name}]={value}" for name, value in fields.items())
        for number, fields in changes.items()
    }
    return plan(step("batch", {"cmd": commands}))


async def batch(studio: Studio) -> None:
    """Five commands, of which one is turned down; then twenty."""
    boris, world = studio.world.boris, studio.world
    await world.script(_batch({481: {"OPPORTUNITY": 150_000}, **{n: {"STAGE_ID": "FINAL_INVOICE"} for n in (410, 412, 413, 423)}}))
    found = await boris.card("Ромашка 150 тысяч, остальные четыре на финальный счёт")
    await studio.shoot("batch", boris)
    await boris.decide(found, "Выполнить")
    await studio.shoot("batch-done", boris)


async def batch_many(studio: Studio) -> None:
    """Twenty commands of the lead."""
    anna, world = studio.world.anna, studio.world
    await world.script(_batch({n: {"ASSIGNED_BY_ID": 8} for n in (481, 410, 412, 413, 415, 417, 419, 423, *range(424, 455, 3))}))
    found = await anna.card("передай все сделки Бориса Вере")
    await studio.shoot("batch-many", anna)
    await anna.decide(found, "Выполнить")
    await studio.shoot("batch-many-done", anna)


def _raise(amount: int) -> dict[str, Any]:
    return step("crm.deal.update", {"id": "@deal:Ромашка", "fields": {"OPPORTUNITY": amount}})


async def lead(studio: Studio) -> None:
    """A change that the lead decides: denied with a reason, then approved."""
    boris, anna, world = studio.world.boris, studio.world.anna, studio.world
    await world.script(plan(_raise(2_500_000)))
    await boris.ask("Ромашка теперь 2,5 млн")
    await studio.shoot("lead-waits", boris)
    await until(anna.seen, "the lead's copy")
    await world.settled()
    await studio.shoot("lead-card", anna)
    await boris.ask("/pending")
    await studio.shoot("pending", boris, last=2)
    copy = (await anna.seen())[-1]
    await anna.decide(copy, "причиной")
    await studio.shoot("lead-why", anna)
    await anna.ask("Нет подписанного договора, вернёмся после встречи")
    await studio.shoot("lead-denied", anna)
    await studio.shoot("lead-denied-requester", boris)
    await world.script(plan(_raise(2_400_000)))
    await boris.ask("договор подписан, поставь Ромашке 2,4 млн")
    await until(lambda: anna.seen(copy.number + 2), "the lead's second copy")
    await world.settled()
    await anna.decide(next(m for m in reversed(await anna.seen()) if m.buttons), "выполнить")
    await anna.decide((await anna.seen())[-1], "выполнить")
    await studio.shoot("lead-approved", anna, last=1)
    await studio.shoot("lead-approved-requester", boris, last=3)


async def today(studio: Studio) -> None:
    """/today, the digest, the evening summary, reminders."""
    boris, anna = studio.world.boris, studio.world.anna
    for number in range(427, 455, 3):  # half of the deals are enough for a picture
        await studio.world.edit("deal", number, ASSIGNED_BY_ID="8")
    await studio.later(_next_at(studio.clock.now(), time(10, 20)))
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
    await studio.later(_next_at(studio.clock.now(), time(18, 1)))
    await until(_more(anna, evening), "the evening summary")
    await studio.world.settled()
    await studio.shoot("evening", anna, last=1)
    await studio.later(_next_at(studio.clock.now(), time(9, 1)))
    await until(_more(boris, before), "the digest")
    await studio.world.settled()
    await studio.shoot("digest", boris, last=2)
    await studio.later(_next_at(studio.clock.now(), time(11)))
    await until(lambda: _says(boris, "Напоминание"), "the reminder")
    await studio.world.settled()
    await studio.shoot("reminder-due", boris, last=1)


def _more(person: Person, than: int) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return len(await person.seen()) > than

    return look


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


async def unknown(studio: Studio) -> None:
    """The portal's answer was lost."""
    boris, world = studio.world.boris, studio.world
    found = await boris.card("подними сумму сделки Ромашка до 150 000")
    await world.break_portal("commit_then_drop", "crm.deal.update", times=1)
    await boris.decide(found, "Выполнить")
    await studio.shoot("unknown", boris)
    unknown = await boris.message(found.number)
    await boris.decide(unknown, "Проверить")
    await studio.shoot("unknown-checked", boris)


async def stop(studio: Studio) -> None:
    """A turn that is stopped."""
    boris, world = studio.world.boris, studio.world
    await world.break_model("stall", seconds=30, times=1)
    await boris.say("покажи мои сделки")
    await asyncio.sleep(1.0)
    await boris.ask("/stop")
    await world.settled()
    await studio.shoot("stop", boris)


async def expired(studio: Studio) -> None:
    """A card nobody decided, a denied one, and /pending."""
    boris, world = studio.world.boris, studio.world
    found = await boris.card("подними сумму сделки Ромашка до 150 000")
    await boris.decide(found, "Отклонить")
    await boris.ask("подними сумму сделки Северный ветер до 300 000")
    await boris.ask("/pending")
    await studio.shoot("pending-own", boris)
    await studio.later(studio.clock.now() + timedelta(hours=26))
    await until(lambda: _says(boris, "Срок"), "the card expired")
    await world.settled()
    await studio.shoot("expired", boris)


async def _says(person: Person, words: str) -> Shown | None:
    return next((message for message in await person.seen() if words in message.text), None)


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


async def group(studio: Studio) -> None:
    """A group: the presser who is not entitled reads it alone."""
    boris, vera, world = studio.world.boris, studio.world.vera, studio.world
    chat = await world.group(boris, vera)
    await boris.within(chat).ask("@sdelka_sandbox_bot подними сумму сделки Ромашка до 150 000")
    await studio.shoot("group", boris.within(chat))


async def english(studio: Studio) -> None:
    """The most important cards in English."""
    boris = studio.world.boris
    settings = (await boris.ask("/settings"))[-1]
    await boris.decide(settings, "English")
    found = await boris.card("raise the sum of deal Ромашка to 150 000")
    await studio.shoot("en-card", boris, last=2)
    await boris.decide(found, "Run")
    await studio.shoot("en-done", boris, last=2)
    await boris.decide(await boris.message(found.number), "Undo")
    await studio.shoot("en-undo", boris, last=1)
    await boris.ask("/today")
    await studio.shoot("en-today", boris, last=1)
    await boris.ask("/history 481")
    await studio.shoot("en-history", boris, last=1)


SCENES: Final[Mapping[str, Scene]] = {
    scene.__name__: scene
    for scene in (
        *(card, undo_refused, drift, edit, stage, danger, batch, batch_many, lead, stranger, invited, lists, forwarded),
        *(voice, unknown, stop, commands, injection, creating, group, english),
        *(today, expired),  # these put the clock forward, the others are played at the present hour
    )
}


async def main(folder: Path, names: list[str]) -> int:
    """Play the scenes one after the other; 1 when one could not be played to its end."""
    failed = 0
    numbers = itertools.count(1000, 10)
    async with AsyncExitStack() as stack:
        servers = stack.enter_context(running_servers())
        playwright = await stack.enter_async_context(async_playwright())
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        clock = MovedClock()
        for name in names or SCENES:
            try:
                await _play(SCENES[name], servers, browser, clock, folder, next(numbers))
            except (AssertionError, httpx.HTTPError) as error:
                failed += 1
                sys.stderr.write(f"{name}: {error!r}\n")
    return 1 if failed else 0


async def _play(scene: Scene, servers: Servers, browser: Browser, clock: MovedClock, folder: Path, first_id: int) -> None:
    with tempfile.TemporaryDirectory(prefix="sdelka-pictures-") as temporary:
        async with opened_world(servers, Path(temporary), first_id) as world:
            studio = Studio(world, clock, browser, folder)
            try:
                await studio.begin()
                await scene(studio)
            finally:
                await studio.bot.aclose()


@asynccontextmanager
async def _bot(world: World, clock: MovedClock, rules: Path) -> AsyncIterator[Running]:
    told = {name.lower(): value for name, value in world.environment(policy_file=rules).items()}
    settings = Settings(_env_file=None, **told)  # type: ignore[arg-type]
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(opened_store(settings))
        access = load_access(settings.access_file)
        await access.begin(store)
        bot = make_bot(TOKEN, settings.telegram_api_base)
        door = TelegramDoor(bot, store, People(access), clock, pacer=Pacer(UNPACED))
        made, closing = build_orchestrator(
            settings,
            store,
            trouble=door.delivery.trouble,
            partial=door.delivery.partial,
            clock=clock,
            present=access.present,
            audience=access,
            members=access,
            files=TelegramFiles(bot),
        )
        for part in closing:
            stack.push_async_callback(part.aclose)
        working = asyncio.gather(made.run(), door.run(made))
        try:
            yield Running(made, store)
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)


def _next_at(now: datetime, hour: time) -> datetime:
    """The next working day's moment at that hour: daily messages come on working days only."""
    here = now.astimezone(ZoneInfo(ZONE))
    day = here.date() if here.time() < hour else here.date() + timedelta(days=1)
    while day.weekday() > calendar.FRIDAY:
        day += timedelta(days=1)
    return datetime.combine(day, hour, ZoneInfo(ZONE)).astimezone(UTC)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="tests.pictures", description=__doc__)
    parser.add_argument("out", type=Path, help="folder of the pictures")
    parser.add_argument("scenes", nargs="*", help=f"which scenes; all of: {', '.join(SCENES)}")
    given = parser.parse_args()
    if unknown := sorted(set(given.scenes) - set(SCENES)):
        parser.error(f"there is no scene {', '.join(unknown)}; there are: {', '.join(SCENES)}")
    given.out.mkdir(parents=True, exist_ok=True)
    sys.exit(asyncio.run(main(given.out, given.scenes)))
