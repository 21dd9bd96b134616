from typing import Final

from nicegui import ui
from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement

from bot.console.conversations.turn_items import Item
from bot.console.report_picture import show_picture
from bot.console.visit import Visit
from bot.console.widgets import cut_text, show_badge, show_text
from bot.console.words import build_record_url, show_record

_FOLDED: Final = 12
_LONGEST_LINE: Final = 2_000
_BADGES: Final = frozenset({"decided", "outcome"})
"""A word in a box: people look for it."""


def draw_item(visit: Visit, item: Item) -> Element:
    """Of as few elements as will do: a page has hundreds."""
    voice = " deed-voice" if item.is_voice else ""
    with ui.element("div").classes(f"deed deed-{item.kind} tone-{item.tone}{voice}") as box:
        time = visit.tr.format_time(item.at)
        if item.kind == "thought":
            title = (
                visit.say("console-talk-thought-of", model=cut_text(item.who, limit=60)) if item.who else visit.say("console-talk-thought")
            )
            show_folded(f"{title} · {time}", item.details)
            return box
        ui.label(visit.say("console-talk-kind", kind=item.kind)).classes("deed-kind")
        if item.who:
            ui.label(cut_text(item.who, limit=120)).classes("strong").props("dir=auto")
        if item.kind in _BADGES and item.text:
            show_badge(cut_text(item.text, limit=120), tone=item.tone)
        ui.label(time).classes("deed-time")
        _draw_words(visit, item)
    return box


def _draw_words(visit: Visit, item: Item) -> None:
    if item.text and item.kind not in _BADGES:
        show_text(item.text, classes="deed-text")
    for answer in item.reports:
        show_picture(visit, answer)
    if item.record:
        show_record(visit, item.record)
    if item.lines:
        _draw_lines(visit, item, 0, _FOLDED)
    if len(item.lines) > _FOLDED:
        with ui.element("details").classes("fold"):
            TextElement(tag="summary", text=visit.say("card-more", count=len(item.lines) - _FOLDED))
            _draw_lines(visit, item, _FOLDED, len(item.lines))
    if item.note:
        show_text(item.note, classes="muted small deed-note")
    if item.details:
        is_code = item.kind != "asked"
        show_folded(visit.say("console-talk-details" if is_code else "console-talk-quoted"), item.details, is_code=is_code)
    if item.effect_id and item.kind in {"card", "sent"}:
        ui.link(visit.say("console-talk-why"), f"/audit/{item.effect_id}").classes("small")


def _draw_lines(visit: Visit, item: Item, first: int, end: int) -> None:
    with ui.element("ul").classes("deed-lines"):
        for line in item.lines[first:end]:
            url = build_record_url(visit, line.record)
            if url:
                with ui.element("li"):
                    ui.link(cut_text(line.text, limit=_LONGEST_LINE), url, new_tab=True).props("dir=auto")
            else:
                TextElement(tag="li", text=cut_text(line.text, limit=_LONGEST_LINE)).classes("text").props("dir=auto")


def show_folded(title: str, text: str, *, is_code: bool = False) -> None:
    with ui.element("details").classes("fold"):
        TextElement(tag="summary", text=title)
        show_text(text, classes="mono fold-text" if is_code else "fold-text")
