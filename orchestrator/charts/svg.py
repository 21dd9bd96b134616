"""SVG without a browser, a network or a font. Text of authors is escaped."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final
from xml.sax.saxutils import escape

from orchestrator.charts.chart import Box, Chart, Shape, Way, join_arrows
from orchestrator.charts.layout import BOX_HEIGHT, BOX_WIDTH, Route, arrange

_MARGIN: Final = 24.0
_TITLE: Final = 36.0
_FILLS: Final[Mapping[Shape, tuple[str, str]]] = {
    "step": ("#f4f6f8", "#5b6875"),
    "question": ("#e5f0fd", "#2a6db8"),
    "choice": ("#fdf3d8", "#a97a12"),
    "end": ("#e8f5ea", "#3b8347"),
    "effect": ("#fde8e4", "#b5452f"),
    "failure": ("#fde8e4", "#b5452f"),
    "store": ("#eef7f1", "#3b8347"),
}
"""By shape."""
_STYLE: Final = (
    "text{font-family:system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:#1d252c}"
    ".t{font-size:12px;font-weight:600}.w{font-size:11.5px}.l{font-size:11px;fill:#44505b;paint-order:stroke;stroke:#fff;stroke-width:4px}"
    ".h{font-size:16px;font-weight:600}path{fill:none;stroke:#7c8894;stroke-width:1.4}.b{stroke-dasharray:5 4}"
    ".failure{stroke:#b5452f;stroke-dasharray:7 3 2 3}.data{stroke:#3b8347;stroke-width:1;stroke-dasharray:1.5 3}"
)
_HEADS: Final[Mapping[Way, str]] = {"usual": "#7c8894", "failure": "#b5452f", "data": "#3b8347"}
_ARROWHEADS: Final = "".join(
    f'<marker id="{way}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
    f'<path d="M0 0L10 5L0 10z" style="fill:{colour};stroke:none;stroke-dasharray:none"/></marker>'
    for way, colour in _HEADS.items()
)


def write_svg(chart: Chart) -> str:
    """Raises ChartTooLarge."""
    layout = arrange(replace(chart, arrows=join_arrows(chart.arrows)))
    width, height = layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN + _TITLE + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">',
        f"<style>{_STYLE}</style><defs>{_ARROWHEADS}</defs>",
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text class="h" x="{_MARGIN:.0f}" y="30">{escape(chart.title)}</text>',
        f'<g transform="translate({_MARGIN:.0f} {_MARGIN + _TITLE + BOX_HEIGHT / 2 + 12:.0f})">',
        *(_draw_route(route) for route in layout.routes),
        *(_draw_box(box, x, y) for box, (x, y) in zip(chart.boxes, layout.places, strict=True)),
        *(_draw_label(route) for route in layout.routes if route.arrow.label),
        "</g></svg>",
    ]
    return "\n".join(parts) + "\n"


def _draw_box(box: Box, x: float, y: float) -> str:
    fill, border = _FILLS[box.shape]
    round_by = BOX_HEIGHT / 2 if box.shape in {"end", "failure"} else 6
    corner = f'x="{x - BOX_WIDTH / 2:.1f}" y="{y - BOX_HEIGHT / 2:.1f}" width="{BOX_WIDTH:.0f}" height="{BOX_HEIGHT:.0f}"'
    shape = f'<rect {corner} rx="{round_by:.0f}" fill="{fill}" stroke="{border}"/>'
    if box.shape == "choice":
        w, h, cut = BOX_WIDTH / 2, BOX_HEIGHT / 2, 16
        ends = [(x - w, y), (x - w + cut, y - h), (x + w - cut, y - h), (x + w, y), (x + w - cut, y + h), (x - w + cut, y + h)]
        shape = f'<polygon points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in ends)}" fill="{fill}" stroke="{border}"/>'
    title = f'<text class="t" x="{x:.1f}" y="{y - 4 if box.text else y + 4:.1f}" text-anchor="middle">{escape(box.title)}</text>'
    words = f'<text class="w" x="{x:.1f}" y="{y + 13:.1f}" text-anchor="middle">{escape(box.text)}</text>' if box.text else ""
    return shape + title + words


def _draw_route(route: Route) -> str:
    if route.is_back:
        way = " L".join(f"{x:.1f} {y:.1f}" for x, y in route.points)
        return _draw_line(route, "M" + way)
    points = _leave_boxes(route.points)
    way = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x1, y1), (x2, y2) in pairwise(points):
        middle = (y1 + y2) / 2
        way += f" C{x1:.1f} {middle:.1f} {x2:.1f} {middle:.1f} {x2:.1f} {y2:.1f}"
    return _draw_line(route, way)


def _draw_line(route: Route, way: str) -> str:
    classes = [*(["b"] if route.is_back else []), *([route.arrow.way] if route.arrow.way != "usual" else [])]
    class_attribute = f' class="{" ".join(classes)}"' if classes else ""
    return f'<path{class_attribute} d="{way}" marker-end="url(#{route.arrow.way})"/>'


def _leave_boxes(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """From the lower edge to the upper edge; between them straight down."""
    half = BOX_HEIGHT / 2
    (x1, y1), *between, (x2, y2) = points
    bends = [(x, y + side) for x, y in between for side in (-half, half)]
    return [(x1, y1 + half), *bends, (x2, y2 - half)]


def _draw_label(route: Route) -> str:
    """Near the beginning of the way, where ways from one box have parted."""
    if route.is_back:
        x, y = route.points[1]
        return f'<text class="l" x="{x + 6:.1f}" y="{y - 4:.1f}">{escape(route.arrow.label)}</text>'
    (x1, y1), (x2, y2) = _leave_boxes(route.points)[:2]
    return f'<text class="l" x="{(x1 + x2) / 2:.1f}" y="{(y1 + y2) / 2 + 4:.1f}" text-anchor="middle">{escape(route.arrow.label)}</text>'
