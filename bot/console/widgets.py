"""Texts are shown as text: nothing here takes HTML or Markdown. Notices and questions outlast what is drawn anew."""

from collections.abc import Awaitable, Callable
from typing import Final, Literal
from urllib.parse import urlsplit

from nicegui import ui

from bot.console.visit import Visit
from bot.rendering.spans import Spans

Act = Callable[[], Awaitable[None]]


def tell(visit: Visit, sentence: str, *, tone: Literal["positive", "warning", "negative"] = "positive") -> None:
    """Also if the button that led to it is there no longer."""
    with visit.page:
        ui.notify(sentence, type=tone)


def ask_first(
    visit: Visit,
    root: ui.element,
    question: str,
    label: str,
    act: Act,
    *,
    draw: Callable[[], None] | None = None,
    is_grave: bool = False,
) -> None:
    """Acts once if `label` is pressed; `draw` draws what else stands there."""
    is_done = False
    with root, ui.dialog() as dialog, ui.card().classes("ask"):
        ui.label(question).classes("strong text").props("dir=auto")
        if draw is not None:
            draw()
        with ui.element("div").classes("acts"):
            ui.button(visit.say("console-no"), on_click=dialog.close, color=None).props("flat no-caps")

            async def go_on() -> None:
                nonlocal is_done
                if not is_done:  # a second press may come before the dialog is gone
                    is_done = True
                    dialog.close()
                    await act()

            ui.button(label, on_click=go_on, color=None).props("unelevated no-caps").classes("act-bad" if is_grave else "act-main")

    dialog.on("hide", dialog.delete)
    dialog.open()


LONGEST: Final = 20_000
"""Characters; a longer text is cut, which it says."""


def cut_text(text: str, *, limit: int = LONGEST) -> str:
    """With "…" in place of the rest."""
    return text if len(text) <= limit else f"{text[:limit]}…"


def show_heading(text: str, *, count: int | None = None) -> None:
    """`count` is of things in it."""
    with ui.element("div").classes("heading"):
        ui.label(text).props("role=heading aria-level=2")
        if count is not None:
            ui.label(str(count)).classes("count")


def show_empty(text: str) -> None:
    ui.label(text).classes("empty-line")


def show_text(text: str, *, classes: str = "") -> None:
    """With line breaks, each in its own direction of writing."""
    ui.label(cut_text(text)).classes(f"text {classes}").props("dir=auto")


def show_badge(text: str, *, tone: str = "plain") -> None:
    """`tone` is plain, good, warn, bad or live."""
    ui.label(text).classes(f"badge badge-{tone}")


def build_panel() -> ui.element:
    return ui.element("section").classes("panel")


def show_spans(text: Spans, *, classes: str = "", limit: int | None = LONGEST) -> ui.element:
    """A link leads to web addresses alone. `limit` as in `cut_text`, None shows all."""
    left = limit
    with ui.element("div").classes(f"text spans {classes}").props("dir=auto") as block:
        for span in text:
            if left is not None and left <= 0:
                break
            visible = span.text if left is None else cut_text(span.text, limit=left)
            left = None if left is None else left - len(span.text)
            styles = " ".join(f"span-{style}" for style in span.styles)
            if is_web_address(span.url):
                ui.link(visible, span.url, new_tab=True).props('rel="noopener noreferrer"').classes(styles)
            else:
                ui.label(visible).classes(styles)
    return block


def is_web_address(url: str) -> bool:
    """So that a link may lead to it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc)
