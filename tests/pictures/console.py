"""Pictures of the console: the demo with things in it, photographed page by page. Played by name; it needs no world of a studio.

The people write, approve and deny first, so that every page has something to show.
"""

import tempfile
from pathlib import Path
from typing import Final

from playwright.async_api import Page

from tests.e2e.console_kit import ConsoleBrowser, opened_console
from tests.pictures.palette import shrink_picture
from tests.pictures.studio import Scene, Studio

_MANAGER: Final = 1007
_ADMIN: Final = 1001
_PHONE: Final = 390
_SETTLED: Final = "() => !document.querySelector('.canvas') || document.querySelector('.canvas .vue-flow__node')"


async def console(studio: Studio) -> None:
    """All pages, wide and light; some of them in the dark, and as a phone shows them."""
    with tempfile.TemporaryDirectory(prefix="sdelka-console-") as folder:
        async with opened_console(Path(folder)) as made:
            await _fill(made)
            boris, olga = await made.enter(_MANAGER), await made.enter(_ADMIN)
            await _shoot(studio, made, olga, "today", "/")
            await _shoot(studio, made, boris, "approvals", "/approvals")
            await _shoot(studio, made, boris, "conversation", f"/conversations/tg:{_MANAGER}")
            await _shoot(studio, made, olga, "why", await _find(made, olga, "/audit?outcome=succeeded", "/audit/"))
            await _shoot(studio, made, olga, "runs", "/runs")
            run = await _find(made, olga, "/runs", "/runs/")
            await _shoot(studio, made, olga, "run", run)
            await _shoot(studio, made, olga, "definitions", "/definitions")
            await _shoot(studio, made, olga, "editor", "/definitions/workflow/client_dossier/edit")
            for name in ("audit", "people", "policy", "health"):
                await _shoot(studio, made, olga, name, f"/{name}")
            dark = await made.enter(_ADMIN, dark=True)
            await _shoot(studio, made, dark, "editor-dark", "/definitions/workflow/client_dossier/edit")
            await _shoot(studio, made, dark, "run-dark", run)
            phone = await made.enter(_MANAGER, width=_PHONE)
            await _shoot(studio, made, phone, "today-phone", "/")
            await _shoot(studio, made, phone, "approvals-phone", "/approvals")


SCENES: Final[tuple[Scene, ...]] = (console,)


async def _fill(made: ConsoleBrowser) -> None:
    demo = made.demo
    boris, anna = demo.person(_MANAGER), demo.person(1006)
    await demo.ask(boris, "покажи мои сделки", "Ваши открытые сделки")
    card = await demo.ask(boris, "подними сумму сделки 481 до 131000", "131")
    await demo.approve(boris, card, "Выполнить")
    await demo.ask(boris, "что в сделке Северный ветер? прочитай комментарий", "Удалить сделку")
    await demo.ask(boris, "Поставь сумму 1 200 000 в сделке 481", "Сумма")
    await demo.ask(anna, "сколько сделок по менеджерам?", "Борис")
    await demo.ask(anna, "/workflow meeting_notes", "О какой сделке речь")
    await demo.ask(anna, "Ромашка", "Заметки о встрече")
    await demo.ask(anna, "Обсудили насосы, просят счёт до вторника", "Ответить клиенту")


async def _find(made: ConsoleBrowser, page: Page, listed: str, begin: str) -> str:
    """The path of the first thing in a list."""
    await made.show(page, listed)
    link = page.locator(f'main a[href^="/console{begin}"]').first
    await link.wait_for()
    return str(await link.get_attribute("href")).removeprefix("/console")


async def _shoot(studio: Studio, made: ConsoleBrowser, page: Page, name: str, path: str) -> None:
    await made.show(page, path)
    await page.wait_for_load_state("networkidle")
    await page.wait_for_function(_SETTLED)
    await page.evaluate("() => new Promise((done) => setTimeout(done, 700))")  # editors have taken the colours of the page
    picture = await page.screenshot()
    blank = await made.browser.new_page()
    (studio.folder / f"{name}.png").write_bytes(await shrink_picture(blank, picture))
    await blank.close()
