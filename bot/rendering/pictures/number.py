"""One number, large, with its change, its plan and what made the difference."""

from typing import Final

from bot.i18n.translate import Translator
from bot.rendering.pictures.canvas import MARGIN, SMALL, STRONG, TEXT, Canvas
from bot.rendering.pictures.layout import INNER, NO_VALUE, RIGHT, Foot, choose_change_ink
from bot.rendering.pictures.text_width import Font, clean_text, cut_text
from orchestrator.domain.report import Cell, ReportAnswer

_SIZES: Final = (44, 34, 26, 20, 15)
"""Of the number: the largest that fits."""
_MOST_MORE: Final = 8
"""Lines under the number."""
_LINE: Final = 20


def draw_number(canvas: Canvas, answer: ReportAnswer, tr: Translator, top: float) -> float:
    cells = answer.total or (answer.rows[0].cells if answer.rows else ())
    cell = cells[0] if cells else Cell()
    text = clean_text(cell.text or NO_VALUE)
    font = next((font for size in _SIZES if (font := Font(size, is_bold=True)).measure_text(text) <= INNER), Font(_SIZES[-1], is_bold=True))
    baseline = top + 12 + font.size * 0.76
    canvas.write_text(MARGIN, baseline, cut_text(text, INNER, font), font)
    baseline = _write_change(canvas, answer, cell, tr, baseline + 24)
    lines = [(measure.label, more.text) for measure, more in list(zip(answer.measures, cells, strict=False))[1:]]
    lines += [(cause.label, cause.change.change_text or cause.change.text) for cause in answer.causes]
    if answer.plan and answer.plan.needed_a_day:
        lines.append((tr.translate("picture-needed"), answer.plan.needed_a_day.text))
    for label, words in lines[:_MOST_MORE]:
        _write_pair(canvas, label, words or NO_VALUE, baseline)
        baseline += _LINE
    return Foot(theme=canvas.theme, answer=answer, tr=tr, has_legend=False).draw(canvas, baseline - 10)


def _write_change(canvas: Canvas, answer: ReportAnswer, cell: Cell, tr: Translator, baseline: float) -> float:
    """Return where the next line stands."""
    change = clean_text(cell.change_text)
    if change:
        change = cut_text(change, INNER, STRONG)
        canvas.write_text(MARGIN, baseline, change, STRONG, ink=choose_change_ink(answer, cell, canvas.theme))
    if answer.compared is None:
        return baseline + _LINE if change else baseline
    words = clean_text(tr.translate("picture-before", before=cell.before_text or NO_VALUE, period=answer.compared.text))
    x = MARGIN + (STRONG.measure_text(change) + 10 if change else 0)
    if change and SMALL.measure_text(words) > RIGHT - x:
        x, baseline = MARGIN, baseline + 17
    canvas.write_text(x, baseline, cut_text(words, RIGHT - x, SMALL), SMALL, ink=canvas.theme.muted)
    return baseline + _LINE + 4


def _write_pair(canvas: Canvas, label: str, words: str, baseline: float) -> None:
    words = cut_text(clean_text(words), INNER * 0.6, STRONG)
    canvas.write_text(RIGHT, baseline, words, STRONG, anchor="end")
    canvas.write_text(MARGIN, baseline, cut_text(clean_text(label), INNER - STRONG.measure_text(words) - 10, TEXT), TEXT)
