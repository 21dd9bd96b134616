"""Lost connections, stale tabs and a killed bot: open pages of the console lose nothing, and nothing is decided twice."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.e2e.console_kit import ConsoleBrowser, needs_browser, opened_console

pytestmark = needs_browser

EDITOR = "/definitions/flow/proposal/edit?view=text"
OTHER = "/definitions/flow/solution_workshop/edit?view=text"
EARLY = "# Ещё без связи"
ENDED = "# Первая строка"
LATER = "# Вторая строка"


async def lose_the_connection(page: Page) -> None:
    """Cut the browser of this page off, until it is let back in with `set_offline(False)`."""
    await page.wait_for_function("() => window.socket?.connected && window.did_handshake")
    await page.context.set_offline(True)
    await page.wait_for_function("() => !window.socket.connected")


async def type_at_the_end(page: Page, line: str) -> None:
    """Write a line below the text of the editor."""
    await page.locator(".cm-content").click()
    await page.keyboard.press("Control+End")
    await page.keyboard.type(line)
    await page.keyboard.press("Enter")


async def list_writes(made: ConsoleBrowser) -> list[str]:
    """What was changed in the portal, in order: the sums."""
    calls = (await made.demo.portal.get("/sandbox/ledger")).json()["calls"]
    return [json.dumps(call["params"], sort_keys=True) for call in calls if call["method"] == "crm.deal.update"]


async def approve_in_two_browsers(made: ConsoleBrowser) -> None:
    """Approve a card in one browser while the other, still showing it, has lost its connection; and then the next one in both at once."""
    boris = made.demo.person(1007)
    one = await made.enter(1007)
    two = await made.enter(1007)
    for page in (one, two):
        await made.show(page, "/approvals")
    first, second = (page.get_by_role("article").get_by_role("button", name="Выполнить") for page in (one, two))

    card = await made.demo.ask(boris, "подними сумму сделки Ромашка до 150 000", "→ 150 000 ₽")
    await second.wait_for()
    await lose_the_connection(two)
    await first.click()
    await boris.sees(card.number, "Выполнено")
    await second.click()
    await two.context.set_offline(False)
    await expect(two.get_by_role("article")).to_have_count(0)

    card = await made.demo.ask(boris, "подними сумму сделки Ромашка до 151 000", "→ 151 000 ₽")
    await first.wait_for()
    await second.wait_for()
    await asyncio.gather(*(button.evaluate("(one) => one.click()") for button in (first, second)))
    await boris.sees(card.number, "Выполнено")
    for page in (one, two):
        await expect(page.get_by_role("article")).to_have_count(0)
        await expect(page.locator(".outcomes")).not_to_be_empty()


async def type_before_the_first_connection(made: ConsoleBrowser, page: Page) -> None:
    """What is typed on a page whose socket never opens, and that is closed then, is offered by the next page."""
    tab = await page.context.new_page()
    await tab.route_web_socket(re.compile("socket.io"), lambda _: None)
    await made.show(tab, OTHER)
    await type_at_the_end(tab, EARLY)
    await tab.wait_for_function("(text) => Object.values(localStorage).some((one) => one.includes(text))", arg=EARLY)
    await tab.close()
    await made.show(page, OTHER)
    await page.get_by_role("button", name="Восстановить").click()
    await expect(page.locator(".def-status")).to_have_text("Не сохранено")
    await page.locator(".cm-content").click()
    await page.keyboard.press("Control+End")
    await expect(page.locator(".cm-content")).to_contain_text(EARLY)


async def lose_the_socket_while_typing(page: Page) -> None:
    """What is typed without a connection stands in the editor afterwards, and the server knows it."""
    await expect(page.locator(".def-right")).to_contain_text("Ошибок нет.")
    await lose_the_connection(page)
    await type_at_the_end(page, ENDED)
    await expect(page.locator(".def-status")).to_have_text("Опубликована: версия 1")
    await page.context.set_offline(False)
    await expect(page.locator(".def-status")).to_have_text("Не сохранено")
    await expect(page.locator(".cm-content")).to_contain_text(ENDED)


async def lose_the_bot_while_typing(made: ConsoleBrowser, page: Page) -> None:
    """The bot is killed and starts again: the page comes back by itself, and offers what was typed and not saved."""
    async with asyncio.TaskGroup() as group:
        killing = group.create_task(made.demo.page.post("/demo/kill", json={"person": 1007, "words": "подними сумму сделки 481 до {sum}"}))
        await type_at_the_end(page, LATER)
    told = [json.loads(line) for line in killing.result().text.splitlines()]
    assert [one.get("code") for one in told][-3:] == ["killed", "restarted", "done"], told
    assert told[-1]["count"] == 1
    await page.get_by_role("button", name="Восстановить").click()
    await expect(page.locator(".def-status")).to_have_text("Не сохранено")
    for line in (ENDED, LATER):
        await expect(page.locator(".cm-content")).to_contain_text(line)


@pytest.mark.timeout(240)
@pytest.mark.req("C-17", "C-40")
async def test_nothing_is_lost_and_nothing_is_decided_twice(tmp_path: Path) -> None:
    """Two open pages, one of them stale, decide once; a text that is being written survives a lost socket and a killed bot, and can be saved."""
    async with opened_console(tmp_path) as made:
        await approve_in_two_browsers(made)
        writes = await list_writes(made)
        assert [one for one in made.problems if "ERR_INTERNET_DISCONNECTED" not in one] == []
        anna = await made.enter(1006)
        await type_before_the_first_connection(made, anna)
        await made.show(anna, EDITOR)
        await lose_the_socket_while_typing(anna)
        await lose_the_bot_while_typing(made, anna)
        await anna.get_by_role("button", name="Сохранить черновик").click()
        await expect(anna.locator(".def-status")).to_have_text("Сохранено: версия 2, черновик")

    assert len(writes) == len(set(writes)) == 2
