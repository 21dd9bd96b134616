"""A graph as a picture, and as a list for keyboards and screen readers. Authors' texts pass `write_mermaid` alone, which escapes."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from nicegui import ui
from nicegui.events import MermaidNodeClickEventArguments

from bot.console.visit import Visit
from orchestrator.charts.chart import NO_MARKS, Box, Chart, Mark, write_mermaid

OnClick = Callable[[str], Awaitable[None] | None]

MOST_DRAWN: Final = 200
"""Boxes; what has more is shown as a list."""
MOST_ARROWS: Final = 400
"""Mermaid draws none from 500 on."""
_MOST_LISTED: Final = 100
"""Boxes at first, and with each press for more."""
_CONFIG: Final = {
    "securityLevel": "strict",
    "theme": "base",
    "htmlLabels": False,
    "flowchart": {"htmlLabels": False, "useMaxWidth": True, "curve": "basis"},
    "fontFamily": "inherit",
    "startOnLoad": False,
    "maxTextSize": 200_000,
}
_LONGEST_PLACE: Final = 6
_UNMARKED: Final = Mark("", "")


class ChartView:
    """Draws anew only what has changed."""

    def __init__(
        self, visit: Visit, chart: Chart, *, on_click: OnClick | None, name: str, marks: Mapping[int, Mark], has_list: bool
    ) -> None:
        """See `draw_chart`."""
        self._visit, self._on_click, self._has_list = visit, on_click, has_list
        self.element = ui.element("figure").classes("chart").props("role=group")
        self.element.props["aria-label"] = name
        self._most = _MOST_LISTED
        self._draw(chart, dict(marks))

    def _draw(self, chart: Chart, marks: Mapping[int, Mark]) -> None:
        """A large one as a list alone."""
        visit, is_large = self._visit, _is_large(chart)
        self._chart, self._marks = chart, marks
        self._picture: ui.mermaid | None = None
        self.element.clear()
        with self.element:
            if not is_large:
                with ui.element("div").classes("chart-picture").props("aria-hidden=true"):
                    clicked = self._press if self._on_click is not None else None
                    self._picture = ui.mermaid(write_mermaid(chart, marks), config=dict(_CONFIG), on_node_click=clicked)
            else:
                ui.label(visit.say("console-chart-large", count=len(chart.boxes))).classes("muted")
            details = ui.element("details").classes("chart-details")
            with details:
                with ui.element("summary"):
                    ui.label(visit.say("console-chart-list"))
                self._list = ui.element("ol").classes("chart-list")
                self._more = ui.button(icon="expand_more", on_click=self._show_more, color=None).props("flat dense no-caps")
        if is_large:
            details.props("open")
        details.set_visibility(self._has_list or is_large)
        self._draw_list()

    def update(self, chart: Chart, marks: Mapping[int, Mark]) -> None:
        if (chart, dict(marks)) == (self._chart, self._marks):
            return
        if _is_large(chart) or self._picture is None:
            self._draw(chart, dict(marks))
            return
        self._chart, self._marks = chart, dict(marks)
        self._picture.set_content(write_mermaid(chart, marks))
        self._list.clear()
        self._draw_list()

    def _draw_list(self) -> None:
        boxes = self._chart.boxes
        visible_boxes = boxes if self._picture is not None else boxes[: self._most]
        with self._list:
            for number, box in enumerate(visible_boxes):
                with ui.element("li"):
                    self._draw_line(box, self._marks.get(number, _UNMARKED))
        self._more.set_text(self._visit.say("console-chart-more", count=len(boxes) - len(visible_boxes)))
        self._more.set_visibility(len(visible_boxes) < len(boxes))

    def _show_more(self) -> None:
        self._most += _MOST_LISTED
        self._list.clear()
        self._draw_list()

    def _draw_line(self, box: Box, mark: Mark) -> None:
        text = " — ".join(one for one in (box.title, box.text, mark.word) if one)
        if self._on_click is None or not box.key:
            ui.label(text).props("dir=auto")
            return
        ui.button(text, on_click=lambda: self._choose(box.key), color=None).props("flat dense no-caps align=left").classes("chart-line")

    def _press(self, pressed: MermaidNodeClickEventArguments) -> Awaitable[None] | None:
        number = pressed.node_id.rpartition("-")[2].removeprefix("s")  # some versions put the id of the picture in front
        is_place = number.isascii() and number.isdigit() and len(number) < _LONGEST_PLACE and int(number) < len(self._chart.boxes)
        return self._choose(self._chart.boxes[int(number)].key) if is_place else None

    def _choose(self, key: str) -> Awaitable[None] | None:
        return self._on_click(key) if self._on_click is not None and key else None


def _is_large(chart: Chart) -> bool:
    return len(chart.boxes) > MOST_DRAWN or len(chart.arrows) > MOST_ARROWS


def draw_chart(
    visit: Visit,
    chart: Chart,
    *,
    on_click: OnClick | None,
    name: str,
    marks: Mapping[int, Mark] = NO_MARKS,
    has_list: bool = True,
) -> ChartView:
    """`on_click` gets the key of a box; `name` is for screen readers; `marks` are by place. Without `has_list` a list stands elsewhere."""
    return ChartView(visit, chart, on_click=on_click, name=name, marks=marks, has_list=has_list)
