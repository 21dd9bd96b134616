"""What is typed into an editor and not saved: kept side by side while somebody works, and forgotten when they log out."""

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.e2e.console_kit import ConsoleBrowser, needs_browser, opened_console

pytestmark = needs_browser

EDITOR = "/definitions/flow/proposal/edit?view=text"
ONE, TWO = "# Первая правка", "# Вторая правка"


async def type_at_the_end(page: Page, line: str) -> None:
    """Write a line below the text of the editor, and wait until the browser keeps it."""
    await page.wait_for_function("() => window.socket?.connected && window.did_handshake")
    await page.locator(".cm-content").click()
    await page.keyboard.press("Control+End")
    await page.keyboard.type(line)
    await page.keyboard.press("Enter")
    await page.wait_for_function("(text) => Object.values(localStorage).some((one) => one.includes(text))", arg=line)


async def list_kept(page: Page) -> list[str]:
    """The names under which the browser keeps texts."""
    return list(await page.evaluate("() => Object.keys(localStorage).filter((name) => name.startsWith('sdelka-text:'))"))


async def restore_beside_another_text(made: ConsoleBrowser, page: Page) -> None:
    """A text that is restored takes the place of another one, which is offered in its turn."""
    await made.show(page, EDITOR)
    await type_at_the_end(page, ONE)
    page.on("dialog", lambda dialog: dialog.accept())
    await made.show(page, EDITOR)
    await type_at_the_end(page, TWO)
    await page.get_by_role("button", name="Восстановить").click()
    await expect(page.locator(".cm-content")).to_contain_text(ONE)
    await page.get_by_role("button", name="Восстановить").click()
    await expect(page.locator(".cm-content")).to_contain_text(TWO)


async def save_something_new(made: ConsoleBrowser, page: Page) -> None:
    """The first save leads to the editor of what was stored; the browser asks nothing, and keeps what was typed after the press."""
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), asyncio.create_task(dialog.dismiss())))
    await made.show(page, "/definitions/scenario/new?view=text")
    await type_at_the_end(page, ONE)
    await page.get_by_label("Ключ, латиницей").fill("fresh")
    await page.get_by_role("button", name="Сохранить черновик").click()
    await page.wait_for_url("**/definitions/scenario/fresh/edit")
    await expect(page.locator(".def-status")).to_have_text("Сохранено: версия 1, черновик")
    assert asked == []
    assert await list_kept(page) == []


async def log_out_with_unsaved_texts(made: ConsoleBrowser, page: Page) -> None:
    """The person is asked first; then neither this tab nor another one leaves anything in the browser. Another person's text stays.

    Where they were logged in elsewhere the page closes without asking, and the text waits there for them.
    """
    await page.evaluate("() => localStorage.setItem('sdelka-text:tg:10061:flow/x:a', '{}')")
    other = await made.open_tab(page, "/definitions/flow/solution_workshop/edit?view=text")
    await type_at_the_end(other, ONE)
    await page.get_by_role("button", name="Учётная запись").click()
    leave = page.locator("form[data-person] button")
    elsewhere = await made.enter(1006)
    asked: list[str] = []
    elsewhere.on("dialog", lambda dialog: (asked.append(dialog.type), asyncio.create_task(dialog.dismiss())))
    await made.show(elsewhere, EDITOR)
    await type_at_the_end(elsewhere, TWO)
    await leave.click()
    await page.get_by_role("dialog").get_by_role("button", name="Остаться").click()
    await expect(page.get_by_role("dialog")).to_have_count(0)
    assert len(await list_kept(page)) > 2
    await leave.click()
    await page.get_by_role("dialog").get_by_role("button", name="Выйти во всех браузерах").click()
    await page.wait_for_url("**/console/login")
    await expect(other.locator("main.plain-box")).to_be_visible()
    assert await list_kept(page) == ["sdelka-text:tg:10061:flow/x:a"]
    await expect(elsewhere.locator("main.plain-box")).to_be_visible()
    assert asked == []
    assert len(await list_kept(elsewhere)) == 1


@pytest.mark.timeout(180)
@pytest.mark.req("C-40", "C-8")
async def test_unsaved_texts_are_kept_side_by_side_until_their_person_logs_out(tmp_path: Path) -> None:
    """Two texts of one definition are both there; after the logout none of the person's is in the browser, in no tab."""
    async with opened_console(tmp_path) as made:
        page = await made.enter(1006)
        await save_something_new(made, page)
        page = await made.open_tab(page, EDITOR)
        await restore_beside_another_text(made, page)
        await log_out_with_unsaved_texts(made, page)
        assert made.problems == []
