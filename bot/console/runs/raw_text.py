"""A workflow's text: words, and blocks by id (S003-20 … S003-25). Unknown ids are plain text."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Final

from nicegui import ui

from bot.console.visit import Visit
from bot.console.widgets import cut_text, show_spans, show_text
from bot.rendering.markdown import render_markdown
from orchestrator.engines.shared.block_marks import restore_marks
from orchestrator.engines.shared.raw_text import Block, Words, parse_raw_text
from orchestrator.engines.shared.rendering import MOST_COLUMNS, MOST_OPTIONS, OPTIONS, list_options, read_record_key

Choose = Callable[[str], Awaitable[None]]
_LONGEST: Final = 100_000
_LONGEST_CELL: Final = 500
_MOST_ROWS: Final = 200
_MOST_PARTS: Final = 300
_LONGEST_OPTION: Final = 200


def draw_raw_text(visit: Visit, text: str, *, open_options: Collection[str] = (), on_choose: Choose | None = None) -> None:
    """Those in `open_options` are buttons, which call `on_choose`."""
    parts = [_restore_part(part) for part in parse_raw_text(cut_text(text, limit=_LONGEST))]
    with ui.element("div").classes("raw"):
        for part in parts[:_MOST_PARTS]:
            if isinstance(part, Words):
                if part.text.strip():
                    show_spans(render_markdown(part.text.strip(), locale=visit.tr.locale, links=()))
            elif part.id == OPTIONS:
                _draw_options(part, open_options, on_choose)
            elif read_record_key(part):
                _draw_record(visit, part)
            else:
                RENDERERS.get(part.id, _draw_plain)(part)
        if len(parts) > _MOST_PARTS:
            ui.label("…").classes("muted")


def _restore_part(part: Words | Block) -> Words | Block:
    """Marks that came from outside are text."""
    return Words(restore_marks(part.text)) if isinstance(part, Words) else Block(part.id, restore_marks(part.data))


def _draw_plain(block: Block) -> None:
    if block.data.strip():
        show_text(block.data.strip())


def _draw_quote(block: Block) -> None:
    title, _, text = block.data.strip().partition("\n")
    with ui.element("blockquote").classes("raw-quote"):
        if text:
            show_text(title, classes="strong")
        show_text(text or title)


def _draw_options(block: Block, open_options: Collection[str], on_choose: Choose | None) -> None:
    options = list_options(block.data)[:MOST_OPTIONS]
    with ui.element("div").classes("raw-options"):
        for option in options:
            label = cut_text(option, limit=_LONGEST_OPTION)
            if on_choose is not None and option in open_options:
                ui.button(label, on_click=lambda choice=option: on_choose(choice), color=None).props("outline no-caps").classes("act")
            else:
                ui.label(label).classes("raw-option").props("dir=auto")


def _draw_table(block: Block) -> None:
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|", MOST_COLUMNS - 1)] for line in block.data.strip().splitlines()]
    rows = [row for row in rows if any(row) and not all(set(cell) <= set("-:") for cell in row)]
    if not rows:
        return
    with ui.element("div").classes("wide"), ui.element("table").classes("grid-table"):
        for place, row in enumerate(rows[:_MOST_ROWS]):
            with ui.element("tr"):
                for cell in row:
                    with ui.element("td" if place else "th"):
                        ui.label(cut_text(cell, limit=_LONGEST_CELL)).props("dir=auto")
        if len(rows) > _MOST_ROWS:
            with ui.element("tr"), ui.element("td"):
                ui.label("…")


RENDERERS: Final[Mapping[str, Callable[[Block], None]]] = {"quote": _draw_quote, "table": _draw_table}
"""By id, of blocks that need no more than their data."""


def _draw_record(visit: Visit, block: Block) -> None:
    """A link where the portal's address is known."""
    kind, _, number = read_record_key(block).partition(":")
    url = _find_link(visit, kind, int(number))
    with ui.element("div").classes("raw-record"):
        ui.icon("description").props("aria-hidden=true")
        words = visit.say("console-runs-record", kind=kind, number=number)
        if url:
            ui.link(words, url, new_tab=True).props("rel=noreferrer")
        else:
            ui.label(words)


def _find_link(visit: Visit, kind: str, number: int) -> str:
    names = visit.services.orchestrator.tools.gate.deps.names
    try:
        return names.build_card_url(kind, number, user=visit.opened_as.bitrix_user_id or 0)
    except Exception:  # noqa: BLE001 - a portal that is not set up has no addresses, and its errors are the client's own
        return ""
