"""The canvas of the editor in a browser: what a person does on it changes the author's text, and one history takes it back."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, expect

from bot.console.static_files import STATIC
from tests.e2e.console_kit import ConsoleBrowser, needs_browser, opened_console

pytestmark = needs_browser

ADMIN = 1001
NEW = "/definitions/scenario/new"
TEXT = """# Знакомство: два вопроса
name: Знакомство
steps:
  - id: ask            # первый
    type: input
    params: {prompt: Как вас зовут?, input_variable: who, on_invalid: bye}
  - id: hello
    type: message
    params:
      text: Здравствуйте, {who}!   # по имени
  - id: more
    type: input
    params: {prompt: Чем помочь?, input_variable: need, on_invalid: bye}
  - id: bye
    type: end
"""
HOSTILE = (
    "</script><script>document.title=1</script>",
    "{{constructor.constructor('document.title=2')()}}",
    "<img src=x onerror=document.title=3>",
)
EDITOR = "getElement(Number(document.querySelector('.nicegui-codemirror').id.slice(1))).editor"


async def read(page: Page) -> str:
    """The text, also while it is not shown."""
    return str(await page.evaluate(f"{EDITOR}.state.doc.toString()"))


async def write(page: Page, text: str) -> None:
    await page.evaluate(f"(text) => {EDITOR}.dispatch({{changes: {{from: 0, to: {EDITOR}.state.doc.length, insert: text}}}})", text)


async def open_with(made: ConsoleBrowser, page: Page, text: str, boxes: int) -> None:
    """A new scenario with this text, drawn."""
    await made.show(page, NEW)
    await page.wait_for_function(f"() => typeof getElement === 'function' && document.querySelector('.nicegui-codemirror') && {EDITOR}")
    await write(page, text)
    await expect(page.locator(".vue-flow__node")).to_have_count(boxes)


def box(page: Page, title: str) -> Locator:
    return page.locator(".vue-flow__node").filter(has=page.locator(".box-title", has_text=title))


def port(page: Page, title: str, number: int) -> Locator:
    return box(page, title).locator(".box-port .vue-flow__handle").nth(number)


def entry(page: Page, title: str) -> Locator:
    return box(page, title).locator(".vue-flow__handle-left, .vue-flow__handle-top").first


async def drag(page: Page, begin: Locator, end: Locator | tuple[float, float]) -> None:
    """With the mouse, from the middle of one thing to another."""
    spots = []
    for one in (begin, end):
        if isinstance(one, tuple):
            spots.append(one)
            continue
        place = await one.bounding_box()
        assert place is not None
        spots.append((place["x"] + place["width"] / 2, place["y"] + place["height"] / 2))
    await page.mouse.move(*spots[0])
    await page.mouse.down()
    await page.mouse.move(spots[1][0] - 3, spots[1][1] - 3, steps=8)
    await page.mouse.move(*spots[1])
    await page.mouse.up()


async def take_back(page: Page) -> None:
    """Ctrl+Z on the canvas gives the bytes before."""
    await page.locator(".canvas").focus()
    await page.keyboard.press("Control+z")
    await page.wait_for_function(f"(text) => {EDITOR}.state.doc.toString() === text", arg=TEXT)
    await expect(page.locator(".vue-flow__node")).to_have_count(4)
    await page.locator(".canvas").press("f")


@pytest.mark.timeout(240)
@pytest.mark.req("C-29", "C-33")
async def test_steps_and_lines_are_made_and_taken_back(tmp_path: Path) -> None:
    """Add by "+", by dropping a line, by a key; connect, lead elsewhere, delete a line and a step: each changes few lines, and is undone."""
    async with opened_console(tmp_path) as made:
        page = await made.enter(ADMIN)
        await open_with(made, page, TEXT, 4)

        async def add_by_button() -> None:
            await box(page, "ask").hover()
            await box(page, "ask").locator(".box-add").first.click()
            await page.get_by_role("dialog", name="Добавить шаг").get_by_label("Найти…").fill("сказать")
            await page.keyboard.press("Enter")

        async def drop() -> None:
            area = await page.locator(".canvas").bounding_box()
            assert area is not None
            await drag(page, port(page, "ask", 1), (area["x"] + area["width"] / 2, area["y"] + area["height"] - 90))
            await page.locator(".canvas-found button", has_text="Конец сценария").first.click()

        async def add_by_key() -> None:
            await page.locator(".canvas").focus()
            await page.keyboard.press("n")
            await page.keyboard.press("ArrowDown")
            await page.keyboard.press("Enter")

        async def connect() -> None:
            await drag(page, port(page, "more", 0), entry(page, "hello"))

        async def lead_elsewhere() -> None:
            line = page.locator(".vue-flow__edge", has=page.locator(".vue-flow__edgeupdater-target"))
            await drag(page, line.locator(".vue-flow__edgeupdater-target").first, entry(page, "hello"))

        async def cut() -> None:
            await page.locator(".vue-flow__edge:not(.line-implied)").first.locator(".vue-flow__edge-interaction").dispatch_event("click")
            await page.keyboard.press("Delete")

        async def remove() -> None:
            await box(page, "hello").locator(".box-head").click()
            await page.locator(".canvas").focus()
            await page.keyboard.press("Delete")

        lines = {name: await do(page, deed, number) for name, deed, number in (
            ("button", add_by_button, 5), ("drop", drop, 5), ("key", add_by_key, 5), ("connect", connect, 4),
            ("elsewhere", lead_elsewhere, 4), ("cut", cut, 4), ("remove", remove, 3),
        )}  # fmt: skip

    assert lines["button"][1] == lines["connect"][1] == set()
    assert lines["connect"][0] == {"    next_step: hello"}
    assert {line.replace("hello", "bye") for line in lines["elsewhere"][0]} == lines["elsewhere"][1]
    assert lines["cut"][1] <= {line for line in TEXT.splitlines() if "on_invalid" in line}
    assert all("#" not in line for name in lines for line in lines[name][1] if name != "remove")
    assert made.problems == []


STANDS_STILL = """() => {
  const shown = document.querySelectorAll(".vue-flow__transformationpane, .vue-flow__node");
  const now = [...shown].map((one) => one.style.transform).join();
  const isSame = window.sdelkaSeen === now;
  window.sdelkaSeen = now;
  return isSame;
}"""
"""The canvas is where it was at the last look: a mouse misses what still moves."""


async def do(page: Page, deed: Callable[[], Awaitable[None]], boxes: int) -> tuple[set[str], set[str]]:
    """Which lines a deed adds and takes away, before it is taken back."""
    await page.wait_for_function(STANDS_STILL, polling=300)
    await deed()
    await page.wait_for_function(f"(text) => {EDITOR}.state.doc.toString() !== text", arg=TEXT)
    await expect(page.locator(".vue-flow__node")).to_have_count(boxes)
    after = set((await read(page)).splitlines())
    await take_back(page)
    before = set(TEXT.splitlines())
    return after - before, before - after


@pytest.mark.timeout(240)
@pytest.mark.req("C-29", "C-12", "C-39")
async def test_findings_keys_phones_and_hostile_names(tmp_path: Path) -> None:
    """A finding marks port and step, and leads to both; all goes by keys; a phone needs no scroll sideways; names stay text everywhere."""
    async with opened_console(tmp_path) as made:
        page = await made.enter(ADMIN)
        await open_with(made, page, TEXT.replace("on_invalid: bye}\n  - id: hello", "on_invalid: byee}\n  - id: hello"), 4)
        await find_and_mend(page)
        await walk_by_keys(page)
        await show_hostile(page)
        phone = await made.enter(ADMIN, width=390)
        await open_with(made, phone, TEXT, 4)
        await expect(phone.locator(".canvas-deeds")).to_be_visible()
        faults = await phone.evaluate(OVERLAPS)
        large = await made.enter(ADMIN)
        await open_large(made, large)

    assert faults == []
    assert made.problems == []


async def find_and_mend(page: Page) -> None:
    await expect(box(page, "ask").locator(".box-count")).to_have_text("1")
    await expect(box(page, "ask").locator(".box-port-bad")).to_contain_text("не понял")
    await page.get_by_role("button", name="Рядом").click()
    await page.get_by_role("tab", name="Замечания (1)").click()
    await page.locator(".findings").get_by_role("button").click()
    await expect(page.locator(".box-chosen")).to_contain_text("ask")
    await expect(page.locator(".cm-activeLine")).to_contain_text("byee")
    await expect(page.locator(".cm-line.cm-finding-error")).to_contain_text("byee")
    await write(page, TEXT)
    await expect(page.locator(".box-count")).to_have_count(0)
    await page.get_by_role("button", name="Схема", exact=True).click()


async def walk_by_keys(page: Page) -> None:
    """Choose, add, lead a way, open the form and delete, without a mouse."""
    await page.locator(".canvas").focus()
    await page.keyboard.press("ArrowRight")
    await expect(page.locator(".box-chosen")).to_contain_text("hello")
    await page.keyboard.press("Enter")
    await expect(page.locator(".form").get_by_label("Ключ шага")).to_have_value("hello")
    await expect(page.locator(".form :focus")).to_have_count(1)
    await box(page, "hello").focus()
    await page.keyboard.press("c")
    await page.get_by_role("dialog", name="Куда ведёт путь").get_by_label("Найти…").fill("bye")
    await page.keyboard.press("Enter")
    await page.wait_for_function(f"() => {EDITOR}.state.doc.toString().includes('next_step: bye')")
    await take_back(page)


async def show_hostile(page: Page) -> None:
    """On nodes, lines and in lists."""
    steps = "".join(
        f'  - id: "{name}"\n    type: input\n    params: {{prompt: "{name}", input_variable: v, buttons: ["{name}"]}}\n' for name in HOSTILE
    )
    await write(page, "name: x\nsteps:\n" + steps)
    await expect(page.locator(".vue-flow__node")).to_have_count(len(HOSTILE))
    for name in HOSTILE:
        await expect(page.locator(".box-text").filter(has_text=name[:20])).to_have_count(1)
    await page.locator(".vue-flow__node").first.click()
    await page.locator(".canvas").press("c")
    await page.locator(".canvas-found button").first.click()
    await expect(page.locator(".canvas-found button")).not_to_have_count(0)
    assert await page.locator(".canvas img, .canvas script").count() == 0
    assert await page.title() not in {"1", "2", "3"}


async def open_large(made: ConsoleBrowser, page: Page) -> None:
    """Of 500 steps only those in sight are drawn, another text shows its beginning, and a step can be added."""
    await open_with(made, page, TEXT, 4)
    ask = "type: input\n    params: {prompt: Что?, input_variable: v, on_invalid: s499}"
    await write(page, "name: x\nsteps:\n" + "".join(f"  - id: s{number}\n    {ask}\n" for number in range(500)))
    await expect(box(page, "s0 ")).to_be_in_viewport()
    assert await page.locator(".vue-flow__node").count() < 30
    await box(page, "s0 ").click()
    await page.locator(".canvas").press("n")
    await page.keyboard.press("Enter")
    await page.wait_for_function(f"() => {EDITOR}.state.doc.lines > 1503")
    await expect(page.locator(".box-chosen")).to_contain_text("_1")


OVERLAPS = """() => {
  const faults = document.documentElement.scrollWidth > document.documentElement.clientWidth ? ['scrolls sideways'] : [];
  const buttons = [...document.querySelectorAll('main button')].filter((one) => one.checkVisibility() && !one.matches('.box-add'));
  for (const [at, one] of buttons.entries()) for (const other of buttons.slice(at + 1)) {
    const a = one.getBoundingClientRect(), b = other.getBoundingClientRect();
    const x = Math.min(a.right, b.right) - Math.max(a.left, b.left), y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (x > 1 && y > 1 && !one.contains(other)) faults.push(`${one.outerHTML.slice(0, 80)} over ${other.outerHTML.slice(0, 80)}`);
  }
  return faults;
}"""


def test_the_component_takes_no_html() -> None:
    """What would put a text into the page as HTML is not in it."""
    for name in ("canvas.js", "canvas.css"):
        source = (STATIC / name).read_text(encoding="utf-8")
        assert not [word for word in ("v-html", "innerHTML", "insertAdjacent", "http:", "https:", "eval(") if word in source]
