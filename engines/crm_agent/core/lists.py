"""Replaces markers such as [[list 2.1: TITLE, OPPORTUNITY]] in the model's text by tables that code built."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from engines.crm_agent.core.turn_work import ReadList, TurnWork
from orchestrator.directory.answers import ColumnedTable
from orchestrator.domain.outputs import Notice, Table, Text
from orchestrator.engines.base import TurnContext

_MARKER: Final = re.compile(
    r"[ \t]*\[\[\s*list\s+(?:(?P<iteration>\d{1,3})\s*\.\s*)?(?P<step>\d{1,3})\s*(?::(?P<fields>[^\[\]]{0,600}))?\]\][ \t]*",
    re.IGNORECASE | re.ASCII,
)
_UNFINISHED: Final = re.compile(r"[ \t]*\[(?:\[[^\]]{0,600}\]?)?\Z")
_SEPARATOR: Final = re.compile(r"[\s,;]+")


@dataclass(frozen=True, kw_only=True)
class PlacedLists:
    parts: tuple[Text | Table, ...]
    notices: tuple[Notice, ...] = ()


async def place_lists(ctx: TurnContext, work: TurnWork, assistant: str, *, order: Sequence[int]) -> PlacedLists:
    """Markers of steps without a list are removed."""
    parts: list[Text | Table] = []
    notices: list[Notice] = []
    position = 0
    for match in _MARKER.finditer(assistant):
        _add_text(parts, assistant[position : match.start()])
        position = match.end()
        place = _find_place(work, match, order)
        if place is None:
            continue
        columns = tuple(dict.fromkeys(filter(None, _SEPARATOR.split(match["fields"] or ""))))
        table, unknown = await _build_table(ctx, work.lists[place], columns)
        parts.append(table.model_copy(update={"place": f"{place[0]}.{place[1]}"}))
        if unknown:
            notices.append(Notice(code="columns-unknown", args={"count": len(unknown)}))
    _add_text(parts, assistant[position:])
    return PlacedLists(parts=tuple(parts), notices=tuple(notices))


def hide_markers(text: str) -> str:
    return _UNFINISHED.sub("", _MARKER.sub("", text))


def _find_place(work: TurnWork, match: re.Match[str], order: Sequence[int]) -> tuple[int, int] | None:
    step = int(match["step"])
    iterations = (int(match["iteration"]),) if match["iteration"] else order
    return next(((iteration, step) for iteration in iterations if (iteration, step) in work.lists), None)


async def _build_table(ctx: TurnContext, read: ReadList, columns: Sequence[str]) -> tuple[Table, Sequence[str]]:
    if not columns or read.table.is_grouped or not read.table.rows:
        return read.table, ()
    columned_table: ColumnedTable = await ctx.query("columns", outcome=read.outcome, table=read.table, columns=columns, actor=ctx.actor)
    return columned_table.table, columned_table.unknown


def _add_text(parts: list[Text | Table], text: str) -> None:
    if text.strip():
        parts.append(Text(text=text.strip()))
