"""Draws one thing that happened in a conversation."""

from collections.abc import Mapping
from typing import Final

from nicegui import ui
from nicegui.element import Element

from bot.console.conversations.turns import Item, Kind
from bot.console.record_links import build_record_url, show_record
from bot.console.visit import Visit
from bot.console.widgets import cut_text, show_badge, show_text

_ICONS: Final[Mapping[Kind, str]] = {
    "asked": "person",
    "thought": "psychology",
    "proposed": "playlist_add_check",
    "read": "visibility",
    "card": "fact_check",
    "decided": "how_to_reg",
    "sent": "send",
    "outcome": "flag",
    "refused": "block",
    "failed": "error",
    "question": "help",
    "answered": "smart_toy",
    "notice": "info",
}
_FOLDED: Final = 12
"""How many lines stand open; more are folded away."""
_BADGES: Final = frozenset({"decided", "outcome"})
"""What is told by a word in a box, since people look for it."""


def draw_item(visit: Visit, item: Item) -> Element:
    """Draw the item and return its box."""
    with ui.element("div").classes(f"item item-{item.kind} tone-{item.tone}") as box:
        ui.icon("mic" if item.is_voice else _ICONS[item.kind]).classes("item-icon").props("aria-hidden=true")
        with ui.element("div").classes("item-body"):
            if item.kind == "thought":
                _draw_thought(visit, item)
            else:
                _draw_head(visit, item)
                _draw_words(visit, item)
    return box


def _draw_thought(visit: Visit, item: Item) -> None:
    title = visit.say("console-talk-thought-of", model=cut_text(item.who, limit=60)) if item.who else visit.say("console-talk-thought")
    show_folded(title, item.details, time=visit.tr.format_time(item.at))


def _draw_head(visit: Visit, item: Item) -> None:
    with ui.element("div").classes("item-head"):
        ui.label(visit.say("console-talk-kind", kind=item.kind)).classes("item-kind")
        if item.who:
            ui.label(cut_text(item.who, limit=120)).classes("strong").props("dir=auto")
        if item.kind in _BADGES and item.text:
            show_badge(cut_text(item.text, limit=120), tone=item.tone)
        ui.label(visit.tr.format_time(item.at)).classes("muted small item-time")


def _draw_words(visit: Visit, item: Item) -> None:
    if item.text and item.kind not in _BADGES:
        show_text(item.text, classes="item-text")
    if item.record:
        show_record(visit, item.record)
    if len(item.lines) > _FOLDED:
        _draw_lines(visit, item, 0, _FOLDED)
        with ui.element("details").classes("fold"):
            with ui.element("summary"):
                ui.label(visit.say("card-more", count=len(item.lines) - _FOLDED))
            _draw_lines(visit, item, _FOLDED, len(item.lines))
    elif item.lines:
        _draw_lines(visit, item, 0, _FOLDED)
    if item.note:
        show_text(item.note, classes="muted small")
    if item.details:
        show_folded(
            visit.say("console-talk-quoted" if item.kind == "asked" else "console-talk-details"), item.details, is_code=item.kind != "asked"
        )
    if item.effect_id and item.kind in {"card", "sent", "refused"}:
        ui.link(visit.say("console-talk-why"), f"/console/audit/{item.effect_id}").classes("small")


def _draw_lines(visit: Visit, item: Item, first: int, end: int) -> None:
    with ui.element("ul").classes("item-lines"):
        for line in item.lines[first:end]:
            url = build_record_url(visit, line.record)
            with ui.element("li"):
                if url:
                    ui.link(cut_text(line.text, limit=2_000), url, new_tab=True).props("dir=auto")
                else:
                    show_text(line.text)


def show_folded(title: str, text: str, *, is_code: bool = False, time: str = "") -> None:
    """Show a text that somebody opens by pressing its title."""
    with ui.element("details").classes("fold"):
        with ui.element("summary"):
            ui.label(title)
            if time:
                ui.label(time).classes("muted small item-time")
        show_text(text, classes="mono fold-text" if is_code else "fold-text")
