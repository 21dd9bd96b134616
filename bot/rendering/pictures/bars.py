"""Groups as bars, with the compared period as a thinner one beneath."""

from dataclasses import dataclass
from typing import Final

from bot.i18n.translate import Translator
from bot.rendering.pictures.canvas import HIGHEST, MARGIN, STRONG, TEXT, Canvas, Point
from bot.rendering.pictures.layout import INNER, NO_VALUE, RIGHT, Foot, choose_change_ink, name_row, read_cell, read_number
from bot.rendering.pictures.text_width import clean_text, cut_text
from orchestrator.domain.report import ReportAnswer, ReportRow

MOST: Final = 8
"""Groups in a picture."""
_GAP: Final = 10
_NARROWEST: Final = 104
"""A label with less room gets a line of its own."""
_FEW: Final = 4
"""Rows that get thicker bars."""


@dataclass(frozen=True, slots=True)
class _Columns:
    value: float
    change: float
    is_stacked: bool

    @property
    def label(self) -> float:
        return INNER if self.is_stacked else INNER - self.value - self.change


def select_rows(answer: ReportAnswer, room: float) -> tuple[list[ReportRow], int]:
    """`room` is for so many rows. Return those to draw and how many groups are left out; the rest stays only if it still is that."""
    groups = [row for row in answer.rows if row.kind == "group"]
    rest = [row for row in answer.rows if row.kind == "rest"][:1]
    if rest and len(groups) <= min(MOST, int(room) - 1):
        return [*groups, *rest], 0
    drawn = groups[: max(min(MOST, int(room)), 1)] or rest
    return drawn, max(answer.groups, len(groups)) - len(drawn)


def draw_bars(canvas: Canvas, answer: ReportAnswer, tr: Translator, top: float) -> float:
    columns = _measure_columns(answer)
    is_roomy = len(answer.rows) <= _FEW
    bar, past = (14, 6) if is_roomy else (9, 4)
    head = 33 if columns.is_stacked else 17
    pitch = head + bar + (past + 2 if answer.compared else 0) + (20 if is_roomy else 9)
    foot = Foot(theme=canvas.theme, answer=answer, tr=tr, hidden=1)
    rows, hidden = select_rows(answer, (HIGHEST - top - foot.height) / pitch)
    scale, zero = _measure_scale(rows)
    y = top
    for row in rows:
        _write_row(canvas, answer, row, y, columns)
        cell = read_cell(row)
        colour = canvas.theme.past if row.kind == "rest" else canvas.theme.accent
        _draw_bar(canvas, read_number(cell.value), (zero, y + head), scale, bar, colour)
        if answer.compared:
            _draw_bar(canvas, read_number(cell.before), (zero, y + head + bar + 2), scale, past, canvas.theme.past)
        if not scale:
            canvas.draw_rectangle(MARGIN, y + head, INNER, bar, canvas.theme.grid, is_shape=False)
        elif zero > MARGIN:
            canvas.draw_line([(zero, y + head - 2), (zero, y + pitch - 8)], canvas.theme.muted)
        y += pitch
    return Foot(theme=canvas.theme, answer=answer, tr=tr, hidden=hidden).draw(canvas, y - (10 if is_roomy else 2))


def _measure_columns(answer: ReportAnswer) -> _Columns:
    cells = [read_cell(row) for row in answer.rows]
    value = max(STRONG.measure_text(clean_text(cell.text or NO_VALUE)) for cell in cells) + _GAP
    widest = max(STRONG.measure_text(clean_text(cell.change_text)) for cell in cells)
    change = widest + _GAP if widest and value + widest + _GAP <= INNER else 0
    return _Columns(value, change, INNER - value - change < _NARROWEST)


def _measure_scale(rows: list[ReportRow]) -> tuple[float, float]:
    """Return pixels a unit and the place of zero."""
    numbers = [read_number(number) or 0.0 for row in rows for number in (read_cell(row).value, read_cell(row).before)]
    low, high = min(0.0, *numbers), max(0.0, *numbers)
    scale = INNER / (high - low) if high > low else 0.0
    return scale, MARGIN - low * scale


def _write_row(canvas: Canvas, answer: ReportAnswer, row: ReportRow, y: float, columns: _Columns) -> None:
    cell = read_cell(row)
    canvas.write_text(MARGIN, y + 11, cut_text(name_row(row), columns.label, TEXT), TEXT)
    baseline = y + (27 if columns.is_stacked else 11)
    if columns.is_stacked:
        canvas.write_text(MARGIN, baseline, cell.text or NO_VALUE, STRONG)
    else:
        canvas.write_text(RIGHT - columns.change, baseline, cell.text or NO_VALUE, STRONG, anchor="end")
    if columns.change:
        ink = choose_change_ink(answer, cell, canvas.theme)
        canvas.write_text(RIGHT, baseline, cell.change_text, STRONG, anchor="end", ink=ink)


def _draw_bar(canvas: Canvas, number: float | None, start: Point, scale: float, height: float, colour: str) -> None:
    """Nothing for no value or 0; a small one is seen."""
    if not number:
        return
    zero, y = start
    width = max(abs(number) * scale, 2)
    left = zero if number > 0 else zero - width
    canvas.draw_rectangle(min(max(left, MARGIN), RIGHT - width), y, width, height, colour)
