"""Writes SVG and remembers what stands where, so that layouts can ask and tests can prove that nothing overlaps."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal
from xml.sax.saxutils import escape, quoteattr

from bot.rendering.pictures.palette import Theme
from bot.rendering.pictures.text_width import Font, clean_text

WIDTH: Final = 360
MARGIN: Final = 16
LOWEST, HIGHEST = 200, 440
"""The heights of a picture."""
TITLE, TEXT, STRONG, SMALL = Font(15, is_bold=True), Font(12.5), Font(12.5, is_bold=True), Font(11)
_ASCENT, _DESCENT = 0.76, 0.24
"""Of letters, in the size of the font."""

_SAMPLES: Final = 48
"""Places along a line at which a text may meet it."""

Anchor = Literal["start", "middle", "end"]
Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """What was drawn: a text with its ground, or a bar, point or cell."""

    kind: Literal["text", "shape"]
    left: float
    top: float
    right: float
    bottom: float
    ink: str
    ground: str
    text: str = ""
    size: float = 0

    def overlaps(self, other: "Box") -> bool:
        return self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom


class Canvas:
    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self.boxes: list[Box] = []
        self._parts: list[str] = []
        self._data_lines: list[tuple[Point, Point]] = []

    def write_text(self, x: float, y: float, text: str, font: Font, *, ink: str = "", anchor: Anchor = "start", ground: str = "") -> None:
        """`y` is the baseline; `ground` is the colour that is under the text, if not the paper's."""
        box = self.measure_box(x, y, text, font, ink=ink, anchor=anchor, ground=ground)
        if not box.text:
            return
        self.boxes.append(box)
        weight = ' font-weight="700"' if font.is_bold else ""
        self._parts.append(
            f'<text x="{box.left:.1f}" y="{y:.1f}" fill="{box.ink}" font-size="{font.size:g}"{weight}>{escape(box.text)}</text>'
        )

    def measure_box(self, x: float, y: float, text: str, font: Font, *, ink: str = "", anchor: Anchor = "start", ground: str = "") -> Box:
        line = clean_text(text)
        width = font.measure_text(line)
        left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        return Box(
            kind="text",
            left=left,
            right=left + width,
            top=y - _ASCENT * font.size,
            bottom=y + _DESCENT * font.size,
            ink=ink or self.theme.ink,
            ground=ground or self.theme.paper,
            text=line,
            size=font.size,
        )

    def has_room(self, box: Box) -> bool:
        """Nothing that was drawn is there, and it is inside the margins."""
        return (
            box.left >= MARGIN
            and box.right <= WIDTH - MARGIN
            and not (any(box.overlaps(other) for other in self.boxes) or any(_is_crossed(box, *line) for line in self._data_lines))
        )

    def draw_rectangle(
        self, x: float, y: float, width: float, height: float, colour: str, *, radius: float = 2, is_shape: bool = True
    ) -> None:
        """`is_shape` False for grounds and grids, over which texts may stand."""
        if is_shape:
            box = Box(kind="shape", left=x, top=y, right=x + width, bottom=y + height, ink=colour, ground=self.theme.paper)
            self.boxes.append(box)
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{min(radius, width / 2):.1f}" fill="{colour}"/>'
        )

    def draw_line(self, points: Sequence[Point], colour: str, *, width: float = 1, dashes: str = "") -> None:
        """One wider than 1 says something, and no later text crosses it."""
        if width > 1:
            self._data_lines += pairwise(points)
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self._parts.append(
            f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="{width:g}" stroke-linejoin="round"{dashed}/>'
        )

    def draw_area(self, points: Sequence[Point], colour: str) -> None:
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(f'<polygon points="{places}" fill="{colour}"/>')

    def draw_point(self, x: float, y: float, colour: str, *, radius: float = 2.8, is_hollow: bool = False) -> None:
        edge = radius + is_hollow
        self.boxes.append(
            Box(kind="shape", left=x - edge, top=y - edge, right=x + edge, bottom=y + edge, ink=colour, ground=self.theme.paper)
        )
        inside = f'{self.theme.paper}" stroke="{colour}" stroke-width="1.6' if is_hollow else colour
        self._parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{inside}"/>')

    def to_svg(self, height: float, *, name: str) -> str:
        """`name` is read by screen readers."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}" role="img"'
            f' aria-label={quoteattr(clean_text(name))} font-family="DejaVu Sans, Verdana, sans-serif">'
            f'<rect width="{WIDTH}" height="{height:.0f}" fill="{self.theme.paper}"/>{"".join(self._parts)}</svg>'
        )


def _is_crossed(box: Box, start: Point, end: Point) -> bool:
    steps = (step / _SAMPLES for step in range(_SAMPLES + 1))
    places = ((start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share) for share in steps)
    return any(box.left < x < box.right and box.top < y < box.bottom for x, y in places)
