"""The bot against the sandboxes, its clock, and the camera on the sandbox's chat page."""

import calendar
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from playwright.async_api import Browser

from orchestrator.runs.registry import Engines
from tests.e2e.e2e_kit import MovedClock, World
from tests.e2e.e2e_people import Person, Shown
from tests.pictures.palette import shrink_picture

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

    async def shoot(self, name: str, person: Person, *, last: int = 0, is_small: bool = False, is_open: bool = False) -> None:
        """The chat of that person as it stands; of a long one only the last messages, with `is_open` with their quotes unfolded.

        A small picture has at most 256 colours.
        """
        page = await self.browser.new_page(viewport={"width": WIDTH, "height": 300}, locale="ru-RU", timezone_id=ZONE)
        await page.goto(f"{self.world.servers.telegram}/?solo#{person.chat}")
        await page.wait_for_selector('html[data-ready="yes"]')
        style = ".composer, .day, .chat::before { display: none !important } .chat { background: #dfe6ee } .message { animation: none !important }"
        if last:
            style += f" .messages > .message:not(:nth-last-child(-n + {last})) {{ display: none }}"
        await page.evaluate("style => { const e = new CSSStyleSheet(); e.replaceSync(style); document.adoptedStyleSheets = [e]; }", style)
        if is_open:
            await page.evaluate("for (const quote of document.querySelectorAll('blockquote.closed')) quote.classList.remove('closed')")
        height = await page.evaluate("document.querySelector('.chat-head').offsetHeight + document.querySelector('#messages').scrollHeight")
        await page.set_viewport_size({"width": WIDTH, "height": max(200, min(height, 2000))})
        await page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")  # all is painted
        picture = await page.screenshot()
        (self.folder / f"{name}.png").write_bytes(await shrink_picture(page, picture) if is_small else picture)
        await page.close()

    async def begin(self, policy: str = RULES, engines: Engines | None = None, **settings: str) -> None:
        """Start the bot, as `sdelka run` does, under this policy, with these engines of runs and these further settings."""
        rules = self.world.folder / "policy.yaml"
        rules.write_text(policy, encoding="utf-8")
        await self.bot.enter_async_context(self.world.bot(clock=self.clock, policy_file=rules, engines=engines, **settings))

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


async def says(person: Person, words: str) -> Shown | None:
    """The message in which these words stand, if there is one."""
    return next((message for message in await person.seen() if words in message.text), None)


def more(person: Person, than: int) -> Callable[[], Awaitable[bool]]:
    """Whether the person sees more messages than so many."""

    async def look() -> bool:
        return len(await person.seen()) > than

    return look


def next_at(now: datetime, hour: time) -> datetime:
    """The next working day's moment at that hour: daily messages come on working days only."""
    here = now.astimezone(ZoneInfo(ZONE))
    day = here.date() if here.time() < hour else here.date() + timedelta(days=1)
    while day.weekday() > calendar.FRIDAY:
        day += timedelta(days=1)
    return datetime.combine(day, hour, ZoneInfo(ZONE)).astimezone(UTC)
