"""The console of the demo in a real browser, at the side of Telegram."""

from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.e2e.console_kit import PATIENCE, needs_browser, opened_console

pytestmark = needs_browser


@pytest.mark.req("C-2", "C-3", "C-42")
async def test_the_demo_leads_to_the_console_and_no_page_asks_another_host(tmp_path: Path) -> None:
    """The tab of the demo opens the console as the chosen person; nothing is loaded from elsewhere and no script is refused."""
    async with opened_console(tmp_path) as made:
        context = await made.browser.new_context()
        page = await context.new_page()
        await page.goto(str(made.demo.page.base_url))
        await page.click('#tabs [data-tab="console"]')
        async with context.expect_page() as opened:
            await page.click("#pane-console .chip")
        console = await opened.value
        await console.wait_for_url("**/login?link=*", timeout=PATIENCE)
        await console.get_by_role("button", name="Войти").click()
        await expect(console.locator(".bar-person")).to_have_text("Борис Смирнов", timeout=PATIENCE)
        chief = await made.enter(1001)
        for address in await chief.locator("nav a").evaluate_all("all => all.map((one) => one.href)"):
            await chief.goto(address)
            await expect(chief.locator(".nav-here")).to_be_visible(timeout=PATIENCE)

    assert made.problems == []


@pytest.mark.req("C-8")
async def test_the_page_of_somebody_removed_closes(tmp_path: Path) -> None:
    """Within seconds after the access file lost the person, their open page shows the way to log in and nothing else."""
    async with opened_console(tmp_path) as made:
        page = await made.enter(1008)
        listed = tmp_path / "access.yaml"
        whole = listed.read_text(encoding="utf-8")
        listed.write_text(
            "\n".join(whole.split("\n- ")[0:1]) + "\n- " + "\n- ".join(part for part in whole.split("\n- ")[1:] if "1008" not in part)
        )

        await expect(page.locator(".plain-box")).to_be_visible(timeout=PATIENCE)
        assert "Вера" not in await page.content()


@pytest.mark.req("C-5")
async def test_a_browser_logs_out(tmp_path: Path) -> None:
    """The form of the account menu is a post of this host for a browser too, and ends the login in the other browser as well."""
    async with opened_console(tmp_path) as made:
        page, other = await made.enter(1007), await made.enter(1007)
        await page.get_by_role("button", name="Учётная запись").click()
        await page.get_by_role("button", name="Выйти во всех браузерах").click()

        await expect(page.locator(".plain-box")).to_be_visible(timeout=PATIENCE)
        await expect(other.locator(".plain-box")).to_be_visible(timeout=PATIENCE)

    assert made.problems == []
