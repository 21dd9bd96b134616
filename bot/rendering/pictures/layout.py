"""What all pictures share: the head, and the foot with its legend, its plan and the time of the numbers."""

import math
from dataclasses import dataclass
from typing import Final

from bot.i18n.translate import Translator
from bot.rendering.pictures.canvas import MARGIN, SMALL, STRONG, TITLE, WIDTH, Canvas
from bot.rendering.pictures.palette import Theme
from bot.rendering.pictures.text_width import clean_text, cut_text, wrap_text
from orchestrator.domain.report import Cell, ReportAnswer, ReportRow

INNER: Final = WIDTH - 2 * MARGIN
RIGHT: Final = WIDTH - MARGIN
NO_VALUE: Final = "–"
_LINE: Final = 15
"""Height of a line of small text."""
_PLAN: Final = 42
_BETWEEN: Final = 16
_MARK: Final = 15
"""From a sign of the legend to its words."""


def read_number(number: float | None) -> float | None:
    """None, too, for what cannot be drawn."""
    return number if number is not None and math.isfinite(number) else None


def read_cell(row: ReportRow) -> Cell:
    return row.cells[0] if row.cells else Cell()


def choose_change_ink(answer: ReportAnswer, cell: Cell, theme: Theme) -> str:
    """The sign in the text says the same."""
    if not cell.change:
        return theme.muted
    is_less_better = bool(answer.measures) and answer.measures[0].is_less_better
    return theme.up if (cell.change > 0) is not is_less_better else theme.down


def name_row(row: ReportRow) -> str:
    return clean_text(" · ".join(label for label in row.labels if label)) or NO_VALUE


def draw_head(canvas: Canvas, answer: ReportAnswer) -> float:
    """Return where the picture itself begins."""
    baseline = 28.0
    for line in wrap_text(clean_text(answer.title), INNER, TITLE, 2) or [NO_VALUE]:
        canvas.write_text(MARGIN, baseline, line, TITLE)
        baseline += 19
    subtitle = answer.subtitle or (answer.period.text if answer.period else "")
    for line in wrap_text(clean_text(subtitle), INNER, SMALL, 2):
        canvas.write_text(MARGIN, baseline, line, SMALL, ink=canvas.theme.muted)
        baseline += _LINE
    return baseline + 3


@dataclass(frozen=True, slots=True)
class Sign:
    """Of the legend; `height` is that of the bar it explains."""

    colour: str
    height: float
    text: str

    @property
    def width(self) -> float:
        return _MARK + SMALL.measure_text(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Foot:
    """`hidden` groups are in no bar; `notes` explain signs of the picture."""

    theme: Theme
    answer: ReportAnswer
    tr: Translator
    hidden: int = 0
    notes: tuple[str, ...] = ()
    has_legend: bool = True

    @property
    def height(self) -> float:
        lines = len(self._list_lines()) + len(self._list_legend())
        return 12 + lines * _LINE + (_PLAN if self.answer.plan else 0)

    def _list_lines(self) -> list[str]:
        more = self.tr.translate("picture-more", count=self.hidden) if self.hidden else ""
        texts = [clean_text(text) for text in (more, self.answer.as_of) if text]
        last = " · ".join(texts)
        tail = [last] if SMALL.measure_text(last) <= INNER else texts
        return [*map(clean_text, self.notes), *filter(None, tail)]

    def _list_legend(self) -> list[list[Sign]]:
        """In lines: both periods in one if they fit."""
        answer, theme = self.answer, self.theme
        if answer.compared is None or not self.has_legend:
            return []
        now = Sign(theme.accent, 9, clean_text(answer.period.text if answer.period else answer.title))
        before = Sign(theme.past, 4, clean_text(answer.compared.text))
        if not now.text or not before.text:
            return [[sign] for sign in (now, before) if sign.text]
        return [[now, before]] if now.width + _BETWEEN + before.width <= INNER else [[now], [before]]

    def draw(self, canvas: Canvas, top: float) -> float:
        """Return where the picture ends."""
        baseline = top + 14
        for signs in self._list_legend():
            x: float = MARGIN
            for sign in signs:
                canvas.draw_rectangle(x, baseline - 4 - sign.height / 2, 10, sign.height, sign.colour)
                words = cut_text(sign.text, INNER - _MARK, SMALL)
                canvas.write_text(x + _MARK, baseline, words, SMALL, ink=self.theme.muted)
                x += sign.width + _BETWEEN
            baseline += _LINE
        if self.answer.plan:
            draw_plan(canvas, self.answer, self.tr, baseline + 4)
            baseline += _PLAN
        for line in self._list_lines():
            canvas.write_text(MARGIN, baseline, cut_text(line, INNER, SMALL), SMALL, ink=self.theme.muted)
            baseline += _LINE
        return baseline - 5


def draw_plan(canvas: Canvas, answer: ReportAnswer, tr: Translator, baseline: float) -> None:
    """Done of the plan as a bar, a line across it where time is."""
    plan, theme = answer.plan, canvas.theme
    if plan is None:
        return
    done = clean_text(plan.done_percent.text)
    width = STRONG.measure_text(done)
    canvas.write_text(RIGHT, baseline, done, STRONG, anchor="end")
    words = clean_text(tr.translate("picture-plan", plan=plan.plan.text, elapsed=plan.elapsed_percent.text or "none"))
    canvas.write_text(MARGIN, baseline, cut_text(words, INNER - width - 10, SMALL), SMALL, ink=theme.muted)
    canvas.draw_rectangle(MARGIN, baseline + 7, INNER, 8, theme.grid, radius=4, is_shape=False)
    share = min(max((read_number(plan.done_percent.value) or 0) / 100, 0), 1)
    if share:
        canvas.draw_rectangle(MARGIN, baseline + 7, max(INNER * share, 2), 8, theme.accent, radius=4)
    elapsed = read_number(plan.elapsed_percent.value)
    if elapsed is not None:
        place = MARGIN + INNER * min(max(elapsed / 100, 0), 1)
        canvas.draw_line([(place, baseline + 4), (place, baseline + 18)], theme.plan, width=2)
