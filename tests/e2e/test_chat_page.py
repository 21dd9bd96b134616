"""The chat page in a real browser: what the bot sends is seen, what a person clicks and types reaches the bot."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, async_playwright, expect

from sandbox.telegram.server import running
from sandbox.telegram.settings import TelegramSandboxSettings

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
CARD = {
    "chat_id": 1007,
    "text": "Сумма: 120 → 150 <script>alert(1)</script>",
    "entities": [{"type": "bold", "offset": 7, "length": 9}],
    "reply_markup": {
        "inline_keyboard": [
            [
                {"text": "✅ Выполнить", "callback_data": "1:a", "style": "success"},
                {"text": "✖ Отклонить", "callback_data": "1:d", "style": "danger"},
            ]
        ]
    },
}

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium")]


async def test_a_person_talks_to_the_bot_through_the_page(tmp_path: Path) -> None:
    """Typing sends, a card shows its entities and styles, a press waits for its toast, an edit and a draft are seen."""
    async with _opened(tmp_path) as (page, bot):
        await page.fill("#input", "подними сумму")
        await page.press("#input", "Enter")
        await expect(page.locator(".mine .text")).to_have_text("подними сумму")
        asked = (await bot("getUpdates"))[-1]["message"]

        card = await bot("sendMessage", **CARD, reply_parameters={"message_id": asked["message_id"]})
        bubble = page.locator(f'.message[data-id="{card["message_id"]}"]')
        await expect(bubble.locator(".text strong")).to_have_text("120 → 150")
        await expect(bubble.locator(".text")).to_contain_text("<script>")
        await expect(bubble.locator(".reply span")).to_have_text("подними сумму")
        await expect(bubble.locator(".key.danger")).to_have_text("✖ Отклонить")

        await bubble.locator(".key.success").click()
        await expect(bubble.locator(".key.waiting")).to_have_count(1)
        press = (await bot("getUpdates", timeout=5, offset=-1))[-1]["callback_query"]
        await bot("answerCallbackQuery", callback_query_id=press["id"], text="Выполняю…")
        await expect(page.locator(".toast")).to_have_text("Выполняю…")
        await expect(bubble.locator(".key.waiting")).to_have_count(0)
        await bot("editMessageText", chat_id=1007, message_id=card["message_id"], text="✅ Выполнено")
        await expect(bubble.locator(".text")).to_have_text("✅ Выполнено")
        await expect(bubble.locator(".meta")).to_contain_text("изменено")
        await expect(bubble.locator(".key")).to_have_count(0)

        await bot("sendMessageDraft", chat_id=1007, draft_id=1, text="Ищу")
        await expect(page.locator(".message.draft .text")).to_have_text("Ищу")
        await expect(page.locator("#chat-status")).to_have_text("печатает…")
        await bot("sendMessage", chat_id=1007, text="Нашёл")
        await expect(page.locator(".message.draft")).to_have_count(0)
        await bot("sendMessage", chat_id=1008, text="другому человеку")
        await expect(page.locator("#people .badge")).to_have_text("1")

        assert press["data"] == "1:a"


async def test_the_menu_the_tour_and_a_narrow_window(tmp_path: Path) -> None:
    """Commands come from the bot, a stop of the tour writes for the person, and narrow columns become tabs."""
    async with _opened(tmp_path) as (page, bot):
        await bot("setMyCommands", commands=[{"command": "pending", "description": "Что ждёт"}])
        await page.fill("#input", "/pe")
        await expect(page.locator(".command b")).to_have_text("/pending")
        await page.press("#input", "Enter")
        await expect(page.locator("#input")).to_have_value("/pending")
        await page.press("#input", "Enter")
        await expect(page.locator(".mine .text")).to_have_text("/pending")

        await page.click("#people li:last-child button")
        await expect(page.locator("#chat-me")).to_contain_text("Гость")
        await page.click('#tabs [data-tab="tour"]')
        await page.click('.stop[data-id="my-deals"] .go')
        await expect(page.locator(".mine .text").last).to_have_text("покажи мои сделки")
        await expect(page.locator("#chat-me")).to_contain_text("Борис")
        await expect(page.locator(".stop.done .note")).to_be_visible()

        await page.set_viewport_size({"width": 420, "height": 800})
        await expect(page.locator("#people")).to_be_hidden()
        await page.click('#bottom [data-pane="crm"]')
        await expect(page.locator("#pane-crm .empty")).to_contain_text("Портал не подключён")
        await expect(page.locator("#input")).to_be_hidden()
        await page.click('#bottom [data-pane="chat"]')
        wider = await page.evaluate("document.documentElement.scrollWidth - innerWidth")

        assert wider <= 0


@asynccontextmanager
async def _opened(folder: Path) -> AsyncIterator[tuple[Page, "Bot"]]:
    with running(TelegramSandboxSettings(data_dir=folder)) as url:
        async with httpx.AsyncClient(base_url=url, trust_env=False) as http, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            page = await browser.new_page(viewport={"width": 1440, "height": 900})
            problems: list[str] = []
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.on("console", lambda line: problems.append(line.text) if line.type == "error" else None)
            await page.goto(url)
            await expect(page.locator("html")).to_have_attribute("data-ready", "yes")
            yield page, Bot(http)
            await browser.close()
            assert problems == []


class Bot:
    """The bot's side of the conversation: bare calls that must succeed."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def __call__(self, method: str, **params: object) -> Any:
        """Call a method and give its result."""
        answer = (await self._http.post(f"/bot1:sandbox/{method}", json=params, timeout=20)).json()
        assert answer["ok"], answer
        return answer["result"]
