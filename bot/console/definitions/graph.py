"""The graph in the editor: a press shows a step, findings mark nodes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nicegui import ui

from bot.console.charts import ChartView, draw_chart
from bot.console.definitions.document import EditedDocument
from bot.console.definitions.findings_list import draw_findings
from bot.console.visit import Visit
from bot.console.widgets import show_empty, show_text
from bot.plugins.kind_face import NO_PARTS, Steps
from orchestrator.charts.chart import Box, Chart, Mark
from orchestrator.domain.finding import Finding, Path, parse_path


@dataclass(frozen=True, slots=True)
class StepPlace:
    """By the number of its box."""

    number: int
    path: Path


def find_places(steps_of: Steps, data: object, chart: Chart) -> Sequence[StepPlace]:
    """Boxes that are no steps are left out."""
    field, names = steps_of.field, steps_of.name_steps(data)
    index_by_name = {name: index for index, name in reversed(list(enumerate(names)))}
    numbered = [
        (number, _find_index(number, box, index_by_name, len(names), is_in_order=steps_of.are_in_order))
        for number, box in enumerate(chart.boxes)
    ]
    return [StepPlace(number, (field, index)) for number, index in numbered if index is not None]


def _find_index(number: int, box: Box, index_by_name: Mapping[str, int], count: int, *, is_in_order: bool) -> int | None:
    if is_in_order:
        return number if number < count else None
    return index_by_name.get(box.key) if box.key else None


def mark_boxes(places: Sequence[StepPlace], findings: Sequence[Finding], word: Callable[[int], str]) -> dict[int, Mark]:
    """`word` says how many things are wrong."""
    counts: dict[Path, int] = {}
    for finding in findings:
        if finding.severity == "info":
            continue
        try:
            path = parse_path(finding.path)[:2]
        except ValueError:  # a path that was cut
            continue
        counts[path] = counts.get(path, 0) + 1
    return {place.number: Mark("finding", word(counts[place.path])) for place in places if place.path in counts}


class GraphView:
    """Follows each check of the document."""

    def __init__(self, visit: Visit, document: EditedDocument, steps: Steps, go_to: Callable[[int], None]) -> None:
        """`go_to` shows a line of the text."""
        self._steps = steps
        self._visit, self._document, self._go_to = visit, document, go_to
        self._chart: Chart | None = None
        self._view: ChartView | None = None
        self._step = ui.element("div").classes("def-step").props("aria-live=polite")
        self._place = ui.element("div")
        document.on_checked(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """It stays while nothing can be read of the document."""
        document = self._document
        if document.data is None:
            if self._view is None:
                self._place.clear()
                with self._place:
                    show_empty(self._visit.say("console-editor-no-graph"))
            return
        chart = self._steps.draw(document.data, NO_PARTS)
        self._chart = chart
        places = find_places(self._steps, document.data, chart)
        marks = mark_boxes(places, document.findings, lambda count: self._visit.say("console-editor-marked", count=count))
        if self._view is not None:
            self._view.update(chart, marks)
            return
        self._place.clear()
        with self._place:
            name = self._visit.say("console-editor-graph-name")
            self._view = draw_chart(self._visit, chart, on_click=self.show_step, name=name, marks=marks)

    def show_step(self, key: str) -> None:
        """Shows the step, and goes to its lines in the text."""
        document, chart = self._document, self._chart
        if chart is None:
            return
        number = next((at for at, box in enumerate(chart.boxes) if box.key == key), None)
        if number is None:
            return
        path = next((place.path for place in find_places(self._steps, document.data, chart) if place.number == number), None)
        self._go_to(document.find_line(path) if path is not None else 0)
        self._step.clear()
        with self._step:
            self._draw_step(chart, number, path)

    def _draw_step(self, chart: Chart, number: int, path: Path | None) -> None:
        box = chart.boxes[number]
        ui.label(box.title).classes("strong text").props("dir=auto")
        if box.text:
            show_text(box.text, classes="small")
        ways = [(arrow.label, chart.boxes[arrow.target].title) for arrow in chart.arrows if arrow.source == number]
        for label, target in ways:
            sentence = self._visit.say("console-editor-way", target=target, why=label) if label else f"→ {target}"
            show_text(sentence, classes="small muted")
        if path is not None:
            draw_findings(self._visit, [finding for finding in self._document.findings if _is_within(finding, path)])


def _is_within(finding: Finding, path: Path) -> bool:
    try:
        return parse_path(finding.path)[: len(path)] == path
    except ValueError:
        return False
