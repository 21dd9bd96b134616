"""The demo's console in a real browser: people log in through the link that the bot sends them."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from tests.e2e.demo_kit import Demo, running_demo

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE = 30_000
expect.set_options(timeout=PATIENCE)
needs_browser = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium")]


@dataclass
class ConsoleBrowser:
    """A browser beside the running demo; `problems` are errors of scripts, refusals of the pages' policy, and requests to other hosts."""

    demo: Demo
    browser: Browser
    address: str
    problems: list[str] = field(default_factory=list)

    async def enter(self, person: int, *, width: int = 1440, dark: bool = False) -> Page:
        """Return a page of a browser of its own in which this person is logged in and sees the first page."""
        context = await self.browser.new_context(viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light")
        self._watch_requests(context)
        page = await context.new_page()
        self._watch_page(page)
        who = self.demo.person(person)
        shown = await self.demo.ask(who, "/console", "/login?link=")
        [link] = [word for word in shown.text.split() if "/login?link=" in word]
        await page.goto(link)
        await page.get_by_role("button").click()
        await page.wait_for_selector("#content", timeout=PATIENCE)
        return page

    async def show(self, page: Page, path: str) -> None:
        """Go to a page of the console."""
        await page.goto(f"{self.address}{path}")
        await page.wait_for_selector("#content", timeout=PATIENCE)

    async def open_tab(self, page: Page, path: str) -> Page:
        """Open a page of the console in another tab of the same browser."""
        other = await page.context.new_page()
        self._watch_page(other)
        await self.show(other, path)
        return other

    def _watch_requests(self, context: BrowserContext) -> None:
        host = urlsplit(self.address).netloc
        context.on("request", lambda sent: None if urlsplit(sent.url).netloc in {host, ""} else self.problems.append(f"asked {sent.url}"))

    def _watch_page(self, page: Page) -> None:
        page.on("console", lambda line: self.problems.append(line.text) if line.type == "error" else None)
        page.on("pageerror", lambda error: self.problems.append(str(error)))


@asynccontextmanager
async def opened_console(folder: Path, *options: str) -> AsyncIterator[ConsoleBrowser]:
    """Start the demo with these options, and a browser."""
    async with running_demo(folder, *options) as demo, async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield ConsoleBrowser(demo, browser, demo.console)
        finally:
            await browser.close()
