"""Stretches of time as a line: the plan across it, the compared period beneath, dashed where a stretch is not over."""

from dataclasses import dataclass, field
from typing import Final

from bot.i18n.translate import Translator
from bot.rendering.pictures.axis import Axis, build_axis, name_tick
from bot.rendering.pictures.canvas import MARGIN, SMALL, STRONG, Box, Canvas, Point
from bot.rendering.pictures.layout import INNER, NO_VALUE, RIGHT, Foot, name_row, read_cell, read_number
from bot.rendering.pictures.palette import mix_colours
from bot.rendering.pictures.text_width import clean_text, cut_text
from orchestrator.domain.report import ReportAnswer, ReportRow

_HEIGHT: Final = 160
"""Of the plot."""
_MOST_POINTS: Final = 31
"""With dots; more are a line alone."""
_SHADE: Final = 0.14
_INSET: Final = 10
_AWAY: Final = 6
"""From a point to its number."""
_LONGEST_NAME: Final = 90


@dataclass(slots=True)
class _Plot:
    left: float
    top: float
    axis: Axis
    count: int
    places: list[float] = field(init=False)

    def __post_init__(self) -> None:
        first, last = self.left + _INSET, RIGHT - _INSET
        step = (last - first) / (self.count - 1) if self.count > 1 else 0
        self.places = [first + step * number for number in range(self.count)] if step else [(first + last) / 2] * self.count

    @property
    def bottom(self) -> float:
        return self.top + _HEIGHT

    def find_height(self, number: float) -> float:
        return self.bottom - _HEIGHT * (number - self.axis.low) / (self.axis.high - self.axis.low)

    def list_points(self, numbers: list[float | None]) -> list[Point | None]:
        return [None if number is None else (x, self.find_height(number)) for x, number in zip(self.places, numbers, strict=True)]


def draw_line(canvas: Canvas, answer: ReportAnswer, tr: Translator, top: float) -> float:
    rows = [row for row in answer.rows if row.kind == "group"] or list(answer.rows)
    now = [read_number(read_cell(row).value) for row in rows]
    before = [read_number(read_cell(row).before) for row in rows] if answer.compared else []
    each = answer.plan.each if answer.plan else None
    plan = read_number(each.value) if each else None
    axis = build_axis([number for number in (*now, *before, plan) if number is not None])
    is_percent = bool(answer.measures) and answer.measures[0].unit == "percent"
    names = {tick: name_tick(tick, axis, tr, is_percent=is_percent) for tick in axis.ticks}
    plot = _Plot(MARGIN + max(map(SMALL.measure_text, names.values())) + 6, top + 14, axis, len(rows))
    points = plot.list_points(now)
    _draw_shade(canvas, plot, points)
    for tick, name in names.items():
        y = plot.find_height(tick)
        canvas.draw_line([(plot.left, y), (RIGHT, y)], canvas.theme.muted if not tick else canvas.theme.grid)
        canvas.write_text(plot.left - 6, y + 4, name, SMALL, anchor="end", ink=canvas.theme.muted)
    _draw_before(canvas, plot, before)
    _draw_now(canvas, rows, points)
    if plan is not None and each is not None:
        _draw_plan(canvas, plot, plan, tr.translate("picture-plan-line", plan=each.text))
    _write_names(canvas, plot, rows)
    _write_numbers(canvas, plot, rows, points)
    return Foot(theme=canvas.theme, answer=answer, tr=tr).draw(canvas, plot.bottom + 20)


def _split_segments(points: list[Point | None]) -> list[list[Point]]:
    """Stretches without a value are gaps."""
    segments: list[list[Point]] = [[]]
    for point in points:
        if point is not None:
            segments[-1].append(point)
        elif segments[-1]:
            segments.append([])
    return [segment for segment in segments if segment]


def _draw_before(canvas: Canvas, plot: _Plot, before: list[float | None]) -> None:
    for segment in _split_segments(plot.list_points(before)) if before else []:
        canvas.draw_line(segment, canvas.theme.past, width=1.6)


def _choose_shade(canvas: Canvas) -> str:
    return mix_colours(canvas.theme.paper, canvas.theme.accent, _SHADE)


def _draw_shade(canvas: Canvas, plot: _Plot, points: list[Point | None]) -> None:
    """Under the grid; none where numbers are negative."""
    if plot.axis.low >= 0:
        for segment in _split_segments(points):
            edge = [(segment[0][0], plot.bottom), *segment, (segment[-1][0], plot.bottom)]
            canvas.draw_area(edge, _choose_shade(canvas))


def _draw_now(canvas: Canvas, rows: list[ReportRow], points: list[Point | None]) -> None:
    accent = canvas.theme.accent
    open_ends = {number for number, row in enumerate(rows) if row.is_unfinished}
    solid = [None if number in open_ends else point for number, point in enumerate(points)]
    for segment in _split_segments(solid):
        canvas.draw_line(segment, accent, width=2.2)
    for number in open_ends:
        start, end = points[number - 1] if number else None, points[number]
        if start is not None and end is not None:
            canvas.draw_line([start, end], accent, width=2.2, dashes="4 3")
    for number, point in enumerate(points):
        if point is not None and (len(points) <= _MOST_POINTS or number in open_ends):
            canvas.draw_point(*point, accent, is_hollow=number in open_ends)


def _draw_plan(canvas: Canvas, plot: _Plot, plan: float, words: str) -> None:
    y, theme = plot.find_height(plan), canvas.theme
    canvas.draw_line([(plot.left, y), (RIGHT, y)], theme.plan, width=1.5, dashes="6 4")
    text = cut_text(clean_text(words), RIGHT - plot.left, SMALL)
    places = [(x, y + away) for away in (-5, 14) for x in (RIGHT - SMALL.measure_text(text), plot.left)]
    boxes = [canvas.measure_box(x, baseline, text, SMALL, ink=theme.plan) for x, baseline in places]
    free = next((place for place, box in zip(places, boxes, strict=True) if canvas.has_room(box)), None)
    if free is not None:
        canvas.write_text(*free, text, SMALL, ink=theme.plan, ground=_choose_shade(canvas))


def _write_numbers(canvas: Canvas, plot: _Plot, rows: list[ReportRow], points: list[Point | None]) -> None:
    """Of the largest, the last and the smallest, as far as they have room."""
    places = [number for number, point in enumerate(points) if point is not None]
    if not places:
        return
    by_height = sorted(places, key=lambda number: (points[number] or (0, 0))[1])
    for number in dict.fromkeys((by_height[0], places[-1], by_height[-1])):
        x, y = points[number] or (0, 0)
        text = read_cell(rows[number]).text or NO_VALUE
        width = STRONG.measure_text(clean_text(text))
        left = min(max(x - width / 2, plot.left), RIGHT - width)
        above, below = y - _AWAY - 3, y + _AWAY + 12
        for baseline in (above, below, above - 12) if number == by_height[0] else (below, above, above - 12):
            if canvas.has_room(canvas.measure_box(left, baseline, text, STRONG)):
                canvas.write_text(left, baseline, text, STRONG, ground=_choose_shade(canvas))
                break


def _write_names(canvas: Canvas, plot: _Plot, rows: list[ReportRow]) -> None:
    """From the last back, as many as have room."""
    names = [cut_text(name_row(row), _LONGEST_NAME if len(rows) > 1 else INNER, SMALL) for row in rows]
    widest = max(map(SMALL.measure_text, names)) + 12
    step = plot.places[1] - plot.places[0] if len(rows) > 1 else INNER
    every = max(1, -int(-widest // step))
    previous: Box | None = None
    for number in range(len(rows) - 1, -1, -every):
        width = SMALL.measure_text(names[number])
        left = min(max(plot.places[number] - width / 2, MARGIN), RIGHT - width)
        box = canvas.measure_box(left, plot.bottom + 17, names[number], SMALL)
        if previous is None or box.right + 6 <= previous.left:
            canvas.write_text(left, plot.bottom + 17, names[number], SMALL, ink=canvas.theme.muted)
            previous = box
