"""Texts in columns: CSV in the encodings of offices, and what a sheet saves as text."""

import csv
import io
from collections import Counter
from typing import Final

from orchestrator.domain.shelf import Contents
from orchestrator.services.rag.document import Block, Document, Place, UnreadableDocument
from orchestrator.services.rag.readers.plain_text import decode_text
from orchestrator.services.rag.readers.tables import Line, TableReader

_SEPARATORS: Final = "\t;,|"
_SAMPLE: Final = 30_000
_LOOKED_AT: Final = 50
_STEADY: Final = 0.8
"""Share of the rows that have as many columns as most."""


def read_csv(data: bytes) -> Document:
    """The separator by which rows have the most even columns. Raises UnreadableDocument."""
    text = decode_text(data)
    if text is None:
        raise UnreadableDocument("unsupported", found="binary")
    separator = find_separator(text) or ";"
    reader, lines, number = TableReader(level=2), list[Line](), 1
    csv.field_size_limit(len(text) + 1)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        for row in rows:
            lines.append(Line(row, Place("sheet", "", number, rows.line_num)))
            number = rows.line_num + 1
    except csv.Error:
        raise UnreadableDocument("broken") from None
    blocks = tuple(reader.read(lines))
    contents = Contents(rows=reader.rows, columns=tuple(filter(None, reader.names)), sample=reader.sample)
    return Document("", blocks or (Block("text", text),), contents)


def find_separator(text: str) -> str:
    """ "" for a text without even columns."""
    scores = {separator: _score(text[:_SAMPLE], separator) for separator in _SEPARATORS}
    best = max(scores, key=lambda separator: scores[separator])
    return best if scores[best] else ""


def _score(text: str, separator: str) -> float:
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if any(row)][:_LOOKED_AT]
    if len(rows) < 2:  # noqa: PLR2004
        return 0.0
    columns, often = Counter(map(len, rows)).most_common(1)[0]
    return columns * often / len(rows) if columns > 1 and often >= _STEADY * len(rows) else 0.0
