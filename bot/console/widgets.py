"""The building blocks of the pages. Whatever text they are given is shown as text: nothing here takes HTML or Markdown.

Pages show foreign text through these functions, `ui.label` and the fields of forms alone.
"""

from typing import Final
from urllib.parse import urlsplit

from nicegui import ui

from bot.rendering.spans import Spans

LONGEST: Final = 20_000
"""Characters of one text that a page shows; a longer one is cut, which it says."""


def cut_text(text: str, *, limit: int = LONGEST) -> str:
    """Return the text as a page may show it: at most `limit` characters, with "…" in place of the rest."""
    return text if len(text) <= limit else f"{text[:limit]}…"


def show_heading(text: str, *, count: int | None = None) -> None:
    """Show the heading of a part of a page, with the number of things in it."""
    with ui.element("div").classes("heading"):
        ui.label(text).props("role=heading aria-level=2")
        if count is not None:
            ui.label(str(count)).classes("count")


def show_empty(text: str) -> None:
    """Show that there is nothing of a kind."""
    ui.label(text).classes("empty-line")


def show_text(text: str, *, classes: str = "") -> None:
    """Show a text of any length with its line breaks, each in its own direction of writing."""
    ui.label(cut_text(text)).classes(f"text {classes}").props("dir=auto")


def show_badge(text: str, *, tone: str = "plain") -> None:
    """Show a word in a box; `tone` is plain, good, warn, bad or live."""
    ui.label(text).classes(f"badge badge-{tone}")


def build_panel() -> ui.element:
    """Return a box for things that belong together."""
    return ui.element("section").classes("panel")


def show_spans(text: Spans, *, classes: str = "", limit: int | None = LONGEST) -> ui.element:
    """Show formatted text as chats show it; a link leads to web addresses alone. `limit` is as in `cut_text`, None shows all."""
    left = limit
    with ui.element("div").classes(f"text spans {classes}").props("dir=auto") as made:
        for span in text:
            if left is not None and left <= 0:
                break
            shown = span.text if left is None else cut_text(span.text, limit=left)
            left = None if left is None else left - len(span.text)
            styles = " ".join(f"span-{style}" for style in span.styles)
            if is_web_address(span.url):
                ui.link(shown, span.url, new_tab=True).props('rel="noopener noreferrer"').classes(styles)
            else:
                ui.label(shown).classes(styles)
    return made


def is_web_address(url: str) -> bool:
    """Return whether the text is the address of a web page, so that a link may lead to it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc)
