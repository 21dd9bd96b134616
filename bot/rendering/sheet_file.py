"""A list as XLSX: sums and numbers can be added, days can be sorted. Texts are never formulas."""

import io
import math
from datetime import datetime
from typing import Any, Final

from bot.i18n.translate import Translator
from bot.rendering.files import OPTIONS, build_sheet_name, is_address, measure_width, strip_unprintable
from orchestrator.domain.outputs import SheetCell, SheetPart, SheetUnit

_FORMATS: Final[dict[SheetUnit, str]] = {"number": "0.##########", "money": "#,##0.00", "date": "dd.mm.yyyy", "moment": "dd.mm.yyyy hh:mm"}
_WIDTHS: Final[dict[SheetUnit, int]] = {"number": 12, "money": 16, "date": 12, "moment": 17}


def render_sheet_xlsx(part: SheetPart, tr: Translator) -> bytes:
    """Call it in a thread: it takes some time."""
    import xlsxwriter  # type: ignore[import-untyped] # noqa: PLC0415 - the library has no types, and takes a third of a second to import

    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, OPTIONS) as book:
        page = book.add_worksheet(build_sheet_name(tr.translate("file-list")))
        head = book.add_format({"bold": True, "bottom": 1, "text_wrap": True})
        formats = {unit: book.add_format({"num_format": pattern}) for unit, pattern in _FORMATS.items()}
        titles = (tr.translate("file-record"), *(column.title for column in part.columns))
        for column, title in enumerate(titles):
            page.write_string(0, column, strip_unprintable(title), head)
        for line, row in enumerate(part.rows, start=1):
            label = strip_unprintable(row.label)
            if is_address(row.url):
                page.write_url(line, 0, row.url, string=label)
            else:
                page.write_string(line, 0, label)
            for place, (spec, cell) in enumerate(zip(part.columns, row.cells, strict=True), start=1):
                _write(page, line, place, cell, spec.unit, formats)
        page.freeze_panes(1, 1)
        page.autofilter(0, 0, len(part.rows), len(titles) - 1)
        labels = [(row.label, *(str(cell or "") for cell in row.cells)) for row in part.rows]
        for column, title in enumerate(titles):
            unit: SheetUnit = part.columns[column - 1].unit if column else "text"
            page.set_column(column, column, _WIDTHS.get(unit) or measure_width(title, labels, column))
    return buffer.getvalue()


def _write(page: Any, line: int, column: int, cell: SheetCell, unit: SheetUnit, formats: dict[SheetUnit, Any]) -> None:
    if cell is None or cell == "":
        return
    if isinstance(cell, float | int):
        if math.isfinite(cell):
            page.write_number(line, column, cell, formats.get(unit))
        return
    moment = _parse_moment(cell) if unit in {"date", "moment"} else None
    if moment is not None:
        page.write_datetime(line, column, moment, formats[unit])
    else:
        page.write_string(line, column, strip_unprintable(cell))


def _parse_moment(text: str) -> datetime | None:
    """None for what Excel's calendar lacks."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.year >= 1900 and moment.tzinfo is None else None  # noqa: PLR2004 - where Excel begins to count
