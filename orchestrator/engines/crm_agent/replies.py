"""The words of ASSISTANT with [[list N]] markers replaced by tables that code made."""

import re
from collections.abc import Mapping

from orchestrator.messages import Table, Text

_MARKER = re.compile(r"[ \t]*\[\[\s*list\s+(\d{1,3})\s*\]\][ \t]*", re.IGNORECASE)


def insert_tables(assistant: str, tables: Mapping[int, Table]) -> tuple[Text | Table, ...]:
    """Text and tables in order; a marker without a table disappears."""
    parts: list[Text | Table] = []
    position = 0
    for match in _MARKER.finditer(assistant):
        _add_text(parts, assistant[position : match.start()])
        table = tables.get(int(match.group(1)))
        if table is not None:
            parts.append(table)
        position = match.end()
    _add_text(parts, assistant[position:])
    return tuple(parts)


def _add_text(parts: list[Text | Table], text: str) -> None:
    if text.strip():
        parts.append(Text(text=text.strip()))
