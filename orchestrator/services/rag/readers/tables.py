"""Writes a row of a table as a sentence that names its columns, so that a row is understood and found without the table around it."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from orchestrator.services.rag.document import clean_text

_LONGEST_CELL: Final = 2000


def write_row(header: Sequence[str], cells: Sequence[str]) -> str:
    """Return the row as «column: value; column: value.», "" if all cells are empty; a cell without a column's name stands alone."""
    pairs = ((clean_text(name or ""), clean_text((cell or "")[:_LONGEST_CELL])) for name, cell in zip_longest(header, cells, fillvalue=""))
    written = [f"{name}: {cell}" if name else cell for name, cell in pairs if cell]
    return "; ".join(written) + "." if written else ""


def find_header(rows: Sequence[Sequence[str]]) -> int:
    """Return the index of the row with the columns' names among the first rows of a table, -1 if none looks like one.

    It is the first of those with the most cells in which there are words and no numbers.
    """
    counts = [sum(bool(cell) and not any(sign.isdigit() for sign in cell) for cell in row) for row in rows]
    most = max(counts, default=0)
    return counts.index(most) if most > 1 else -1
