"""Shows what differs between two texts, line by line, as text."""

from difflib import unified_diff
from itertools import islice
from typing import Final

from nicegui import ui

from bot.console.widgets import cut_text, show_empty

_MOST: Final = 400
_LONGEST_LINE: Final = 400
_WAYS: Final = {"+": "diff-added", "-": "diff-removed", "@": "diff-gap"}


def show_difference(before: str, after: str, *, nothing: str) -> None:
    """Show the lines that differ, and three around each; `nothing` is said if none do."""
    lines = list(islice(unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=3), 2, _MOST + 2))
    if not lines:
        show_empty(nothing)
        return
    with ui.element("div").classes("policy-diff mono").props("tabindex=0 role=group"):
        for line in lines:
            ui.label(cut_text(line, limit=_LONGEST_LINE)).classes(f"text {_WAYS.get(line[:1], '')}")
