"""A row as a sentence that is understood without its table."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from orchestrator.services.rag.document import clean_text

_LONGEST_CELL: Final = 2000


def write_row(header: Sequence[str], cells: Sequence[str]) -> str:
    """«column: value; column: value.», "" if all cells are empty."""
    pairs = ((clean_text(name or ""), clean_text((cell or "")[:_LONGEST_CELL])) for name, cell in zip_longest(header, cells, fillvalue=""))
    parts = [f"{name}: {cell}" if name else cell for name, cell in pairs if cell]
    return "; ".join(parts) + "." if parts else ""


def find_header(rows: Sequence[Sequence[str]]) -> int:
    """The first row with the most cells of words; -1 if none looks like it."""
    counts = [sum(bool(cell) and not any(sign.isdigit() for sign in cell) for cell in row) for row in rows]
    most = max(counts, default=0)
    return counts.index(most) if most > 1 else -1
