"""Differences line by line."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import Final, Literal

from nicegui import ui

from bot.console.visit import Visit
from bot.console.widgets import cut_text, show_empty

_AROUND: Final = 3
"""Equal lines around a change."""
_MOST_COMPARED: Final = 4_000
"""Lines between the first and the last change; more are replaced as a whole."""
_MOST_SHOWN: Final = 1_500
_MOST_RUNS: Final = 120
"""Lines of one kind in a row are drawn as one."""
_LONGEST_LINE: Final = 2_000
Way = Literal["same", "added", "removed", "gap"]
_SIGNS: Final[dict[Way, str]] = {"same": " ", "added": "+", "removed": "−", "gap": "⋯"}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """Numbers are 0 where the text does not have it."""

    way: Way
    text: str
    before: int = 0
    after: int = 0


async def compare_texts(before: str, after: str) -> Sequence[DiffLine]:
    """Of texts of any size; empty if they are equal."""
    return await asyncio.to_thread(lambda: tuple(list_diff(before.splitlines(), after.splitlines())))


def list_diff(before: Sequence[str], after: Sequence[str]) -> Iterator[DiffLine]:
    """Changed lines with those around them."""
    blocks = [block for block in _list_blocks(before, after) if block[0] != "equal"]
    shown_to = 0
    for number, (_, start, end, new_start, new_end) in enumerate(blocks):
        begin = max(start - _AROUND, shown_to)
        if begin > shown_to:
            yield DiffLine("gap", "")
        yield from _list_same(before, begin, start, new_start - start)
        yield from (DiffLine("removed", before[at], before=at + 1) for at in range(start, end))
        yield from (DiffLine("added", after[at], after=at + 1) for at in range(new_start, new_end))
        until = blocks[number + 1][1] if number + 1 < len(blocks) else len(before)
        shown_to = min(end + _AROUND, until)
        yield from _list_same(before, end, shown_to, new_end - end)
    if blocks and shown_to < len(before):
        yield DiffLine("gap", "")


def _list_same(before: Sequence[str], start: int, end: int, offset: int) -> Iterator[DiffLine]:
    for at in range(start, end):
        yield DiffLine("same", before[at], at + 1, at + 1 + offset)


def _list_blocks(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """As difflib has it; equal ends are left out before, which takes no time."""
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    if max(len(old), len(new)) > _MOST_COMPARED or not old or not new:
        return [("replace", head, len(before) - tail, head, len(after) - tail)] if old or new else []
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(way, first + head, last + head, new_first + head, new_last + head) for way, first, last, new_first, new_last in blocks]


def draw_diff(visit: Visit, lines: Sequence[DiffLine], *, before: str, after: str) -> None:
    """`before` and `after` say which texts they are."""
    if not lines:
        show_empty(visit.say("console-diff-none"))
        return
    runs = [list(run) for _, run in groupby(lines[:_MOST_SHOWN], key=lambda diff_line: diff_line.way)]
    added, removed = (sum(line.way == way for line in lines) for way in ("added", "removed"))
    with ui.element("div").classes("diff-head small"):
        ui.label(f"− {before}").classes("diff-removed-word")
        ui.label(f"+ {after}").classes("diff-added-word")
        ui.label(visit.say("console-diff-count", added=added, removed=removed)).classes("muted")
    with ui.element("div").classes("diff mono").props("tabindex=0 role=region") as box:
        box.props["aria-label"] = visit.say("console-diff-name", before=before, after=after)
        for run in runs[:_MOST_RUNS]:
            with ui.element("div").classes(f"diff-run diff-{run[0].way}"):
                gutter = "\n".join(f"{diff_line.before or '':>5} {diff_line.after or '':>5} {_SIGNS[diff_line.way]}" for diff_line in run)
                ui.label(gutter).classes("diff-gutter")
                ui.label("\n".join(cut_text(diff_line.text, limit=_LONGEST_LINE) for diff_line in run)).classes("diff-text")
    left = len(lines) - sum(map(len, runs[:_MOST_RUNS]))
    if left:
        show_empty(visit.say("console-diff-more", count=left))
