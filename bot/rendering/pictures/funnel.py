"""Stages as centred bars, each with its share."""

from typing import Final

from bot.i18n.translate import Translator
from bot.rendering.pictures.bars import select_rows
from bot.rendering.pictures.canvas import HIGHEST, MARGIN, SMALL, STRONG, TEXT, WIDTH, Canvas
from bot.rendering.pictures.layout import INNER, NO_VALUE, RIGHT, Foot, name_row, read_cell, read_number
from bot.rendering.pictures.text_width import clean_text, cut_text
from orchestrator.domain.report import ReportAnswer, ReportRow

_GAP: Final = 10
_LOWEST, _HIGHEST = 37, 54
"""From stage to stage."""


def draw_funnel(canvas: Canvas, answer: ReportAnswer, tr: Translator, top: float) -> float:
    """The share of a stage is the last measure in percent; without one no share is shown."""
    place = max((number for number, measure in enumerate(answer.measures) if measure.unit == "percent"), default=0)
    notes = (f"↓ {answer.measures[place].label}",) if place else ()
    foot = Foot(theme=canvas.theme, answer=answer, tr=tr, hidden=1, notes=notes, has_legend=False)
    room = HIGHEST - top - foot.height
    rows, hidden = select_rows(answer, room / _LOWEST)
    pitch = min(room / len(rows), _HIGHEST)
    shares = [_read_share(row, place) for row in rows]
    share_width = max(map(SMALL.measure_text, shares)) + _GAP if any(shares) else 0
    most = max([read_number(read_cell(row).value) or 0 for row in rows] + [0])
    for row, share in zip(rows, shares, strict=True):
        text = clean_text(read_cell(row).text or NO_VALUE)
        room = INNER - STRONG.measure_text(text) - share_width - _GAP
        canvas.write_text(MARGIN, top + 11, cut_text(name_row(row), room, TEXT), TEXT)
        canvas.write_text(RIGHT - share_width, top + 11, text, STRONG, anchor="end")
        canvas.write_text(RIGHT, top + 11, share, SMALL, anchor="end", ink=canvas.theme.muted)
        _draw_stage(canvas, read_number(read_cell(row).value), most, top + 17, pitch - 28)
        top += pitch
    return Foot(theme=canvas.theme, answer=answer, tr=tr, hidden=hidden, notes=notes, has_legend=False).draw(canvas, top - 4)


def _read_share(row: ReportRow, place: int) -> str:
    text = clean_text(row.cells[place].text) if 0 < place < len(row.cells) else ""
    return f"↓ {text}" if text and text != NO_VALUE else ""


def _draw_stage(canvas: Canvas, number: float | None, most: float, y: float, height: float) -> None:
    canvas.draw_rectangle(MARGIN, y, INNER, height, canvas.theme.grid, radius=3, is_shape=False)
    if number and number > 0:
        width = max(INNER * number / most, 3)
        canvas.draw_rectangle((WIDTH - width) / 2, y, width, height, canvas.theme.accent, radius=3)
