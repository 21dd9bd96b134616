"""The first frame of a page: its own beginning as plain HTML, in which foreign text is text (C-4, C-39)."""

from html.parser import HTMLParser
from pathlib import Path

import pytest
from nicegui import Client, ui
from nicegui.page import page as nicegui_page

from bot.console.first_frame import MOST_ELEMENTS, write_first_frame
from tests.unit.bot.console.console_kit import ANNA, OLGA, a_console, find_nonces
from tests.unit.bot.console.talk_kit import put_turn

HOSTILE = "\"'><img src=x onerror=alert(1)></div></script><script>alert(1)</script>&lt;b&gt;`${alert(1)}`"
TAGS = {"a", "article", "div", "header", "i", "li", "main", "nav", "pre", "script", "section", "span", "details", "summary", "form", "ul"}
ATTRIBUTES = {
    "class", "style", "href", "target", "rel", "dir", "role", "id", "aria-busy", "aria-level", "aria-label", "aria-hidden", "aria-current",
}  # fmt: skip
VOID = {"i"}


class _Reader(HTMLParser):
    """What a browser finds in the frame."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def find(self, name: str) -> list[str]:
        """Every value of the attribute."""
        return [value for one, value in self.attributes if one == name]


def _read(html: str) -> _Reader:
    found = _Reader(html)
    assert found.open == []
    return found


def _frame_of(html: str) -> str:
    """The frame as it stands in the answer."""
    return html.partition('<div id="first-frame"')[2].partition("<style>")[0]


@pytest.mark.req("C-4", "C-39")
async def test_nothing_foreign_is_more_than_text_in_the_first_frame(tmp_path: Path) -> None:
    """Whatever a text, a name, an attribute, a class, a style, a value or an address says, it opens no tag and no attribute."""
    async with a_console(tmp_path) as made:
        await made.open("/")  # NiceGUI runs
        with Client(nicegui_page("")) as client:
            box = ui.label(HOSTILE).classes(HOSTILE.split(maxsplit=1)[0])
            box.props["aria-label"], box.props["onclick"] = HOSTILE, "alert(1)"
            box.style["color"] = HOSTILE
            ui.link(HOSTILE, "javascript:alert(1)")
            ui.link("web", f"https://example.com/{HOSTILE}")
            ui.link("other", "//example.com")
            ui.button(HOSTILE, icon=HOSTILE)
            ui.input(HOSTILE, value=HOSTILE)
            ui.select({HOSTILE: HOSTILE}, value=HOSTILE, label=HOSTILE)
            ui.toggle({1: HOSTILE})
            ui.icon(HOSTILE)
            ui.codemirror(HOSTILE)
            ui.element("script").props["src"] = "https://example.com"
            with ui.tabs():
                ui.tab(HOSTILE)
            found = _read(write_first_frame(client.layout))

        assert set(found.tags) <= TAGS
        assert found.tags.count("script") == 1
        assert {name for name, _ in found.attributes} <= ATTRIBUTES
        assert [one for one in found.find("href") if not one.startswith("https://example.com/")] == []
        assert found.texts.count(HOSTILE) == 12


@pytest.mark.req("C-12")
async def test_the_first_frame_is_the_beginning_of_the_page(tmp_path: Path) -> None:
    """The bar, the navigation with addresses that work, and what the page shows, before any script; each script of it has the nonce."""
    async with a_console(tmp_path) as made:
        put_turn(made.world, "tg:1007", "подними сумму")
        html = (await made.get("/conversations/tg:1007", ANNA)).text
        found = _read(f'<div id="first-frame"{_frame_of(html)}')

        assert {"Диалог", "Анна", "Сегодня", "подними сумму"} <= set(found.texts)
        assert "/console/approvals" in found.find("href")
        assert "button" not in found.tags
        assert found.find("id") == ["first-frame"]
        assert list(find_nonces(html)) != [""]
        assert "" not in find_nonces(html)


async def test_the_first_frame_ends_after_a_screenful(tmp_path: Path) -> None:
    """Of a long page it is the beginning, of a conversation the last turn, where people read; what is hidden is left out."""
    async with a_console(tmp_path) as made:
        for number in range(3):
            put_turn(made.world, "tg:1007", f"вопрос {number}")
        texts = _read(f'<div id="first-frame"{_frame_of((await made.get("/conversations/tg:1007", ANNA)).text)}').texts
        assert [one for one in texts if one.startswith("вопрос")] == ["вопрос 2"]
        with Client(nicegui_page("")) as client:
            ui.label("hidden").set_visibility(False)
            with ui.element("details"):
                ui.label("title")
                ui.label("folded")
            with ui.dialog(), ui.card():
                ui.label("in a dialog")
            for number in range(10 * MOST_ELEMENTS):
                ui.label(f"{number:04d}")
            found = _read(write_first_frame(client.layout))

        assert {"title", "0000"} <= set(found.texts)
        assert set(found.texts).isdisjoint({"hidden", "folded", "in a dialog", f"{MOST_ELEMENTS:04d}"})
        assert len(found.tags) < MOST_ELEMENTS + 5


async def test_a_page_without_its_things_has_a_first_frame_too(tmp_path: Path) -> None:
    """It says that there is nothing, and leads back."""
    async with a_console(tmp_path) as made:
        found = _read(f'<div id="first-frame"{_frame_of((await made.get("/runs/nothing", OLGA)).text)}')

        assert "/console/" in found.find("href")
