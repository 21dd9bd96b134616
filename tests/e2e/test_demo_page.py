"""The page of the demo in a real browser: scenes after natural actions, decisions in words, no codes, both languages, a new beginning."""

import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Page, async_playwright, expect

from tests.e2e.demo_kit import Demo, running_demo

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE = 45_000
CODES = re.compile(r"\b[a-z]+\.[a-z]+\.[a-z.]+\b|\b[A-Z]+_[A-Z_]+\b|\b(?:tg|http):\w+|\bcard-[a-z]+|\bgate-[a-z]+|undefined|\[object")
"""Methods, stages and fields of the portal, keys of people, codes of sentences, and mistakes of a script."""

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium")]


async def test_scenes_are_played_after_natural_actions_and_decisions_are_told(tmp_path: Path) -> None:
    """The sum is changed by hand between two playings; the audit tab tells the approval and the denial apart, in words."""
    async with _opened(tmp_path) as (page, _demo):
        await _play(page, "change-sum")
        await page.locator(".key.success", has_text="Выполнить").last.click()
        await expect(page.locator(".message", has_text="✅ Выполнено")).to_have_count(1, timeout=PATIENCE)
        await _play(page, "change-sum")
        await expect(page.locator(".key.success", has_text="Выполнить")).to_have_count(1, timeout=PATIENCE)
        await expect(page.locator(".message .text").last).to_contain_text("120 000 ₽ → 151 000 ₽", timeout=PATIENCE)
        await _play(page, "who-did-it")
        await expect(page.locator(".decided.good").first).to_have_text("подтвердил(а) Борис Смирнов — выполнено", timeout=PATIENCE)
        await expect(page.locator(".decided.denied").first).to_have_text("отклонил(а) Борис Смирнов", timeout=PATIENCE)
        audit = await page.locator("#pane-audit").inner_text()
        await page.click('#tabs [data-tab="crm"]')
        await expect(page.locator("#ledger .line .method", has_text="Сделка №481: изменение").first).to_be_visible(timeout=PATIENCE)
        crm = await page.locator("#pane-crm").inner_text()

    assert CODES.findall(audit + crm) == []


async def test_the_page_and_the_bot_speak_english_and_begin_anew(tmp_path: Path) -> None:
    """The switch turns every word of the page and the bot's cards; «Start over» empties the chat."""
    async with _opened(tmp_path) as (page, _demo):
        await page.click("#language")
        await expect(page.locator("#restart")).to_have_text("Start over", timeout=PATIENCE)
        await expect(page.locator("html")).to_have_attribute("data-ready", "yes", timeout=PATIENCE)
        chrome = "#tabs, #bottom, .brand, .brand-tools, .people-hint, .composer, .person-role, .half-head, .chat-title"
        words = " ".join(await page.locator(chrome).all_inner_texts())
        labels = await page.evaluate(
            "[...document.querySelectorAll('[aria-label], [title], [placeholder]')].map("
            "(item) => `${item.ariaLabel} ${item.placeholder ?? ''}`).join(' ')"
        )
        await page.click('#tabs [data-tab="tour"]')
        tour = await page.locator("#pane-tour").inner_text()
        of_the_switch = ["Русский", "Показать", "страницу", "по", "русски"]
        russian = re.findall("[а-яё]+", words + labels + tour, re.IGNORECASE)
        assert [word for word in russian if word not in of_the_switch] == []
        await _play(page, "change-sum")
        await expect(page.locator(".key.success", has_text="Run")).to_have_count(1, timeout=PATIENCE)
        assert await page.locator("#people .badge").count() == 0, "nobody else is told of the switch"
        await page.click("#restart")
        await expect(page.locator(".empty-chat")).to_be_visible(timeout=PATIENCE)
        await expect(page.locator(".chip").first).to_have_text("show my deals")


async def _play(page: Page, scene: str) -> None:
    """Play a scene of the tour to its end, which must be a good one."""
    stop = page.locator(f'.stop[data-id="{scene}"]')
    await page.click('#tabs [data-tab="tour"]')
    await stop.locator(".go").click()
    await expect(stop).not_to_have_class(re.compile("running"), timeout=2 * PATIENCE)
    await expect(stop).to_have_class(re.compile("done"))


@asynccontextmanager
async def _opened(folder: Path) -> AsyncIterator[tuple[Page, Demo]]:
    """Start the demo and open its page as Boris; an error of a script fails the test."""
    problems: list[str] = []
    async with running_demo(folder) as demo, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = await browser.new_page(viewport={"width": 1440, "height": 900})
        page.on("pageerror", lambda error: problems.append(str(error)))
        await page.goto(f"{demo.page.base_url}#1007", wait_until="commit")
        await expect(page.locator("html")).to_have_attribute("data-ready", "yes", timeout=PATIENCE)
        try:
            yield page, demo
        finally:
            await browser.close()
    assert problems == []
