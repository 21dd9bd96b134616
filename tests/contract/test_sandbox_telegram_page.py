"""The chat page in a real browser: voice, forwards, Stop, links to the bot, a second chat beside, what one person alone sees."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiogram.methods import SendMessageDraft
from aiogram.types import DisabledButton, EphemeralMessageParameters, InlineKeyboardButton, InlineKeyboardMarkup
from playwright.async_api import Page, async_playwright, expect

from sandbox.telegram.images import draw_thumbnail
from tests.contract.sandbox_telegram_kit import BORIS, VERA, Kit, opened

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ANNA = 1006

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium")]


async def test_what_people_send_and_stop_is_seen_and_heard(tmp_path: Path) -> None:
    """A voice message leaves from the microphone, a forward names its source, a draft grows in place and stops, a link starts the bot."""
    async with _page(tmp_path) as (page, kit):
        await page.click("#mic")
        await expect(page.locator("#voices")).to_contain_text("подними сумму сделки Ромашка до 150 000")
        await page.click("#mic")
        await page.fill("#input", "подними сумму")
        await page.click("#mic")
        await page.click("#voices .command >> nth=0")
        await expect(page.locator(".mine .voice .play")).to_have_count(1)
        await expect(page.locator("#input")).to_have_value("")
        origin = {"kind": "channel", "name": "Новости"}
        await kit.control(f"/sandbox/users/{BORIS}/forward", {"texts": ["Ставка"], "origin": origin})
        await expect(page.locator(".origin")).to_have_text("Переслано от Новости (канал)")

        await kit.bot(SendMessageDraft(chat_id=BORIS, draft_id=3, text="Ищу", can_stop=True))
        draft = await page.wait_for_selector(".message.draft")
        await kit.bot(SendMessageDraft(chat_id=BORIS, draft_id=3, text="Ищу сделки", can_stop=True))
        await expect(page.locator(".message.draft .text")).to_have_text("Ищу сделки")
        assert draft is not None
        assert await draft.is_visible()
        await page.click(".key.halt")
        await expect(page.locator(".message.draft")).to_have_count(0)

        off = InlineKeyboardButton(text="⏳ выполняется", disabled=DisabledButton())
        markup = InlineKeyboardMarkup(inline_keyboard=[[off]])
        await kit.bot.send_message(BORIS, "https://t.me/sdelka_sandbox_bot?start=deal_1532", reply_markup=markup)
        await expect(page.locator(".key", has_text="выполняется")).to_be_disabled()
        await page.click(".text .link")
        await expect(page.locator(".mine .text").last).to_have_text("/start deal_1532")
        updates = await kit.bot.get_updates()

    assert [update.event_type for update in updates] == ["message", "message", "stopped_message_generation", "message"]
    assert updates[0].message is not None
    assert updates[0].message.voice is not None


async def test_a_second_chat_stands_beside_and_a_note_for_one_is_for_one(tmp_path: Path) -> None:
    """The lead's chat is live beside the manager's; in a group only the receiver sees a message for one."""
    async with _page(tmp_path) as (page, kit):
        await page.click(".person:has-text('Вера')")
        await expect(page.locator("#chat-me")).to_contain_text("Вера")
        await page.click("#mic")
        await expect(page.locator("#voices")).to_contain_text("сумму сделки «Стройинвест: кровля»")  # a deal that she may see
        await expect(page.locator("#voices")).not_to_contain_text("сделки Ромашка")
        await page.click(".person:has-text('Борис')")
        await expect(page.locator("#chat-me")).to_contain_text("Борис")
        await page.click('[data-tab="second"]')
        beside = page.frame_locator("#pane-second iframe")
        await kit.bot.send_message(ANNA, "Решите за Бориса")
        await expect(beside.locator(".text")).to_have_text("Решите за Бориса")
        await beside.locator("#input").fill("решаю")
        await beside.locator("#input").press("Enter")
        await expect(beside.locator(".mine .text")).to_have_text("решаю")

        group = (await kit.control("/sandbox/chats", {"title": "Отдел", "members": [BORIS, VERA]}))["chat_id"]
        await kit.bot.send_message(group, "Карточка")
        await kit.bot.send_message(
            group, "Не ваша операция", ephemeral_message_parameters=EphemeralMessageParameters(receiver_user_id=VERA)
        )
        await kit.say("кто я?", BORIS, chat_id=group, as_chat="anonymous_admin")
        await page.click(".person:has-text('Отдел')")
        await expect(page.locator(".text")).to_have_text(["Карточка", "кто я?"])
        await expect(page.locator(".who").last).to_contain_text("анонимный администратор")
        await page.select_option('[aria-label="Кто пишет"]', label="Вера")
        await expect(page.locator(".private-note .text")).to_have_text("Не ваша операция")
        said = (await kit.bot.get_updates())[0].message

    assert said is not None
    assert (said.from_user and said.from_user.id, said.text) == (ANNA, "решаю")


async def test_a_person_attaches_a_photo_a_file_and_contacts(tmp_path: Path) -> None:
    """The clip offers four kinds; a picture goes as a file when a file was chosen, and each one is seen in the chat."""
    picture = {"name": "визитка.png", "mimeType": "image/png", "buffer": draw_thumbnail(320, 200, mark="card")}
    async with _page(tmp_path) as (page, kit):
        for option in ("Фото", "Файл"):
            await page.fill("#input", f"подпись: {option}")
            await page.click("#clip")
            async with page.expect_file_chooser() as choosing:
                await page.click(f"#attachments .command:has-text('{option}') >> nth=0")
            await (await choosing.value).set_files([picture])
            await expect(page.locator(".mine .text").last).to_have_text(f"подпись: {option}")
        for option in ("Мой контакт", "Контакт: Пётр Ильин"):
            await page.click("#clip")
            await page.click(f"#attachments .command:has-text('{option}')")
            await expect(page.locator("#attachments")).to_be_hidden()
        await expect(page.locator(".mine .photo")).to_have_count(1)
        await expect(page.locator(".mine .contact b")).to_have_text(["Борис", "Пётр Ильин"])
        await expect(page.locator(".mine .contact small").first).to_have_text("+7 900 000-10-07")
        await page.click("#clip")
        await page.press("#input", "Escape")
        await expect(page.locator("#attachments")).to_be_hidden()
        messages = [update.message for update in await kit.bot.get_updates() if update.message]

    assert [message.content_type for message in messages] == ["photo", "document", "contact", "contact"]
    assert [message.contact.user_id for message in messages if message.contact] == [BORIS, None]


@asynccontextmanager
async def _page(folder: Path) -> AsyncIterator[tuple[Page, Kit]]:
    """Open the page as Boris; an error in its console fails the test."""
    wrong: list[str] = []
    async with opened(folder) as kit, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = await browser.new_page(viewport={"width": 1400, "height": 900})
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        await page.goto(f"{kit.http.base_url}#{BORIS}")
        await page.wait_for_selector("html[data-ready=yes]")
        try:
            yield page, kit
        finally:
            await browser.close()
    assert wrong == []
