"""Renders lists as XLSX. Pure."""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.domain.outputs import Table

Cell = str | int | float
_LONGEST = 32_000
"""Characters of a cell; Excel's limit is 32,767."""
_LONGEST_LINK = 2000
_WIDEST = 60
OPTIONS: Final = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
"""Of a book whose texts are never formulas."""
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that XML cannot contain."""


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """`links` has an address per row, "" for none."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    links: tuple[str, ...] = ()


def build_sheet(table: Table, *, heading: str) -> Sheet:
    """The first column links to the record; `heading` stands above it where the table names none."""
    rows = tuple((row.label, *row.cells) for row in table.rows)
    return Sheet(columns=(table.heading or heading, *table.columns), rows=rows, links=tuple(row.url for row in table.rows))


def render_xlsx(sheet: Sheet, *, name: str) -> bytes:
    """Texts are never formulas."""
    import xlsxwriter  # type: ignore[import-untyped] # noqa: PLC0415 - the library has no types, and takes a third of a second to import

    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, OPTIONS) as book:
        page = book.add_worksheet(build_sheet_name(name))
        head = book.add_format({"bold": True, "bottom": 1})
        for column, title in enumerate(sheet.columns):
            page.write_string(0, column, strip_unprintable(title), head)
        for number, row in enumerate(sheet.rows, start=1):
            _write_row(page, number, row, sheet.links[number - 1] if number <= len(sheet.links) else "")
        page.freeze_panes(1, 0)
        page.autofilter(0, 0, len(sheet.rows), max(len(sheet.columns) - 1, 0))
        for column, title in enumerate(sheet.columns):
            page.set_column(column, column, measure_width(title, sheet.rows, column))
    return buffer.getvalue()


def build_sheet_name(name: str) -> str:
    """As Excel allows it: at most 31 characters, without reserved ones."""
    return re.sub(r"[\[\]:*?/\\]", " ", strip_unprintable(name))[:31].strip("' ") or "1"


def _write_row(page: Any, number: int, row: Sequence[Cell], link: str) -> None:
    for column, cell in enumerate(row):
        if not isinstance(cell, str):
            page.write_number(number, column, cell)
        elif column == 0 and is_address(link):
            page.write_url(number, column, link, string=strip_unprintable(cell))
        else:
            page.write_string(number, column, strip_unprintable(cell))


def is_address(link: str) -> bool:
    """Other links could open files of the reader."""
    return link.startswith(("https://", "http://")) and len(link) < _LONGEST_LINK


def strip_unprintable(text: str) -> str:
    return _UNPRINTABLE.sub("", text)[:_LONGEST]


def measure_width(title: str, rows: Sequence[Sequence[Cell]], column: int) -> int:
    longest = max((len(str(row[column])) for row in rows if column < len(row)), default=0)
    return min(max(longest, len(title)) + 2, _WIDEST)
