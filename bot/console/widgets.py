"""The building blocks of the pages. Whatever text they are given is shown as text: nothing here takes HTML or Markdown.

Pages show foreign text through these functions, `ui.label` and the fields of forms alone.
"""

from typing import Final

from nicegui import ui

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
