"""Draws a report as SVG, for every door. Computes no number: it lays out those of the report."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from bot.i18n.translate import Translator
from bot.rendering.pictures.bars import draw_bars
from bot.rendering.pictures.canvas import LOWEST, MARGIN, TEXT, WIDTH, Box, Canvas
from bot.rendering.pictures.funnel import draw_funnel
from bot.rendering.pictures.layout import Foot, draw_head
from bot.rendering.pictures.line import draw_line
from bot.rendering.pictures.matrix import draw_matrix
from bot.rendering.pictures.number import draw_number
from bot.rendering.pictures.palette import THEMES, ThemeName
from orchestrator.domain.report import ReportAnswer, Shown

Draw = Callable[[Canvas, ReportAnswer, Translator, float], float]
"""Takes where the picture begins, and returns where it ends."""


@dataclass(frozen=True, slots=True)
class Picture:
    """`svg` holds texts of others only escaped, and nothing that is loaded or run."""

    svg: str
    width: int
    height: int
    boxes: tuple[Box, ...]


def has_picture(answer: ReportAnswer) -> bool:
    """A table has none."""
    return answer.shown_as in _DRAWN


def draw_svg(answer: ReportAnswer, tr: Translator, *, theme: ThemeName = "light") -> str:
    """Raises LookupError without a picture."""
    picture = draw_report(answer, tr, theme=theme)
    if picture is None:
        raise LookupError(answer.shown_as)
    return picture.svg


def draw_report(answer: ReportAnswer, tr: Translator, *, theme: ThemeName = "light") -> Picture | None:
    """None for a table."""
    draw = _DRAWN.get(answer.shown_as)
    if draw is None:
        return None
    canvas = Canvas(THEMES[theme])
    top = draw_head(canvas, answer)
    bottom = (draw if answer.rows or answer.shown_as == "number" else _draw_nothing)(canvas, answer, tr, top)
    height = max(round(bottom + 2), LOWEST)
    return Picture(canvas.to_svg(height, name=answer.title), WIDTH, height, tuple(canvas.boxes))


def _draw_nothing(canvas: Canvas, answer: ReportAnswer, tr: Translator, top: float) -> float:
    canvas.write_text(WIDTH / 2, top + 56, tr.translate("picture-empty"), TEXT, anchor="middle", ink=canvas.theme.muted)
    return Foot(theme=canvas.theme, answer=answer, tr=tr, has_legend=False).draw(canvas, max(top + 86, LOWEST - 40 - MARGIN))


_DRAWN: Final[Mapping[Shown, Draw]] = {
    "bars": draw_bars,
    "funnel": draw_funnel,
    "line": draw_line,
    "matrix": draw_matrix,
    "number": draw_number,
}
