"""A report as XLSX: numbers as numbers, and a second sheet that says how they were counted. Texts are never formulas."""

import io
import math
from collections.abc import Iterator
from typing import Any, Final

from bot.i18n.translate import Translator
from bot.rendering.files import OPTIONS, build_sheet_name, strip_unprintable
from orchestrator.domain.report import Cell, ReportAnswer, ReportMeasure, Unit

_FORMATS: Final[dict[Unit, str]] = {
    "count": "#,##0",
    "money": "#,##0.00",
    "percent": "0.0%",
    "days": "#,##0.0",
    "hours": "#,##0.0",
    "minutes": "#,##0",
}
_CHANGE: Final = "+0.0%;-0.0%;0.0%"
_HUNDREDTHS: Final = 100
_NARROW, _WIDE, _WIDEST = 14, 30, 100


def render_report_xlsx(answer: ReportAnswer, tr: Translator) -> bytes:
    """Call it in a thread: it takes some time."""
    import xlsxwriter  # type: ignore[import-untyped] # noqa: PLC0415 - the library has no types, and takes a third of a second to import

    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, OPTIONS) as book:
        name, how = build_sheet_name(answer.title), tr.translate("report-sheet-how")
        _NumberSheet(book, book.add_worksheet(name if name.lower() != how.lower() else "1"), answer, tr).write()
        _write_how(book, book.add_worksheet(build_sheet_name(how)), answer, tr)
    return buffer.getvalue()


class _NumberSheet:
    def __init__(self, book: Any, page: Any, answer: ReportAnswer, tr: Translator) -> None:
        self._book, self._page, self._answer, self._tr = book, page, answer, tr
        self._has_before = answer.compared is not None
        self._formats: dict[tuple[str, bool], Any] = {}

    def write(self) -> None:
        answer, page = self._answer, self._page
        names = [dimension.label for dimension in answer.dimensions] or [""]
        heads = [*names, *self._list_heads()]
        for column, head in enumerate(heads):
            page.write_string(0, column, strip_unprintable(head), self._book.add_format({"bold": True, "bottom": 1, "text_wrap": True}))
        page.set_column(0, len(names) - 1, _WIDE)
        page.set_column(len(names), len(heads), _NARROW)
        for line, row in enumerate(answer.rows, start=1):
            for column, label in enumerate(row.labels[: len(names)]):
                page.write_string(line, column, strip_unprintable(label))
            self._write_cells(line, len(names), row.cells, is_bold=False)
        if answer.total:
            line = len(answer.rows) + 1
            page.write_string(line, 0, self._tr.translate("report-total"), self._book.add_format({"bold": True, "top": 1}))
            self._write_cells(line, len(names), answer.total, is_bold=True)
        page.freeze_panes(1, len(names))

    def _list_heads(self) -> Iterator[str]:
        for measure in self._answer.measures:
            name = measure.label
            has_currency = measure.unit == "money" and measure.currency
            yield self._tr.translate("report-file-money", name=name, currency=measure.currency) if has_currency else name
            if self._has_before:
                yield self._tr.translate("report-file-before", name=name)
                yield self._tr.translate("report-file-change", name=name)

    def _write_cells(self, line: int, column: int, cells: tuple[Cell, ...], *, is_bold: bool) -> None:
        for measure, cell in zip(self._answer.measures, cells, strict=False):
            self._write_number(line, column, cell.value, measure, is_bold=is_bold)
            column += 1
            if self._has_before:
                self._write_number(line, column, cell.before, measure, is_bold=is_bold)
                change = None if cell.change is None else cell.change / _HUNDREDTHS
                self._write(line, column + 1, change, self._choose_format(_CHANGE, is_bold=is_bold))
                column += 2

    def _write_number(self, line: int, column: int, number: float | None, measure: ReportMeasure, *, is_bold: bool) -> None:
        share = number / _HUNDREDTHS if number is not None and measure.unit == "percent" else number
        self._write(line, column, share, self._choose_format(_FORMATS[measure.unit], is_bold=is_bold))

    def _write(self, line: int, column: int, number: float | None, form: Any) -> None:
        if number is None or not math.isfinite(number):
            self._page.write_blank(line, column, None, form)
        else:
            self._page.write_number(line, column, number, form)

    def _choose_format(self, pattern: str, *, is_bold: bool) -> Any:
        key = pattern, is_bold
        if key not in self._formats:
            self._formats[key] = self._book.add_format({"num_format": pattern, "bold": is_bold} | ({"top": 1} if is_bold else {}))
        return self._formats[key]


def _write_how(book: Any, page: Any, answer: ReportAnswer, tr: Translator) -> None:
    texts = [
        ("definition", " ".join(filter(None, (answer.definition, answer.details)))),
        ("filter", answer.filter_text),
        ("period", _describe_period(answer, is_compared=False)),
        ("compared", _describe_period(answer, is_compared=True)),
        ("plan", answer.plan.plan.text if answer.plan else ""),
        ("as-of", answer.as_of),
        *(("note", note) for note in (answer.headline, *answer.remarks, *answer.notes)),
    ]
    bold, wrapped = book.add_format({"bold": True, "valign": "top"}), book.add_format({"text_wrap": True, "valign": "top"})
    page.set_column(0, 0, _WIDE)
    page.set_column(1, 1, _WIDEST)
    page.write_string(0, 0, tr.translate("report-file-name"), bold)
    page.write_string(0, 1, strip_unprintable(" · ".join(filter(None, (answer.title, answer.subtitle)))), wrapped)
    page.write_string(1, 0, tr.translate("report-file-records"), bold)
    page.write_number(1, 1, answer.records, book.add_format({"num_format": _FORMATS["count"], "align": "left"}))
    for line, (name, text) in enumerate(((name, text) for name, text in texts if text), start=2):
        page.write_string(line, 0, tr.translate(f"report-file-{name}"), bold)
        page.write_string(line, 1, strip_unprintable(text), wrapped)


def _describe_period(answer: ReportAnswer, *, is_compared: bool) -> str:
    """With its days."""
    period = answer.compared if is_compared else answer.period
    if period is None:
        return ""
    days = " – ".join(filter(None, (period.first, period.last)))
    return f"{period.text} ({days})" if days else period.text
