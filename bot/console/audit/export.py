"""Writes the calls that a page shows as a table for spreadsheets (CSV) or as JSON. Pure: no input or output.

A cell that a spreadsheet would take for a formula gets an apostrophe in front, so that it stays text.
"""

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Final

from bot.console.audit.search import AuditRow

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
COLUMNS: Final = ("at", "person", "what", "method", "records", "changes", "outcome", "decision", "decided_by", "via", "run", "id")


def write_json(rows: Sequence[AuditRow]) -> bytes:
    """Return the rows as a JSON array."""
    return json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=2).encode()


def write_csv(rows: Sequence[AuditRow], say: Callable[[str], str]) -> bytes:
    """Return the rows as CSV in UTF-8 with a byte order mark, by which spreadsheets know the encoding; `say` names the columns."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([say(name) for name in COLUMNS])
    writer.writerows([keep_text(cell) for cell in _list_cells(row)] for row in rows)
    return text.getvalue().encode("utf-8-sig")


def _list_cells(row: AuditRow) -> Sequence[str]:
    person = f"{row.asked_by_name} ({row.asked_by})" if row.asked_by_name != row.asked_by else row.asked_by
    changes = "; ".join(change.format() for change in row.changes)
    decision = (row.outcome, row.decision, row.decided_by, row.decided_via)
    return (row.at, person, row.what, row.method, ", ".join(row.records), changes, *decision, row.run_name, row.effect_id)


def keep_text(cell: str) -> str:
    """Return the cell so that no spreadsheet calculates it."""
    return f"'{cell}" if cell.lstrip().startswith(_FORMULA) or cell.startswith(_FORMULA) else cell
