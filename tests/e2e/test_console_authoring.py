"""A flow is written, published, started and watched in the console, and a workflow streams."""

from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.e2e.console_kit import ConsoleBrowser, needs_browser, opened_console
from tests.e2e.demo_kit import Demo
from tests.e2e.e2e_people import until

pytestmark = needs_browser

EDITOR = "/definitions/flow/proposal/edit"


async def start(page: Page, **fields: str) -> None:
    """Fill the open form of a new run, start it, and wait for its page."""
    dialog = page.get_by_role("dialog")
    for label, text in fields.items():
        await dialog.get_by_label(label).fill(text)
    await dialog.get_by_role("button", name="Запустить").click()
    await page.wait_for_url("**/runs/*")


async def leave_braces(page: Page) -> None:
    """Go behind the name in the two pairs of braces, in which the author of the example wrote it."""
    for key in ("End", "ArrowLeft", "ArrowLeft"):
        await page.keyboard.press(key)


async def mend_a_broken_transition(page: Page) -> None:
    """Type one character too many: the line and the node are marked, until it is gone."""
    await page.get_by_role("button", name="Текст", exact=True).click()
    await page.locator(".cm-content").click()
    await page.keyboard.press("Control+End")
    await page.locator(".cm-line").filter(has_text="next: review").click()
    await leave_braces(page)
    await page.keyboard.type("x")
    await expect(page.locator(".cm-line.cm-finding-error")).to_have_text("    transitions: {onSuccess: {next: reviewx}}")
    await page.get_by_role("tab", name="Замечания").click()
    await expect(page.locator(".findings")).to_contain_text("Шага «reviewx» нет.")
    await page.get_by_role("button", name="Схема", exact=True).click()
    await expect(page.locator(".box-error")).to_contain_text("Черновик")
    await page.get_by_role("button", name="Текст", exact=True).click()
    await page.locator(".cm-line.cm-finding-error").click()
    await leave_braces(page)
    await page.keyboard.press("Backspace")
    await expect(page.locator(".cm-line.cm-finding-error")).to_have_count(0)


async def read_what_a_step_gave(made: ConsoleBrowser, page: Page) -> None:
    """On the page of the run; then in the editor, whose nodes show the last run, in two presses."""
    await page.locator(".job-step").filter(has_text="Сверка").click()
    await expect(page.locator("#job-nodes")).to_contain_text('"questions"')
    await made.show(page, EDITOR)
    await expect(page.locator(".box-done")).to_have_count(2)
    await page.locator(".vue-flow__node").filter(has_text="Сверка").click()
    await page.get_by_role("tab", name="Последний запуск").click()
    await expect(page.locator(".def-panels")).to_contain_text('"questions"')


async def _has_prompts(demo: Demo, number: int) -> bool:
    return await demo.prompts() >= number


@pytest.mark.timeout(240)
@pytest.mark.req("C-26", "C-28", "C-29", "C-31", "C-33", "C-34")
async def test_a_flow_is_mended_published_and_watched_and_a_workflow_streams(tmp_path: Path) -> None:
    """Break and mend a transition, retitle it, publish it, watch its steps and read what they gave; whatever the browser complains of is seen."""
    async with opened_console(tmp_path) as made:
        page = await made.enter(1006)
        await made.show(page, EDITOR)
        await mend_a_broken_transition(page)
        await page.get_by_role("tab", name="Форма").click()
        title = page.locator(".def-panels").get_by_label("Название")
        await title.fill("Письмо клиенту")
        await title.blur()
        await expect(page.locator(".cm-content")).to_contain_text("Письмо клиенту")
        await page.get_by_role("button", name="Сохранить черновик").click()
        await expect(page.locator(".def-status")).to_have_text("Сохранено: версия 2, черновик")
        await page.get_by_role("button", name="Опубликовать…").click()
        verdict = page.get_by_role("dialog")
        await expect(verdict.locator(".diff-added")).to_contain_text("Письмо клиенту")
        await verdict.get_by_role("button", name="Опубликовать").click()
        await expect(page.locator(".def-status")).to_have_text("Опубликована: версия 2")

        await made.demo.hold()
        await made.show(page, "/runs?start=flow/proposal")
        await start(page, **{"Для кого предложение?": "ООО «Ромашка»", "Что предлагаем": "Насосы с доставкой"})
        draft, review = (page.locator(".job-step").filter(has_text=name) for name in ("Черновик", "Сверка"))
        await expect(draft).to_contain_text("выполняется")
        await expect(page.locator(".box-running")).to_contain_text("Черновик")
        await made.demo.hold()
        await expect(draft).to_contain_text("готово")
        await expect(review).to_contain_text("выполняется")
        await made.demo.go_on()
        await expect(page.locator(".job-head")).to_contain_text("Письмо клиенту")
        await expect(page.locator(".job-right")).to_contain_text("Что уточнить у клиента")
        await expect(page.locator(".job-right")).to_contain_text("К какому сроку нужен результат?")
        await read_what_a_step_gave(made, page)
        await made.demo.hold()
        await made.show(page, "/runs?start=workflow/client_dossier")
        asked = await made.demo.prompts()
        await start(page, **{"Название компании?": "Ромашка"})
        await until(lambda: _has_prompts(made.demo, asked + 2), "both summaries are asked for")
        await made.demo.hold()
        shown = page.locator(".job-right")
        await expect(shown).to_contain_text("текст идёт")
        await expect(shown.locator(".raw")).not_to_be_empty()
        beginning = await shown.locator(".raw").inner_text()
        await made.demo.go_on()
        await expect(shown).to_contain_text("текст готов")
        whole = await shown.locator(".raw").inner_text()
        await expect(page.locator(".box-done").filter(has_text="Что дальше")).to_be_visible()

    assert beginning
    assert beginning in whole
    assert len(beginning) < len(whole)
    assert made.problems == []
