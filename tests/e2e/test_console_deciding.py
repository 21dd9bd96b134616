"""Cards in open pages of the console while people write and decide in Telegram."""

from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.e2e.console_kit import needs_browser, opened_console

pytestmark = needs_browser


@pytest.mark.req("C-13", "C-16", "C-17", "C-19")
async def test_cards_come_and_are_decided_at_once_here_and_in_telegram(tmp_path: Path) -> None:
    """No page is loaded again: the card comes, is approved on one page, and the other page and Telegram show it; and the other way round."""
    async with opened_console(tmp_path) as made:
        boris = made.demo.person(1007)
        today = await made.enter(1007)
        approvals = await made.open_tab(today, "/approvals")
        await expect(approvals.get_by_role("article")).to_have_count(0)

        card = await made.demo.ask(boris, "подними сумму сделки Ромашка до 150 000", "→ 150 000 ₽")
        line = today.locator("#content").get_by_role("link").filter(has_text="Ромашка")
        await expect(line).to_be_visible()
        await expect(approvals.get_by_role("article")).to_contain_text("150 000 ₽")
        await line.click()
        article = today.get_by_role("article")
        await expect(article.get_by_role("button", name="Выполнить")).to_be_visible()
        one = await made.open_tab(today, today.url.removeprefix(made.address))
        await approvals.get_by_role("article").get_by_role("button", name="Выполнить").click()
        await expect(approvals.locator(".outcomes")).to_contain_text("Битрикс24 подтвердил")
        for page in (today, one):
            await expect(page.get_by_role("article")).to_contain_text("Выполнено")
            await expect(page.get_by_role("article").get_by_role("button")).to_have_count(0)
        told = await boris.sees(card.number, "Выполнено")
        deal = await made.demo.deal(481)

        await article.get_by_role("link", name="Почему").click()
        decided = today.locator(".why-part").filter(has_text="Кто подтвердил")
        await expect(decided).to_contain_text("Борис Смирнов")
        await expect(decided).to_contain_text("в консоли")

        second = await made.demo.ask(boris, "подними сумму сделки Ромашка до 151 000", "→ 151 000 ₽")
        await expect(approvals.get_by_role("article")).to_contain_text("151 000 ₽")
        await made.demo.approve(boris, second, "Выполнить")
        await expect(approvals.get_by_role("article")).to_have_count(0)

    assert not told.is_card
    assert deal is not None
    assert float(deal["OPPORTUNITY"]) == 150_000
    assert made.problems == []
