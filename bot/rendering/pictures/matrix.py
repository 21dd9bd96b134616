"""Two dimensions as a table of numbers; a colour only helps to find the large ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bot.i18n.translate import Translator
from bot.rendering.pictures.bars import MOST
from bot.rendering.pictures.canvas import HIGHEST, MARGIN, SMALL, Canvas
from bot.rendering.pictures.layout import INNER, NO_VALUE, Foot, read_cell, read_number
from bot.rendering.pictures.palette import mix_colours
from bot.rendering.pictures.text_width import Font, clean_text, cut_text, wrap_text
from orchestrator.domain.report import Cell, ReportAnswer, ReportRow

_NAMES: Final = 100
"""Width of the rows' names."""
_CELL: Final = Font(11, is_bold=True)
_HEIGHT, _BETWEEN = 26, 3
_MOST_COLUMNS: Final = 6
_NARROWEST: Final = 38
_STRONGEST: Final = 0.34
"""Share of the accent under the largest number: its text stays readable."""


@dataclass(frozen=True, slots=True)
class _Grid:
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], Cell]


def draw_matrix(canvas: Canvas, answer: ReportAnswer, tr: Translator, top: float) -> float:
    grid = _build_grid(answer)
    widest = max(_CELL.measure_text(clean_text(cell.text)) for cell in grid.cells.values()) + 8
    count = max(1, min(len(grid.columns), _MOST_COLUMNS, int((INNER - _NAMES) / max(widest, _NARROWEST))))
    columns, more = grid.columns[:count], _name_more(answer, grid, count, tr)
    foot = Foot(theme=canvas.theme, answer=answer, tr=tr, hidden=1, notes=more, has_legend=False)
    rows = grid.rows[: max(1, min(MOST, int((HIGHEST - top - 30 - foot.height) / (_HEIGHT + _BETWEEN))))]
    width = (INNER - _NAMES) / count
    top = _write_columns(canvas, columns, width, top)
    most = max([abs(read_number(cell.value) or 0) for cell in grid.cells.values()] + [0])
    for row in rows:
        canvas.write_text(MARGIN, top + 17, cut_text(row, _NAMES - 8, SMALL), SMALL)
        for number, column in enumerate(columns):
            _draw_cell(canvas, grid.cells.get((row, column), Cell()), (MARGIN + _NAMES + width * number, top), width, most)
        top += _HEIGHT + _BETWEEN
    hidden = len(grid.rows) - len(rows)
    return Foot(theme=canvas.theme, answer=answer, tr=tr, hidden=hidden, notes=more, has_legend=False).draw(canvas, top)


def _write_columns(canvas: Canvas, names: tuple[str, ...], width: float, top: float) -> float:
    """Return where the rows begin."""
    heads = [wrap_text(name, width - 4, SMALL, 2) for name in names]
    most = max(map(len, heads))
    for number, lines in enumerate(heads):
        middle = MARGIN + _NAMES + width * (number + 0.5)
        for place, line in enumerate(lines, start=most - len(lines)):
            canvas.write_text(middle, top + 8 + 13 * place, line, SMALL, anchor="middle", ink=canvas.theme.muted)
    return top + 4 + 13 * most


def _build_grid(answer: ReportAnswer) -> _Grid:
    """In the order of the rows; of an answer with one dimension each row stands alone."""
    rows = [row for row in answer.rows if row.kind == "group"] or answer.rows
    pairs = [(_name_part(row, 0), _name_part(row, 1), read_cell(row)) for row in rows]
    heads, columns = dict.fromkeys(head for head, _, _ in pairs), dict.fromkeys(column for _, column, _ in pairs)
    if any(dimension.is_time for dimension in answer.dimensions[1:2]):  # time goes from left to right, whatever the order of the rows
        keys = {_name_part(row, 1): row.keys[1] or "" for row in rows if len(row.keys) > 1}
        columns = dict.fromkeys(sorted(columns, key=lambda name: keys.get(name, "")))
    return _Grid(tuple(heads), tuple(columns), {(head, column): cell for head, column, cell in pairs})


def _name_part(row: ReportRow, place: int) -> str:
    return (clean_text(row.labels[place]) if place < len(row.labels) else "") or NO_VALUE


def _name_more(answer: ReportAnswer, grid: _Grid, count: int, tr: Translator) -> tuple[str, ...]:
    left = len(grid.columns) - count
    label = answer.dimensions[1].label if len(answer.dimensions) > 1 else ""
    return (tr.translate("picture-more-columns", count=left, name=label or "none"),) if left else ()


def _draw_cell(canvas: Canvas, cell: Cell, place: tuple[float, float], width: float, most: float) -> None:
    x, y = place
    number = abs(read_number(cell.value) or 0)
    ground = mix_colours(canvas.theme.paper, canvas.theme.accent, 0.05 + (_STRONGEST - 0.05) * number / most if most else 0.05)
    canvas.draw_rectangle(x + 1, y, width - 2, _HEIGHT, ground, radius=3, is_shape=False)
    text = cut_text(clean_text(cell.text) or NO_VALUE, width - 4, _CELL)
    canvas.write_text(x + width / 2, y + 17, text, _CELL, anchor="middle", ground=ground)
