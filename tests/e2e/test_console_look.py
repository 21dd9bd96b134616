"""Every page of the console in a browser, as wide as a phone: what holds of all of them."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page

from tests.e2e.console_kit import ConsoleBrowser, needs_browser, opened_console

pytestmark = needs_browser

PHONE = 390
ADMIN = 1001
NAV = ("/", "/approvals", "/conversations", "/runs", "/definitions", "/audit", "/people", "/policy", "/health")
BEHIND_LISTS = (
    ("/approvals", "/approvals/"),
    ("/conversations", "/conversations/"),
    ("/runs", "/runs/"),
    ("/definitions", "/definitions/scenario/"),
    ("/audit", "/audit/"),
)
"""Pages that are reached by a link of a list: the list, and how the address of the link begins."""

FAULTS = """() => {
  const shown = (one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest('[aria-hidden=true], .cm-editor');
  const name = (one) => (one.getAttribute('aria-label') || one.innerText || one.title || '').trim()
    || [...(one.labels || [])].map((label) => label.innerText).join('').trim()
    || (one.getAttribute('aria-labelledby') || '').split(' ').map((id) => document.getElementById(id)?.innerText || '').join('').trim();
  const faults = [];
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) faults.push('scrolls sideways');
  for (const one of document.querySelectorAll('a[href], button, input, textarea, select, [role=button], [role=combobox], [role=tab]'))
    if (shown(one) && !name(one)) faults.push('has no name: ' + one.outerHTML.slice(0, 200));
  if (document.querySelectorAll('[role=heading][aria-level="1"], h1').length !== 1) faults.push('has not one first heading');
  if (document.querySelectorAll('main, [role=main]').length !== 1) faults.push('has not one main part');
  for (const one of document.querySelectorAll('main a[href]'))
    if (new URL(one.href).pathname.startsWith('/console/console')) faults.push('leads nowhere: ' + one.href);
  return faults;
}"""
FOCUSED = """() => { const one = document.activeElement; return Boolean(one?.closest('main')) && one.id !== 'content'; }"""
HAS_ACTION = """() => [...document.querySelectorAll('main a[href], main button:not(:disabled), main input, main summary')]
  .some((one) => one.checkVisibility())"""


@pytest.mark.req("C-12")
async def test_every_page_fits_a_phone_and_is_named_and_reached_by_keys(tmp_path: Path) -> None:
    """In both languages no page scrolls sideways, all that can be pressed has a name, and Tab reaches what the page is for."""
    async with opened_console(tmp_path) as made:
        demo, boris = made.demo, made.demo.person(1007)
        await demo.ask(boris, "подними сумму сделки 481 до 131000", "131")
        await demo.ask(boris, "/run lead_qualification", "лид")
        page = await made.enter(ADMIN, width=PHONE)
        pages = await _find_pages(made, page)
        faults = await _look_at_pages(page, pages)
        problems = tuple(made.problems)  # the language of the demo changes with a restart of the bot, which browsers complain of
        await page.goto("about:blank")  # an open page loads itself anew when the bot is back, and that ends a navigation of ours
        await demo.post("/demo/language", {"language": "en"})
        await made.show(page, "/")
        assert await page.locator(".bar-title").inner_text() == "Today"
        faults |= await _look_at_pages(page, pages)
        status = (await page.request.get(made.address)).status

    assert faults == {}
    assert status == 200  # the address as people type it, without a slash at its end
    assert problems == ()


async def _find_pages(made: ConsoleBrowser, page: Page) -> list[str]:
    """The addresses of one page of each kind, found by the links of the lists as a person finds them."""
    found = [f"{made.address}{path}" for path in NAV]
    for listed, begin in BEHIND_LISTS:
        await made.show(page, listed)
        link = page.locator(f'main a[href^="{urlsplit(made.address).path}{begin}"]').first
        found.append(str(await link.evaluate("one => one.href")))
    definition = found[-2]
    return [*found, f"{definition}/edit", f"{made.address}/definitions/flow/new"]


async def _look_at_pages(page: Page, addresses: list[str]) -> dict[str, list[str]]:
    faults: dict[str, list[str]] = {}
    for address in addresses:
        await page.goto(address)
        await page.wait_for_selector("main > *")
        await page.wait_for_load_state("networkidle")
        found: list[str] = await page.evaluate(FAULTS)
        if await page.evaluate(HAS_ACTION) and not await _reach_by_tab(page):
            found.append("Tab does not reach what the page is for")
        if found:
            faults[f"{address} {await page.locator('.bar-title').inner_text()}"] = found
    return faults


async def _reach_by_tab(page: Page) -> bool:
    """Whether Tab, after the way past the navigation, comes to something in the page that can be pressed or filled in."""
    await page.keyboard.press("Tab")
    if not await page.evaluate("() => document.activeElement.classList.contains('skip-link')"):
        return False
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    return bool(await page.evaluate(FOCUSED))
